"""Logs behind addresses are read like those on the disk, and what is missing for that is told in four parts."""

import gzip
import sys

import pytest

from firstfault.diagnose import diagnose
from firstfault.errors import InputError
from firstfault.read.inputs import find_sources
from firstfault.read.remote import is_address
from firstfault.report import to_dict

fsspec = pytest.importorskip("fsspec", reason="SKIPPED: reading behind addresses is not tested here, for want of fsspec")

LOG = b"\n".join([b"[rank%d]: INFO trainer: step %d loss: 2.1" % (r, s) for s in range(50) for r in range(4)]) + (
    b"\n[rank2]: Traceback (most recent call last):\n[rank2]:   File \"t.py\", line 3, in <module>\n[rank2]:     main()\n"
    b"[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB\n"
)  # fmt: skip


@pytest.fixture
def bucket():
    system = fsspec.filesystem("memory")
    system.pipe("/bucket/run/slurm-7.out", LOG)
    system.pipe("/bucket/run/old/slurm-6.log.gz", gzip.compress(LOG[: len(LOG) // 2]))
    system.pipe("/bucket/run/weights.safetensors", b"\0" * 1000)
    yield "memory://bucket/run"
    system.rm("/bucket", recursive=True)


def test_a_remote_file_gives_the_report_of_a_local_one(bucket, tmp_path):
    (tmp_path / "slurm-7.out").write_bytes(LOG)
    away = to_dict(diagnose([f"{bucket}/slurm-7.out"]).report)
    here = to_dict(diagnose([tmp_path / "slurm-7.out"]).report)
    assert away["incidents"] and away["incidents"][0]["failure"] == here["incidents"][0]["failure"]
    assert away["inputs"][0]["path"] == f"{bucket}/slurm-7.out"
    assert (away["inputs"][0]["bytes"], away["inputs"][0]["lines"]) == (len(LOG), LOG.count(b"\n"))
    assert [e["line"] for e in away["incidents"][0]["evidence"]] == [e["line"] for e in here["incidents"][0]["evidence"]]


def test_a_remote_folder_gives_its_logs_and_skips_the_rest(bucket):
    sources = find_sources([bucket])
    assert [s.name.removeprefix("memory://").lstrip("/") for s in sources] == ["bucket/run/old/slurm-6.log.gz", "bucket/run/slurm-7.out"]
    assert [s.size_bytes for s in sources][1] == len(LOG)
    report = diagnose([bucket]).report
    assert sum(i.lines for i in report.inputs) > LOG.count(b"\n")


def test_workers_read_remote_files_too(tmp_path):
    for i in range(3):
        (tmp_path / f"rank_{i}.log").write_bytes(LOG)
    address = tmp_path.as_uri()
    assert to_dict(diagnose([address], workers=2).report) == to_dict(diagnose([address]).report)


def test_a_file_address_is_read(tmp_path):
    (tmp_path / "a.log").write_bytes(LOG)
    assert diagnose([(tmp_path / "a.log").as_uri()]).report.incidents


@pytest.mark.parametrize("address", ["memory://bucket/none.log", "memory://nothing/"])
def test_an_address_where_nothing_is_is_an_error(address):
    with pytest.raises(InputError) as caught:
        find_sources([address])
    assert caught.value.where == address and caught.value.reason and caught.value.help


def test_without_fsspec_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(InputError) as caught:
        find_sources(["s3://bucket/run-7/"])
    assert "firstfault[s3]" in caught.value.help and caught.value.reason and caught.value.where == "s3://bucket/run-7/"


def test_a_protocol_without_its_package_says_what_to_install(monkeypatch):
    def url_to_fs(_):
        raise ImportError("Install gcsfs to access Google Storage")

    monkeypatch.setattr(fsspec.core, "url_to_fs", url_to_fs)
    with pytest.raises(InputError) as caught:
        find_sources(["gs://bucket/run-7/slurm.out"])
    assert "gcsfs" in caught.value.reason and "firstfault[gs]" in caught.value.help


def test_an_unknown_protocol_is_told():
    with pytest.raises(InputError, match="cannot be reached"):
        find_sources(["nonsense://x/y.log"])


@pytest.mark.parametrize("name", ["C:\\logs\\a.log", "a.log", "/tmp/x://y", "-", "./s3:/x"])
def test_paths_are_no_addresses(name):
    assert not is_address(name)
