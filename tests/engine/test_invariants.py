"""The invariants of the design, each a test."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstfault.diagnose import diagnose, diagnose_text
from firstfault.knowledge.library import load_library
from firstfault.model import Evidence, Incident, Initiating, Verdict
from firstfault.report import to_json

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "server" / "firstfault"
SAMPLES = sorted((ROOT / "samples").glob("*.log"))
LIBRARY = load_library()

# Who may import whom: the pipeline, one way. A stage may import itself and what stands before it.
ORDER = ["errors", "model", "read", "evidence", "knowledge", "correlate", "report", "observe", "workers", "diagnose", "follow", "render", "launch", "lsp", "progress_bar", "watch", "cli"]
# Two small looks back, each for one function: pages are checked with the same cleaning that logs get.
ALLOWED_BACK = {("correlate", "knowledge"), ("knowledge", "read")}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def stage(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported(path):
    """(top stage or library) of every import in a module, relative ones resolved."""
    package = ("firstfault", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            name = (*base, *(node.module.split(".") if node.module else ()))
            if node.module:
                yield name
            else:
                for alias in node.names:
                    yield (*name, alias.name)


def test_imports_run_one_way():
    wrong = []
    for path in modules():
        mine = stage(path)
        if mine not in ORDER:
            continue
        for name in imported(path):
            if name[0] == "firstfault" and len(name) > 1 and name[1] in ORDER and ORDER.index(name[1]) > ORDER.index(mine):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {'.'.join(name)}")
    assert wrong == []


def test_only_the_protocol_layer_imports_the_protocol():
    wrong = [p.name for p in modules() if stage(p) != "lsp" for n in imported(p) if n[0] in ("pygls", "lsprotocol")]
    assert wrong == []


def test_nothing_between_input_and_report_reads_clock_network_chance_or_environment():
    forbidden = {"time", "socket", "random", "secrets", "urllib", "http", "uuid", "requests", "subprocess", "os"}
    wrong = []
    for path in modules():
        if stage(path) in ("correlate", "knowledge", "report", "render", "model"):
            wrong += [f"{path.relative_to(PACKAGE)}: {n[0]}" for n in imported(path) if n[0] in forbidden]
    assert wrong == []


def test_no_failure_is_known_in_code():
    """Failure ids stand in pages only: a name in Python or TypeScript would be knowledge in the wrong place."""
    wrong = []
    sources = [p for p in modules() if stage(p) not in ("launch",)] + sorted((ROOT / "extension" / "src").rglob("*.ts"))
    ids = [i for i in LIBRARY.pages if i.count("-") >= 1]
    for path in sources:
        text = path.read_text(encoding="utf-8")
        wrong += [f"{path.name}: {i}" for i in ids if re.search(rf"[\"']{i}[\"']", text)]
    assert wrong == []


def test_an_incident_without_evidence_cannot_be_built():
    with pytest.raises(ValueError, match="no evidence"):
        Incident(1, "x", "X", "error", Verdict.PROBABLE, "s", Initiating(), ())


def test_an_undetermined_incident_names_what_is_missing():
    evidence = (Evidence("f", 1, 1, 2, "t", "initiating", "s"),)
    with pytest.raises(ValueError, match="missing fact"):
        Incident(1, "x", "X", "error", Verdict.UNDETERMINED, "s", Initiating(), evidence)


@given(st.binary(max_size=3000))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_diagnosed_without_an_exception(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "x.log"
    path.write_bytes(b"torch\n" + data)
    try:
        diagnose([path])
    except Exception as error:
        from firstfault.errors import InputError

        assert isinstance(error, InputError), error


LINES = [line for path in SAMPLES for line in path.read_text(encoding="utf-8").split("\n")]
EXAMPLES = [raw for p in LIBRARY.pages.values() for e in (*p.fires, *p.silent) for raw in e.lines]


@given(st.lists(st.sampled_from(LINES + EXAMPLES), max_size=60), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_mixture_of_real_lines_gives_a_sound_report(lines, random):
    text = "\n".join(line[: random.randrange(len(line) + 1)] if random.random() < 0.1 else line for line in lines)
    report = diagnose_text(text).report
    for i in report.incidents:
        assert i.evidence
        assert i.verdict is not Verdict.UNDETERMINED or i.missing
        page = LIBRARY.page(i.failure)
        assert page.role.value != "context"
        assert not (page.role.value in ("symptom", "collateral") and i.verdict is Verdict.ESTABLISHED)
        for e in i.evidence:
            assert e.text == text.split("\n")[e.line - 1].rstrip("\r")[:2000]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_hash_seed_and_process_do_not_change_a_byte(sample):
    outs = set()
    for seed in ("0", "1", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-m", "firstfault.cli", "diagnose", str(sample), "--format", "json"],
            capture_output=True, cwd=ROOT / "server", env=environment, timeout=120,
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stderr
        outs.add(done.stdout)
    assert len(outs) == 1


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_the_scanner_without_hyperscan_gives_the_same_report(sample, monkeypatch):
    import firstfault.observe as engine
    import firstfault.read.scan as scan

    fast = to_json(diagnose([sample], library=LIBRARY).report)
    monkeypatch.setattr(scan, "_hyperscan", None)
    monkeypatch.setattr(engine, "_scanners", {})
    assert not engine.scanner_for(LIBRARY).fast
    assert to_json(diagnose([sample], library=LIBRARY).report) == fast


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda p: p.name)
def test_files_in_any_order_give_the_same_report(sample, tmp_path):
    """A combined log split into one file a rank: who failed first does not depend on the order in which files are named."""
    parts = {}
    for line in sample.read_text(encoding="utf-8").split("\n"):
        m = re.match(r"\[(?:default|rank)(\d+)\]:", line)
        parts.setdefault(m[1] if m else "launcher", []).append(line)
    paths = []
    for name, lines in parts.items():
        path = tmp_path / f"rank_{name}.log" if name != "launcher" else tmp_path / "launcher.log"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        paths.append(path)
    whole = diagnose([sample]).report.incidents[0]
    first = to_json(diagnose(paths).report)
    assert to_json(diagnose(list(reversed(paths))).report) == first
    assert to_json(diagnose([tmp_path]).report) == first
    split = diagnose(paths).report.incidents[0]
    assert (split.failure, split.initiating.ranks) == (whole.failure, whole.initiating.ranks)
