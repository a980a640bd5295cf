"""What can be done in an open launch script: hints while writing, refactorings, fix all. Knows no protocol feature and no log's text."""

from __future__ import annotations

import asyncio
import functools
from dataclasses import dataclass

from ..launch import EditRefused, TextEdit, Wanted, advice, edits_for, edits_for_all, remove_edits_all
from ..launch.lint import LintHint, fix_all_edits, lint
from ..model import Setting
from .analysis import Analysis
from .documents import Document
from .jobs import Superseded
from .launching import LARGEST_SCRIPT_BYTES, Launch, cost_in_speed, title_of
from .log_facts import facts_of, is_slow_rank
from .session import Session

ADD_DIAGNOSTICS = "Add diagnostics for hangs (NCCL_DEBUG, flight recorder, …)"
REMOVE_DIAGNOSTICS = "Remove FirstFault diagnostics"
# Steps that a collective timeout is raised by, in seconds; two that are longer than what holds are offered.
TIMEOUTS_S = (1800, 3600, 7200, 14400)
MOST_TIMEOUTS = 2


@dataclass(frozen=True, slots=True)
class Refactoring:
    """Edits with a title and what is to be said of them; `refusal` says why there are none."""

    title: str
    description: str
    edits: tuple[TextEdit, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What can be done in one version of a script."""

    hints: tuple[LintHint, ...] = ()
    fix_all: tuple[TextEdit, ...] = ()
    refactorings: tuple[Refactoring, ...] = ()


async def outlook_of(session: Session, launch: Launch, uri: str) -> tuple[Document, Outlook] | None:
    """What can be done in an open launch script, worked out once a version; None for a document that is none."""
    while not session.closing:
        document = session.documents.find(uri)
        if document is None or document.is_log or document.launch_kind is None or len(document.text) > LARGEST_SCRIPT_BYTES:
            return None
        newest = session.recall.newest
        # A cause that is known and no slow rank speaks against a longer timeout.
        slow = newest is None or not newest.incidents or any(is_slow_rank(session.page(i.failure)) for i in newest.incidents)
        hinted = session.configuration.lint
        look = functools.partial(_look, launch, document.script_path, document.text, newest, hinted, slow)
        job = session.outlooks.start(
            uri,
            (document.state, newest.generation if newest else 0, hinted),
            lambda stop, look=look: session.workers.run(lambda _: look(), stop, long=False),  # type: ignore[misc]
            debounced=document.edits > 0,
        )
        try:
            return document, await asyncio.shield(job.result)
        except Superseded:
            continue
        except Exception as error:
            session.report(uri, error)
            return None
    return None


def _look(launch: Launch, path: str, text: str, newest: Analysis | None, hinted: bool, slow_but_living: bool) -> Outlook:
    """Work it out; `newest` is the last diagnosis: its torch version decides on names, its checkpoints on timeouts."""
    facts = facts_of(newest)
    version = facts.torch_version
    hints = tuple(lint(text, path, torch_version=version, checkpoint_s=facts.checkpoint_s)) if hinted else ()
    fixes = tuple(fix_all_edits(text, path, torch_version=version)) if any(h.safe and h.edits for h in hints) else ()
    refactorings = _refactorings(text, path, version, slow_but_living) if launch.is_launch_file(path, text) else ()
    return Outlook(hints, fixes, refactorings)


def _refactorings(text: str, path: str, torch_version: str | None, slow_but_living: bool) -> tuple[Refactoring, ...]:
    """The refactorings of a script that have something to change."""
    out = []
    wanted = advice.hang_diagnostics(torch_version)
    if edits := _edits_of_all(wanted, text, path):
        out.append(Refactoring(ADD_DIAGNOSTICS, _named(wanted), edits))
    out += _timeouts(text, path, slow_but_living)
    present = advice.present_diagnostics(text, path)
    if present and (edits := tuple(remove_edits_all(present, text, path))):
        out.append(Refactoring(REMOVE_DIAGNOSTICS, _named(present), edits))
    return tuple(out)


def _timeouts(text: str, path: str, slow_but_living: bool) -> list[Refactoring]:
    out: list[Refactoring] = []
    for seconds in TIMEOUTS_S:
        wanted = Wanted("timeout", "collective_timeout", str(seconds))
        try:
            edits = edits_for(wanted, text, path)
        except EditRefused:
            return []
        if not edits:
            continue
        title = title_of(Setting(wanted.kind, wanted.name, wanted.value)).replace("the collective", "collective")
        withheld = advice.judged(wanted, slow_but_living=slow_but_living)
        if isinstance(withheld, advice.Withheld):
            return [Refactoring("Raise collective timeout", "", refusal=withheld.why)]
        out.append(Refactoring(f"{title} (for a slow but living rank)", "a crash only shows later with a longer timeout", tuple(edits)))
        if len(out) == MOST_TIMEOUTS:
            break
    return out


def _edits_of_all(wanted: list[Wanted], text: str, path: str) -> tuple[TextEdit, ...]:
    try:
        return tuple(edits_for_all(wanted, text, path))
    except EditRefused:
        return ()


def _named(wanted: list[Wanted]) -> str:
    """Settings by name and value, and what they cost in speed."""
    costs = [cost for w in wanted if (cost := cost_in_speed(Setting(w.kind, w.name, w.value)))]
    return ". ".join([", ".join(f"{w.name}={w.value}" for w in wanted), *costs])
