"""The command line as a user calls it: output, exit status, messages in four parts."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from firstfault import __version__
from firstfault.cli import main
from firstfault.report import json_schema

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "stuck-rank.log"
HEALTHY = "[rank0]: step: 1 loss: 2.3\n[rank0]: step: 2 loss: 2.2\n"


def run(*args, stdin=b""):
    command = [sys.executable, "-m", "firstfault.cli", *map(str, args)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT / "server", timeout=120)


def test_a_failure_exits_with_1_and_tells_the_rank_first(capsys):
    assert main(["diagnose", str(SAMPLE)]) == 1
    out = capsys.readouterr().out.split("\n")
    assert out[0].startswith("FIRST FAULT")
    assert any(line.strip().startswith("rank") for line in out[:4])


def test_a_healthy_log_exits_with_0(tmp_path, capsys):
    path = tmp_path / "ok.log"
    path.write_text(HEALTHY)
    assert main(["diagnose", str(path)]) == 0
    assert "No failure found" in capsys.readouterr().out


def test_standard_input_is_read_and_named():
    done = run("diagnose", "-", "--format", "json", stdin=SAMPLE.read_bytes())
    assert done.returncode == 1
    assert json.loads(done.stdout)["inputs"][0]["path"] == "<stdin>"


def test_json_fits_the_schema(capsys):
    main(["diagnose", str(SAMPLE), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    jsonschema.validate(report, json_schema())
    assert report["schema"] == "firstfault.report/1"
    assert report["tool"] == {"name": "firstfault", "version": __version__}


def test_the_schema_refuses_what_is_no_report(capsys):
    main(["diagnose", str(SAMPLE), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    report["incidents"][0]["verdict"] = "sure"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, json_schema())


def test_evidence_is_the_raw_line(capsys):
    main(["diagnose", str(SAMPLE), "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    lines = SAMPLE.read_text().split("\n")
    for e in report["incidents"][0]["evidence"]:
        assert lines[e["line"] - 1][:2000] == e["text"]
        assert 1 <= e["column"] < e["end_column"] <= len(lines[e["line"] - 1]) + 1


def test_markdown_and_why(capsys):
    main(["diagnose", str(SAMPLE), "--format", "markdown"])
    assert capsys.readouterr().out.startswith("# ")
    main(["diagnose", str(SAMPLE), "--why"])
    assert "Timeline" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda d: d / "missing.log", "no such file"),
        (lambda d: (d / "empty").mkdir() or d / "empty", "holds no logs"),
        (lambda d: (d / "x.bin").write_bytes(b"\x00\x01\x02\x03" * 400) and d / "x.bin", "binary"),
    ],
)
def test_unreadable_input_exits_with_2_and_four_parts(tmp_path, capsys, make, what):
    assert main(["diagnose", str(make(tmp_path))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert what in captured.err
    assert all(part in captured.err for part in ("error:", "reason:", "where:", "help:"))


def test_an_unknown_id_exits_with_2_and_suggests(capsys):
    assert main(["explain", "cuda-out-of-memry"]) == 2
    assert "cuda-out-of-memory" in capsys.readouterr().err


def test_wrong_usage_exits_with_2():
    with pytest.raises(SystemExit) as stopped:
        main(["diagnose"])
    assert stopped.value.code == 2


def test_explain_in_three_forms(capsys):
    assert main(["explain", "rank-missing-collective"]) == 0
    assert "Confirm" in capsys.readouterr().out
    assert main(["explain", "rank-missing-collective", "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("# ")
    assert main(["explain", "rank-missing-collective", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "rank-missing-collective"


def test_list_filters(capsys):
    assert main(["list", "--layer", "gpu"]) == 0
    rows = capsys.readouterr().out.strip().split("\n")
    assert rows and all(" gpu " in row for row in rows)
    assert main(["list", "--tag", "no-such-tag"]) == 2


@pytest.mark.parametrize(
    ("words", "failure"),
    [
        ("one rank at 100% others idle", "rank-missing-collective"),
        ("training hangs without any error", "silent-hang"),
        ("loss became nan", "loss-nan"),
        ("gpu memory full", "cuda-out-of-memory"),
        ("address already in use", "port-in-use"),
    ],
)
def test_search_finds_by_symptom(capsys, words, failure):
    assert main(["search", *words.split()]) == 0
    assert failure in [row.split()[0] for row in capsys.readouterr().out.strip().split("\n")[:4]]


def test_new_page_from_a_line_then_it_is_diagnosed(tmp_path, capsys):
    log = tmp_path / "a.log"
    log.write_text("hello\n[rank3]: FrobnicateFault: widget 12 of 'x' exploded at 0x7f\n")
    pages = tmp_path / "pages"
    assert main(["new", "widget-exploded", "--from", f"{log}:2", "--dir", str(pages)]) == 0
    assert (pages / "widget-exploded.md").exists()
    assert main(["diagnose", str(log), "--pages", str(pages), "--format", "json"]) == 1
    out = capsys.readouterr().out
    report = json.loads(out[out.index('{\n "schema"') :])
    assert report["incidents"][0]["failure"] == "widget-exploded"
    assert report["incidents"][0]["initiating"]["ranks"] == [3]
    assert main(["new", "widget-exploded", "--from", f"{log}:2", "--dir", str(pages)]) == 2


def test_a_broken_own_page_is_told_and_left_out(tmp_path, capsys):
    (tmp_path / "bad-page.md").write_text("no front matter\n")
    log = tmp_path / "ok.log"
    log.write_text(HEALTHY)
    assert main(["diagnose", str(log), "--pages", str(tmp_path)]) == 0
    assert "bad-page.md:1" in capsys.readouterr().err


def test_the_command_line_imports_no_protocol_library():
    code = (
        "import sys; from firstfault.cli import main; main(['diagnose', sys.argv[1]]); "
        "bad = [m for m in sys.modules if m.split('.')[0] in ('pygls', 'lsprotocol', 'asyncio')]; sys.exit(f'{bad}' if bad else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(SAMPLE)], capture_output=True, text=True, cwd=ROOT / "server")
    assert done.returncode == 0, done.stderr


def test_a_closed_pipe_is_no_traceback():
    done = subprocess.run(
        f'"{sys.executable}" -m firstfault.cli list | head -n 1', shell=True, capture_output=True, text=True, cwd=ROOT / "server"
    )
    assert "Traceback" not in done.stderr


def test_fix_shows_and_writes_the_edit_of_a_launch_script(tmp_path, capsys):
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/bash\ntorchrun --nproc-per-node 8 train.py\n")
    assert main(["fix", str(script), "--set", "NCCL_DEBUG=INFO", "--diff"]) == 0
    assert "+export NCCL_DEBUG=INFO" in capsys.readouterr().out
    assert main(["fix", str(script), "--set", "NCCL_DEBUG=INFO", "--write"]) == 0
    assert script.read_text() == "#!/bin/bash\nexport NCCL_DEBUG=INFO\ntorchrun --nproc-per-node 8 train.py\n"
    assert main(["fix", str(script), "--set", "NCCL_DEBUG=INFO"]) == 0
    assert "nothing to change" in capsys.readouterr().out


def test_help_is_printed(capsys):
    for words in (["--help"], ["diagnose", "--help"], ["search", "--help"], ["fix", "--help"]):
        with pytest.raises(SystemExit) as stopped:
            main(words)
        assert stopped.value.code == 0
        assert "usage: firstfault" in capsys.readouterr().out
