"""A stand-in for the engine whose answers are plain to see in the log it is given. Knows nothing of real failures.

FAULT rank 3 host node07: text     the first fault of rank 3, matched from `FAULT` to the end of the line
SLOW rank 2: text                  the same for a rank that was slow but alive
WAITS rank 1: text                 collateral of the fault
PROOF text                         evidence that supports it
KNOWN text                         a line that a page recognises, part of no failure
WAIT_UNTIL_CANCELLED               a file that takes until it is cancelled, then says so in `<file>.cancelled`
STEP 3                             a step of training
PRINT                              an engine that prints
RAISE                              an engine that breaks
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstfault.errors import FirstFaultError, InputError
from firstfault.knowledge.library import Library
from firstfault.knowledge.page import Page
from firstfault.launch import TextEdit, detect_kind, edits_for
from firstfault.launch.candidates import LogHints
from firstfault.model import (
    Check,
    Collateral,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    Incident,
    Initiating,
    InputSummary,
    Job,
    Line,
    MissingFact,
    Origin,
    Progress,
    Report,
    Role,
    Setting,
    Verdict,
)
from firstfault.render.html import report_html
from firstfault.render.redact import redact

PAGES = Path(__file__).parent / "pages"
LINE = re.compile(r"(?P<kind>FAULT|SLOW|WAITS|PROOF|KNOWN)(?: rank (?P<rank>\d+))?(?: host (?P<host>\w+))?:? ?(?P<text>.*)")
STEP = re.compile(r"^STEP (\d+)$", re.MULTILINE)
FAILURES = {"FAULT": "test-fault", "SLOW": "test-slow", "WAITS": "test-waits", "PROOF": "test-fault", "KNOWN": "test-waits"}

DEBUG = Setting("env", "NCCL_DEBUG", "INFO", "shows which rank stopped")
RECORDER = Setting("env", "TORCH_FR_BUFFER_SIZE", "2000", "records the last collectives")
DETAIL = Setting("env", "TORCH_DISTRIBUTED_DEBUG", "DETAIL", "names the operation that differs")
TIMEOUT = Setting("timeout", "init_process_group", "7200", "a slow rank is waited for")


def page(failure: str, title: str, role: Role, settings: tuple[Setting, ...] = (), shown_by: tuple[str, ...] = ()) -> Page:
    return Page(
        id=failure,
        layer="test",
        path=str(PAGES / f"{failure}.md"),
        title=title,
        role=role,
        scope="rank",
        severity="error",
        impact="The job stops.",
        on_call="Look at the rank.",
        quick_answer="{rank|one rank} failed on {host|its host}. Then look there first on {host|its host}.",
        sections={"Why it happens": "It is a test."},
        signatures=(),
        fires=(),
        silent=(),
        fixes=(Fix("Restart it", "It helps now and then.", "restart --now"),),
        checks=(Check("It runs", "run", "ok"),),
        tags=("test",),
        settings=settings,
        shown_by=shown_by,
    )


class FakeEngine:
    """The engine's methods over the grammar above."""

    def diagnose(
        self,
        paths: Sequence[str],
        *,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Diagnosis:
        texts: dict[str, str] = {}
        for path in paths:
            if not os.path.exists(path):
                raise InputError(f"no such file: {path}", reason="the path does not exist", where=path, help="check the path")
            files = sorted(p for p in Path(path).rglob("*") if p.is_file()) if os.path.isdir(path) else [Path(path)]
            for file in files:
                texts[str(file)] = file.read_bytes().decode("utf-8", "replace")
        for number, (name, text) in enumerate(texts.items(), 1):
            if progress is not None:
                progress(number, len(texts))
            if "WAIT_UNTIL_CANCELLED" in text:
                while not (cancelled and cancelled()):
                    time.sleep(0.01)
                Path(f"{name}.cancelled").touch()
        return self._diagnose(texts)

    def diagnose_text(self, text: str, name: str) -> Diagnosis:
        if "PRINT" in text:
            print("this must not reach the client")
        if "RAISE" in text:
            raise ValueError("the engine broke")
        return self._diagnose({name: text})

    def follow(self, path: str) -> FakeFollower:
        return FakeFollower(self, path)

    def to_dict(self, report: Report) -> dict[str, Any]:
        return {"schema": "firstfault.report/1", **dataclasses.asdict(report)}

    def markdown(self, report: Report) -> str:
        return "\n".join(f"# {i.summary}\n{i.evidence[0].text}" for i in report.incidents)

    def redacted(self, report: Report) -> str:
        return self.markdown(redact(report))

    def html(self, report: Report, *, nonce: str, csp_source: str) -> str:
        return report_html(report, host="webview", nonce=nonce, csp_source=csp_source, pages=self.library())

    def library(self) -> Library:
        return Library(
            [
                page("test-fault", "A test fault", Role.INITIATING, (DEBUG, TIMEOUT, RECORDER)),
                page("test-slow", "A slow rank", Role.INITIATING, (TIMEOUT, DETAIL), ("slow",)),
                page("test-waits", "A rank that waits", Role.COLLATERAL),
            ]
        )

    def _diagnose(self, texts: Mapping[str, str]) -> Diagnosis:
        names = tuple(texts)
        evidence: list[Evidence] = []
        collateral: list[Collateral] = []
        findings: list[Finding] = []
        fault: re.Match[str] | None = None
        for file, (name, text) in enumerate(texts.items()):
            for number, end in enumerate(text.split("\n"), 1):
                raw = end.removesuffix("\r")
                match = LINE.search(raw)
                if match is None:
                    continue
                kind = match["kind"]
                rank = int(match["rank"]) if match["rank"] else None
                line = Line(file, number, raw, raw, range(len(raw)), Origin(rank=rank, host=match["host"]))
                captures = {k: v for k, v in match.groupdict().items() if v and k in ("rank", "host")}
                role = {"FAULT": Role.INITIATING, "SLOW": Role.INITIATING, "WAITS": Role.COLLATERAL}.get(kind, Role.CONTEXT)
                findings.append(Finding(FAILURES[kind], role, line, match.start(), match.end(), captures))
                if kind in ("FAULT", "SLOW") and fault is None:
                    fault = match
                    evidence.insert(
                        0, Evidence(name, number, match.start() + 1, match.end() + 1, raw[:2000], "initiating", "the first to fail")
                    )
                elif kind == "PROOF":
                    evidence.append(Evidence(name, number, match.start() + 1, match.end() + 1, raw[:2000], "corroborating", "supports it"))
                elif kind == "WAITS":
                    collateral.append(Collateral("test-waits", (rank,) if rank is not None else None, name, number, "waited for it"))
        inputs = tuple(
            InputSummary(n, "log", len(t.encode("utf-8", "replace")), t.count("\n") + 1, (0, 1, 2, 3), ()) for n, t in texts.items()
        )
        incidents: tuple[Incident, ...] = ()
        if evidence:
            rank = int(fault["rank"]) if fault and fault["rank"] else None
            host = (fault["host"],) if fault and fault["host"] else ()
            incidents = (
                Incident(
                    id=1,
                    failure=FAILURES[fault["kind"]] if fault else "test-fault",
                    title="A test fault",
                    severity="error",
                    verdict=Verdict.ESTABLISHED if fault else Verdict.UNDETERMINED,
                    summary=f"Rank {rank} failed first.",
                    initiating=Initiating((rank,) if rank is not None else None, host),
                    evidence=tuple(evidence),
                    collateral=tuple(collateral),
                    fix=(Fix("Restart it", "It helps now and then.", "restart --now", DEBUG),),
                    missing=() if fault else (MissingFact("the log of rank 3", "cat rank3.log"),),
                ),
            )
        last = next(((name, step) for name, text in texts.items() for step in reversed(STEP.findall(text))), None)
        job = Job(last_progress=Progress(int(last[1]), None, last[0], 1) if last else None)
        return Diagnosis(Report(inputs, job, incidents), tuple(findings), names)


class FakeFollower:
    """Reads the whole file anew when it is not as it was."""

    def __init__(self, engine: FakeEngine, path: str) -> None:
        self._engine = engine
        self._path = path
        self._seen: bytes | None = None
        self.diagnosis: Diagnosis | None = None

    @property
    def waiting_for(self) -> tuple[str, ...]:
        return () if os.path.exists(self._path) else (self._path,)

    def poll(self, now_s: float | None = None, *, told: Callable[[int], None] | None = None) -> Diagnosis | None:
        if self.waiting_for:
            return None
        data = Path(self._path).read_bytes()
        if data == self._seen:
            return None
        self._seen = data
        if data.startswith(b"\0"):
            raise InputError(f"{self._path} is no text", reason="it begins with a zero byte", where=self._path)
        while b"WAIT_UNTIL_CANCELLED" in data:
            time.sleep(0.01)
            assert told is not None
            told(1)
        self.diagnosis = self._engine.diagnose([self._path])
        return self.diagnosis


class FakeLaunch:
    """The real edits over a plain search: every file of the folders that the launch module knows."""

    def candidates(self, folders: Sequence[str], hints: LogHints) -> list[str]:
        found = []
        for folder in folders:
            for path in sorted(Path(folder).iterdir()):
                if path.is_file() and path.suffix in (".sh", ".sbatch", ".py") and self.is_launch_file(str(path), path.read_text()):
                    found.append(str(path))
        return found

    def is_launch_file(self, path: str, text: str) -> bool:
        return detect_kind(path, text) is not None and ("torchrun" in text or "init_process_group" in text)

    def edits(self, setting: Setting, text: str, path: str) -> list[TextEdit]:
        if "REFUSE" in text:
            raise FirstFaultError("left alone", reason="it says so", where=path)
        return edits_for(setting, text, path)
