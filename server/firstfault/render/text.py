"""A report for a terminal, made with rich: the verdict first, collateral counted and folded."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from ..model import Incident, Report, Verdict

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {Verdict.ESTABLISHED: "bold red", Verdict.PROBABLE: "bold yellow", Verdict.UNDETERMINED: "bold magenta"}


def print_report(report: Report, console: Console, *, why: bool = False) -> None:
    """Print the report; `why` adds the timeline that led to the verdict."""
    from rich.text import Text

    if not report.incidents:
        console.print(Text("No failure found", style="bold green"))
        for x in report.inputs[:10]:
            console.print(Text(f"  {x.path}: {x.lines} lines, {x.bytes} bytes"))
    for i in report.incidents:
        _incident(i, console)
    if why and report.timeline:
        console.print(Text("\nTimeline", style="bold"))
        for t in report.timeline:
            rank = f"rank {t.rank}" if t.rank is not None else ""
            console.print(Text(f"  {t.time or '':<24}{rank:<10}{t.kind:<12}{t.says}  ({t.file}:{t.line})"))
    for limit in report.limits:
        console.print(Text(f"limit: {limit}", style="dim"))


def _incident(i: Incident, console: Console) -> None:
    from rich.text import Text

    ini = i.initiating
    head = Text()
    head.append("FIRST FAULT  " if i.severity == "error" else "RECOVERED  ", style=_COLOURS[i.verdict])
    head.append(i.title, style="bold")
    console.print(head)
    console.print(Text(f"  {i.summary}"))
    ranks = "the input does not tell" if ini.ranks is None else ", ".join(map(str, ini.ranks)) or "every rank alike"
    rows = [("rank", ranks), ("host", ", ".join(ini.hosts)), ("gpu", ", ".join(ini.gpus)), ("time", ini.time or "")]
    rows += [("cause", f"{i.failure} ({i.verdict.value})")]
    for name, value in rows:
        if value:
            console.print(Text.assemble((f"  {name:<6}", "dim"), value))
    _title(console, "Evidence")
    for e in i.evidence:
        style = "red" if e.role == "initiating" else "dim"
        console.print(Text.assemble((f"  {e.file}:{e.line}  ", "cyan"), (e.says, style)))
        console.print(Text("    " + _around(e.text, e.column, console.width - 6)), overflow="ellipsis", no_wrap=True)
    if i.reasons:
        _title(console, "Why first")
        for r in i.reasons:
            console.print(Text(f"  - {r}"))
    if i.collateral:
        _title(console, f"Collateral: {len(i.collateral)} lines")
        for (failure, why_), n in Counter((c.failure, c.why) for c in i.collateral).most_common(8):
            on = sorted({r for c in i.collateral if c.failure == failure and c.why == why_ for r in c.ranks or ()})
            console.print(Text(f"  {n} x {failure}" + (f", rank {', '.join(map(str, on[:12]))}" if on else "") + f": {why_}", style="dim"))
    if i.missing:
        _title(console, "Missing")
        for m in i.missing:
            console.print(Text(f"  {m.fact}"))
            _command(console, m.command)
    if i.fix:
        _title(console, "Fix")
        for n, x in enumerate(i.fix, 1):
            console.print(Text(f"  {n}. {x.title}"))
            if x.command:
                _command(console, x.command)
    if i.verify:
        _title(console, "Verify")
        for v in i.verify[:1]:
            _command(console, v.command)
            console.print(Text(f"    expect: {v.expect}"))
    console.print(Text(f"  firstfault explain {i.failure}", style="dim"))
    console.print()


def _around(text: str, column: int, width: int) -> str:
    """What fits of a line, from a little before the column that matters."""
    start = column - 1 - width // 4 if len(text) > width and column > width // 2 else 0
    shown = " ".join(text[max(start, 0) : max(start, 0) + width * 2].split())
    return ("…" if start > 0 else "") + shown


def _title(console: Console, text: str) -> None:
    from rich.text import Text

    console.print(Text(f" {text}", style="bold"))


def _command(console: Console, command: str) -> None:
    from rich.text import Text

    for line in command.split("\n"):
        console.print(Text(f"    {line}", style="green"))
