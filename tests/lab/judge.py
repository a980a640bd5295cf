"""Compares a diagnosis with the truth of a laboratory log. Does not know how either came about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.lab.fault import Truth

Place = tuple[str, int]


def log_files(folder: Path) -> list[Path]:
    """The log files of a recording, without truth.json."""
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "truth.json"]


def diagnosable(folder: Path) -> Path:
    """What a user would hand over: the one log, or the folder of logs."""
    single = folder / "log.txt"
    return single if single.exists() else folder / "logs"


def places(folder: Path, texts: Sequence[str]) -> set[Place]:
    """(file name within the recording, line number from 1) of every line that contains one of the texts."""
    found = set()
    for path in log_files(folder):
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").split("\n"), 1):
            if any(text in line for text in texts):
                found.add((path.relative_to(folder).as_posix(), number))
    return found


def faults_of(report: Mapping[str, Any], truth: Truth, folder: Path) -> list[str]:
    """What is wrong with a report (its JSON form, report.md) of the recording in `folder`; empty when it is right."""
    errors = [incident for incident in report["incidents"] if incident["severity"] == "error"]
    if truth.healthy:
        return [f"a healthy job is accused of {incident['failure']}: {incident['summary']}" for incident in errors]
    incidents = errors or list(report["incidents"])
    accepted = {truth.cause, *truth.acceptable}
    if not incidents:
        return [] if "healthy" in accepted else [f"no incident, the cause is {truth.cause}"]
    top, wrong = incidents[0], []
    if top["failure"] not in accepted:
        wrong.append(f"the cause is {truth.cause}, not {top['failure']}")
    if not _ranks_match(top["initiating"]["ranks"], truth):
        wrong.append(f"the initiating ranks are {_said(truth.initiating_ranks)}, not {_said(top['initiating']['ranks'])}")
    wrong += _wrong_evidence(top, truth, folder)
    if not truth.determinable:
        if top["verdict"] == "established":
            wrong.append("the log cannot show the cause, and yet it is called established")
        if not top["missing"]:
            wrong.append("the log cannot show the cause, and no missing fact is named")
    return wrong


def _ranks_match(said: Sequence[int] | None, truth: Truth) -> bool:
    alike = set(range(truth.world_size))
    for right in (truth.initiating_ranks, *truth.acceptable_ranks):
        if said is None or right is None:
            if said is None and right is None:
                return True
        elif set(said) == set(right) or (not right and set(said) == alike):
            return True
    return False


def _said(ranks: Sequence[int] | None) -> str:
    if ranks is None:
        return "unknown"
    return ", ".join(map(str, ranks)) or "all alike"


def _wrong_evidence(incident: Mapping[str, Any], truth: Truth, folder: Path) -> list[str]:
    cited = [_place(evidence, folder) for evidence in incident["evidence"] if evidence["role"] == "initiating"]
    deciding = places(folder, truth.evidence_contains)
    collateral = places(folder, truth.collateral_contains) - deciding
    wrong = [f"{name}:{line} is collateral and is given as initiating evidence" for name, line in cited if (name, line) in collateral]
    if deciding and not any(place in deciding for place in cited[:3]):
        wrong.append(f"none of the first initiating lines {cited[:3]} is one of those that decide, such as {sorted(deciding)[:5]}")
    return wrong


def _place(evidence: Mapping[str, Any], folder: Path) -> Place:
    """The file name of evidence may be absolute, or relative to the diagnosed path; the recording's own name ends with it or is its end."""
    said = str(evidence["file"]).replace("\\", "/")
    for path in log_files(folder):
        name = path.relative_to(folder).as_posix()
        if said.endswith(name) or name.endswith("/" + said) or name == said:
            return name, int(evidence["line"])
    return said, int(evidence["line"])
