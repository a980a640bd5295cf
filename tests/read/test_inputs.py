"""What the user names is opened, or refused with a message in four parts."""

import gzip

import pytest

from firstfault.errors import InputError
from firstfault.read.inputs import find_sources


def read(source):
    return b"".join(source.chunks())


def test_a_missing_file_suggests_a_near_one(tmp_path):
    (tmp_path / "slurm-81.out").write_text("x\n")
    with pytest.raises(InputError) as caught:
        find_sources([tmp_path / "slurm-18.out"])
    assert "slurm-81.out" in caught.value.help
    assert caught.value.reason and caught.value.where


def test_a_folder_without_logs_is_an_error(tmp_path):
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 50)
    with pytest.raises(InputError, match="holds no logs"):
        find_sources([tmp_path])


def test_a_binary_file_is_an_error(tmp_path):
    path = tmp_path / "core"
    path.write_bytes(b"\x7fELF\x00\x00\x01\x02" * 500)
    with pytest.raises(InputError, match="binary"):
        read(find_sources([path])[0])


def test_a_folder_gives_its_logs_in_order_and_skips_the_rest(tmp_path):
    for name in ("rank_1.err", "rank_0.err", "model.pt", "out.log.1", "notes.md"):
        (tmp_path / name).write_text("text\n")
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "stdout").write_text("x\n")
    names = [s.name.removeprefix(str(tmp_path)) for s in find_sources([tmp_path])]
    assert names == ["/job/stdout", "/out.log.1", "/rank_0.err", "/rank_1.err"]


def test_gzip_is_read_through(tmp_path):
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"hello\n" * 1000))
    assert read(find_sources([path])[0]) == b"hello\n" * 1000


def test_zstd_is_read_through(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.log.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b"hello\n" * 1000))
    assert read(find_sources([path])[0]) == b"hello\n" * 1000


def test_a_damaged_gzip_is_an_error_not_a_crash(tmp_path):
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"hello\n" * 100_000)[:200])
    with pytest.raises(InputError, match="cannot read"):
        read(find_sources([path])[0])


def test_a_utf_16_log_is_read(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes("KeyError: 'x'\n".encode("utf-16"))
    assert b"KeyError: 'x'" in read(find_sources([path])[0])


def test_the_order_of_the_arguments_does_not_matter(tmp_path):
    a, b = tmp_path / "a.log", tmp_path / "b.log"
    a.write_text("1\n")
    b.write_text("2\n")
    assert find_sources([a, b]) == find_sources([b, a, a])
