"""What the user names is opened, or refused with a message in four parts."""

import gzip
import random
from unittest import mock

import pytest

from firstfault.errors import InputError
from firstfault.read import stream as stream_module
from firstfault.read.inputs import find_sources


def read(source, notes=None):
    data, buffer = b"", memoryview(bytearray(5000))
    with source.open() as stream:
        while count := stream.readinto(buffer):
            data += bytes(buffer[:count])
        if notes is not None:
            notes += stream.notes
    return data


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


def pack(kind, data, level=3):
    if kind == "gz":
        return gzip.compress(data, level)
    return pytest.importorskip("zstandard").ZstdCompressor(level=level).compress(data)


@pytest.mark.parametrize("kind", ["gz", "zst"])
@pytest.mark.parametrize(("lines", "fewest"), [(100_000, 100_000), (600, 1000)])
def test_an_archive_that_ends_early_gives_what_it_has_and_a_note(tmp_path, kind, lines, fewest):
    path = tmp_path / f"a.log.{kind}"
    whole = random.Random(7).randbytes(lines).hex().encode()
    packed = pack(kind, whole)
    path.write_bytes(packed[: len(packed) * 9 // 10] if kind == "gz" or lines > 1000 else pack(kind, whole) + packed[:-9])
    notes = []
    data = read(find_sources([path])[0], notes)
    assert len(data) >= fewest and (whole * 2).startswith(data)
    assert len(notes) == 1 and "ends early" in notes[0]


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_an_archive_of_several_parts_is_read_whole(tmp_path, kind):
    path = tmp_path / f"a.log.{kind}"
    path.write_bytes(b"".join(pack(kind, b"part %d\n" % i * 5000) for i in range(5)))
    notes = []
    assert read(find_sources([path])[0], notes) == b"".join(b"part %d\n" % i * 5000 for i in range(5))
    assert notes == []


@pytest.mark.parametrize("damage", [b"", b"\xff" * 64])
def test_an_archive_of_which_nothing_can_be_read_is_an_error(tmp_path, damage):
    path = tmp_path / "a.log.gz"
    path.write_bytes(gzip.compress(b"hello\n" * 100_000)[:10] + damage)
    with pytest.raises(InputError, match="cannot read"):
        read(find_sources([path])[0])


def test_a_damaged_zstd_is_no_crash(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.log.zst"
    packed = bytearray(zstandard.ZstdCompressor().compress(b"".join(b"line %d\n" % (i * i) for i in range(100_000))))
    packed[len(packed) // 2 :] = b"\xee" * 1000
    path.write_bytes(packed)
    notes = []
    try:
        assert read(find_sources([path])[0], notes).startswith(b"line 0\n")
    except InputError as error:
        assert "cannot read" in str(error)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_an_archive_that_inflates_without_end_is_cut_with_a_note(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(stream_module, "ALWAYS_INFLATED_BYTES", 1 << 20)
    monkeypatch.setattr(stream_module, "LARGEST_INFLATION", 10)
    data = b"a harmless line\n" * 4_000_000
    path = tmp_path / f"bomb.log.{kind}"
    path.write_bytes(pack(kind, data, 1))
    notes = []
    given = read(find_sources([path])[0], notes)
    assert len(given) == max(1 << 20, 10 * path.stat().st_size)
    assert len(notes) == 1 and "inflates to more than 10 times" in notes[0]


def test_standard_input_may_be_compressed(monkeypatch):
    import io
    import sys

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", mock.Mock(buffer=Pipe(gzip.compress(b"hello\n" * 5000))))
    assert read(find_sources(["-"])[0]) == b"hello\n" * 5000


def test_a_utf_16_log_is_read(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes("KeyError: 'x'\n".encode("utf-16"))
    assert b"KeyError: 'x'" in read(find_sources([path])[0])


def test_the_order_of_the_arguments_does_not_matter(tmp_path):
    a, b = tmp_path / "a.log", tmp_path / "b.log"
    a.write_text("1\n")
    b.write_text("2\n")
    assert find_sources([a, b]) == find_sources([b, a, a])
