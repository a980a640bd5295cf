"""`firstfault watch` tells of a failure while the log grows, resumes where it stood, and ends cleanly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firstfault.cli import main

ROOT = Path(__file__).resolve().parents[2]
STEPS = "".join(f"[rank{r}]: INFO trainer: step {s} loss: 2.1\n" for s in range(40) for r in range(4))
FAULT = """\
[rank2]: Traceback (most recent call last):
[rank2]:   File "t.py", line 3, in <module>
[rank2]:     main()
[rank2]: KeyError: 'uid'
"""


def start(*arguments, **given):
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "firstfault.cli", "watch", *map(str, arguments)],
        cwd=ROOT / "server", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **given,
    )  # fmt: skip


@pytest.fixture
def program():
    started = []

    def begin(*arguments, **given):
        started.append(start(*arguments, **given))
        return started[-1]

    yield begin
    for one in started:
        one.kill()
        one.communicate()


def test_a_failure_is_told_while_the_log_grows(tmp_path, program):
    path = tmp_path / "x.log"
    path.write_text(STEPS)
    watching = program(path, "--every", "0.05", "--format", "json", "--until-failure")
    first = json.loads(watching.stdout.readline())
    assert first["incidents"] == [] and first["job"]["last_progress"]["step"] == 39
    with open(path, "a") as file:
        file.write(FAULT)
    for line in watching.stdout:
        last = json.loads(line)
    assert watching.wait(60) == 1
    assert last["incidents"][0]["initiating"]["ranks"] == [2]


def test_text_is_printed_once_a_verdict(tmp_path, program):
    path = tmp_path / "x.log"
    path.write_text(STEPS + FAULT)
    watching = program(path, "--every", "0.05")
    while "firstfault explain" not in watching.stdout.readline():
        assert watching.poll() is None
    with open(path, "a") as file:
        file.write("[rank2]: a word more\n")
    watching.send_signal(signal.SIGINT)
    out, err = watching.communicate(timeout=60)
    assert watching.returncode == 1
    assert "FIRST FAULT" not in out
    assert err == ""


def test_ctrl_c_without_a_failure_is_a_clean_end(tmp_path, program):
    path = tmp_path / "x.log"
    path.write_text(STEPS)
    watching = program(path, "--every", "0.05", "--format", "json")
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    assert watching.wait(60) == 0
    assert watching.stderr.read() == ""


def test_a_log_that_does_not_exist_yet_is_waited_for(tmp_path, program):
    path = tmp_path / "later.log"
    watching = program(path, "--every", "0.05", "--format", "json", "--until-failure")
    time.sleep(0.3)
    path.write_text(STEPS + FAULT)
    assert json.loads(watching.stdout.readline())["incidents"]
    assert watching.wait(60) == 1


def test_a_second_watch_goes_on_where_the_first_stood(tmp_path, monkeypatch):
    from firstfault.read import scan
    from firstfault.read.reader import BLOCK_BYTES

    monkeypatch.setenv("FIRSTFAULT_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "x.log"
    path.write_text(STEPS * 600 + FAULT)
    assert path.stat().st_size > 3 * BLOCK_BYTES
    scanned = []
    hits = scan.Scanner.hits
    monkeypatch.setattr(scan.Scanner, "hits", lambda own, block: scanned.append(len(block)) or hits(own, block))
    assert main(["watch", str(path), "--until-failure", "--format", "json"]) == 1
    assert sum(scanned) >= path.stat().st_size
    scanned.clear()
    assert main(["watch", str(path), "--until-failure", "--format", "json"]) == 1
    assert 0 < sum(scanned) <= BLOCK_BYTES
    scanned.clear()
    assert main(["watch", str(path), "--until-failure", "--format", "json", "--fresh"]) == 1
    assert sum(scanned) >= path.stat().st_size


@pytest.mark.parametrize("arguments", [["x.log", "--every", "0"], ["x.log", "--every", "often"], []])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(SystemExit) as caught:
        main(["watch", *arguments])
    assert caught.value.code == 2


def test_standard_input_cannot_be_watched(capsys):
    assert main(["watch", "-"]) == 2
    assert "cannot be followed" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo terminal")
def test_a_terminal_shows_where_the_job_stands(tmp_path):
    import pty

    path = tmp_path / "x.log"
    path.write_text(STEPS)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(ROOT / "server")
        os.execv(sys.executable, [sys.executable, "-m", "firstfault.cli", "watch", str(path), "--every", "0.05"])
    shown = b""
    while b"step 39" not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    try:
        while data := os.read(terminal, 4096):
            shown += data
    except OSError:
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert "in 1 file" in shown.decode("utf-8", "replace")
