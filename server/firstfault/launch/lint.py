"""Hints on settings that contradict each other, are obsolete or come too late, each with its edits. Knows no log but what it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch import python_timeout, settings, shell_edit, shell_flags
from firstfault.launch.dispatch import edits_for, remove_edits
from firstfault.launch.edit import EditRefused, Lines, Replacement, TextEdit, Wanted, apply_edits, edits_between, to_text_edits
from firstfault.launch.kinds import Kind, detect_kind
from firstfault.launch.occurrences import Occurrence, occurrences
from firstfault.launch.python_source import PythonSource
from firstfault.launch.shell_parse import parse_shell


@dataclass(frozen=True, slots=True)
class LintHint:
    """One hint: a span (0-based lines, code-point columns), a message, a stable code, and the edits that settle it.

    `obsolete` asks for a strikethrough; `safe` says that the edits do not change what the script does today, so that they may be
    part of "fix all".
    """

    start_line: int
    start_col: int
    end_line: int
    end_col: int
    code: str
    message: str
    title: str
    edits: tuple[TextEdit, ...]
    obsolete: bool = False
    safe: bool = True


def lint(text: str, path: str, *, torch_version: str | None = None, checkpoint_s: float | None = None) -> list[LintHint]:
    """The hints for a launch file, in document order. Never raises: a file that does not parse has none.

    `torch_version` is the one seen in a log, `checkpoint_s` the longest checkpoint in it, in seconds.
    """
    if detect_kind(path, text) is None:
        return []
    found: list[LintHint] = []
    for rule in (_old_names, _both_names, _useless_fabric, _without_its_switch, _two_ways_to_wait, _after_the_launch, _deepspeed_lines):
        found += rule(text, path, torch_version)
    if checkpoint_s is not None:
        found += _short_timeouts(text, path, checkpoint_s)
    return sorted(found, key=lambda h: (h.start_line, h.start_col, h.code))


def fix_all_edits(text: str, path: str, *, torch_version: str | None = None) -> list[TextEdit]:
    """The edits of all safe hints together, as `source.fixAll` applies them; a second call on the result gives none."""
    after = text
    for _ in range(20):
        hint = next((h for h in lint(after, path, torch_version=torch_version) if h.safe and h.edits), None)
        if hint is None:
            break
        after = apply_edits(after, hint.edits)
    return edits_between(text, after) if after != text else []


def _old_names(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """NCCL_ASYNC_ERROR_HANDLING since torch 2.2: read with a warning, if at all."""
    for info in settings.all_settings():
        for old in info.was:
            # Renames before torch 2.3 concern every torch in use; later ones only where the version is known.
            due = old.until is not None and (settings.at_least(torch_version, old.until) if torch_version else old.until == "2.2")
            if old.alias or not due or occurrences(info.name, text, path):
                continue
            for o in occurrences(old.name, text, path)[:1]:
                yield _hint(
                    text,
                    o,
                    "obsolete-setting",
                    f"{old.name} was renamed to {info.name} in torch {old.until}; the old name only works with a warning.",
                    f"Rename to {info.name}",
                    _rename(text, path, old.name, info.name),
                    obsolete=True,
                )


def _both_names(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """Both names of a renamed variable: only one is read."""
    for info in settings.all_settings():
        new = occurrences(info.name, text, path)
        for old in info.was:
            for o in occurrences(old.name, text, path)[:1] if new else ():
                same = o.value == new[0].value
                wins = old.name if old.alias else info.name
                rest = "the values are equal" if same else f"the values differ ({o.value} and {new[0].value}), and {wins} wins"
                yield _hint(
                    text,
                    o,
                    "both-names",
                    f"{old.name} and {info.name} are one setting: {rest}.",
                    f"Remove {old.name}",
                    _removal(text, path, old.name),
                    safe=same or not old.alias,
                )


_NEEDS_FABRIC = ("NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT")


def _useless_fabric(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """NCCL_IB_DISABLE=1 beside settings of the InfiniBand transport."""
    disabled = [o for o in occurrences("NCCL_IB_DISABLE", text, path) if o.value == "1" and o.certain]
    for name in _NEEDS_FABRIC if disabled else ():
        for o in occurrences(name, text, path)[:1]:
            yield _hint(
                text,
                o,
                "useless-setting",
                f"{name} does nothing while NCCL_IB_DISABLE=1 turns InfiniBand off.",
                f"Remove {name}",
                _removal(text, path, name),
            )


def _without_its_switch(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE without NCCL_DEBUG."""
    if "NCCL_DEBUG_" not in text or re.search(r"\bNCCL_DEBUG\b", text):
        return
    for info in settings.all_settings():
        if info.requires == "NCCL_DEBUG":
            for o in occurrences(info.name, text, path)[:1]:
                yield _hint(
                    text,
                    o,
                    "needs-other-setting",
                    f"{info.name} does nothing without NCCL_DEBUG.",
                    "Set NCCL_DEBUG=INFO",
                    _edits(Wanted("env", "NCCL_DEBUG", "INFO"), text, path),
                    safe=False,
                )


def _two_ways_to_wait(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """Blocking wait together with asynchronous error handling."""
    for wait in ("TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"):
        for handling in ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"):
            waits = [o for o in occurrences(wait, text, path) if o.value == "1"]
            handles = [o for o in occurrences(handling, text, path) if o.value not in {"", "0"}]
            if waits and handles:
                yield _hint(
                    text,
                    waits[0],
                    "contradicting-settings",
                    f"{wait}=1 and {handling}={handles[0].value} are two ways to handle a failed collective; the first slows training.",
                    f"Remove {wait}",
                    _removal(text, path, wait),
                    safe=False,
                )


def _after_the_launch(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """A variable that a shell script sets only after the line that starts training."""
    if detect_kind(path, text) is not Kind.SHELL:
        return
    try:
        script = parse_shell(text, path)
    except EditRefused:
        return
    anywhere = [c for s, c in shell_edit.launching(script) if s == 2]
    launches = [c for c in anywhere if not c.context]
    if not launches:
        return
    lines = Lines(text)
    for c in script.commands:
        if c.name != "export" or c.context or len(c.words) != 2 or c.start < anywhere[-1].end:
            continue
        name, sign, value = c.words[1].raw.partition("=")
        info = settings.lookup(name)
        if not sign or info is None or any(o.start < launches[-1].start for o in occurrences(name, text, path)):
            continue
        at = shell_edit.insertion_line(script, lines, launches[0], name)
        move = [lines.insert_line_before(at, text[c.start : c.end]), lines.whole_lines(c.start, c.end)]
        occurrence = Occurrence(name, value, text.index(name, c.start))
        message = f"{name} is set after the line that starts training, which does not see it."
        yield _hint(text, occurrence, "set-after-launch", message, "Move it before the launch", to_text_edits(text, move), safe=False)


def _deepspeed_lines(text: str, path: str, torch_version: str | None) -> Iterator[LintHint]:
    """Blank lines and comments in .deepspeed_env, at which DeepSpeed's launcher fails."""
    if detect_kind(path, text) is not Kind.DEEPSPEED_ENV:
        return
    lines = Lines(text)
    for number, start in enumerate(lines.starts):
        content = lines.content(number)
        if start < len(text) and "=" not in content:
            yield LintHint(
                number,
                0,
                number,
                len(content),
                "deepspeed-env-line",
                "DeepSpeed's launcher fails at a line without =, comments and blank lines included.",
                "Delete the line",
                tuple(to_text_edits(text, [lines.whole_lines(start, start + max(len(content), 1))])),
                safe=False,
            )


def _short_timeouts(text: str, path: str, checkpoint_s: float) -> Iterator[LintHint]:
    """A collective timeout that is shorter than a checkpoint takes."""
    # Twice the time, in whole minutes, leaves room for a slower file system.
    wanted = Wanted("timeout", python_timeout.GENERIC, str(60 * -(-int(2 * checkpoint_s) // 60)))
    try:
        if detect_kind(path, text) is Kind.PYTHON:
            found = list(python_timeout.timeouts_in(PythonSource(text, path)))
        elif detect_kind(path, text) is Kind.SHELL:
            found = list(shell_flags.timeouts_in(text, path))
        else:
            return
    except EditRefused:
        return
    lines = Lines(text)
    for start, end, seconds in found:
        if seconds < checkpoint_s:
            yield LintHint(
                *lines.position(start),
                *lines.position(end),
                "timeout-below-checkpoint",
                f"The timeout of {seconds} s is shorter than a checkpoint, which took {checkpoint_s:.0f} s in the log.",
                f"Raise it to {int(wanted.value) // 60} min",
                tuple(_edits(wanted, text, path)),
                safe=False,
            )


def _hint(
    text: str, o: Occurrence, code: str, message: str, title: str, edits: list[TextEdit], *, obsolete: bool = False, safe: bool = True
) -> LintHint:
    lines = Lines(text)
    return LintHint(*lines.position(o.start), *lines.position(o.end), code, message, title, tuple(edits), obsolete, safe)


def _rename(text: str, path: str, old: str, new: str) -> list[TextEdit]:
    """Rename a variable wherever the file assigns it, and in a shell script wherever it is named outside comments."""
    spans = {(o.start, o.end) for o in occurrences(old, text, path)}
    if detect_kind(path, text) is Kind.SHELL:
        comments = parse_shell(text, path).comments
        for m in re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text):
            if not any(s <= m.start() < e for s, e in comments):
                spans.add(m.span())
    return to_text_edits(text, [Replacement(s, e, new) for s, e in spans])


def _edits(setting: Wanted, text: str, path: str) -> list[TextEdit]:
    try:
        return edits_for(setting, text, path)
    except EditRefused:
        return []


def _removal(text: str, path: str, name: str) -> list[TextEdit]:
    try:
        return remove_edits(Wanted("env", name, ""), text, path)
    except EditRefused:
        return []
