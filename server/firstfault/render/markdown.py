"""A report as Markdown, for the editor, for chat and for issues."""

from __future__ import annotations

from collections import Counter

from ..model import Incident, Report


def report_markdown(report: Report) -> str:
    """The whole report: verdict first, then evidence, collateral, fix, verification, missing fact."""
    if not report.incidents:
        return f"# No failure found\n\n{_inputs(report)}\n{_limits(report)}"
    parts = [_incident(i) for i in report.incidents]
    return "\n\n---\n\n".join(parts) + f"\n\n{_inputs(report)}\n{_limits(report)}"


def _incident(i: Incident) -> str:
    out = [f"# {i.title}", "", f"**{i.summary}**", ""]
    ini = i.initiating
    ranks = "not told by the input" if ini.ranks is None else ", ".join(map(str, ini.ranks)) or "every rank alike"
    facts = [("Failure", f"`{i.failure}`"), ("Verdict", i.verdict.value), ("Initiating rank", ranks)]
    facts += [("Host", ", ".join(ini.hosts))] if ini.hosts else []
    facts += [("GPU", ", ".join(ini.gpus))] if ini.gpus else []
    facts += [("Time", ini.time)] if ini.time else []
    if i.severity == "warning":
        facts.append(("Severity", "warning: the job went on"))
    out += ["| | |", "|---|---|", *(f"| {k} | {v} |" for k, v in facts), ""]
    out += ["## Evidence", ""]
    for e in i.evidence:
        out += [f"- `{e.file}:{e.line}` {e.role}: {e.says}", "", _fenced(e.text[:400]), ""]
    if i.reasons:
        out += ["## Why this came first", "", *(f"- {r}" for r in i.reasons), ""]
    if i.collateral:
        out += [f"## Collateral ({len(i.collateral)})", ""]
        for (failure, why), n in Counter((c.failure, c.why) for c in i.collateral).most_common(12):
            ranks_of = sorted({r for c in i.collateral if (c.failure, c.why) == (failure, why) for r in c.ranks or ()})
            first = next(c for c in i.collateral if (c.failure, c.why) == (failure, why))
            on = f" on rank {', '.join(map(str, ranks_of[:16]))}" if ranks_of else ""
            out.append(f"- {n} × `{failure}`{on}: {why} (first at `{first.file}:{first.line}`)")
        out.append("")
    if i.missing:
        out += ["## Missing", ""]
        for m in i.missing:
            decides = f" It decides between {', '.join(f'`{d}`' for d in m.decides)}." if m.decides else ""
            out += [f"- {m.fact}.{decides}", "", "```bash", m.command, "```", ""]
    if i.fix:
        out += ["## Fix", ""]
        for n, x in enumerate(i.fix, 1):
            out += [f"{n}. **{x.title}.** {x.detail}", ""]
            if x.command:
                out += ["```bash", x.command, "```", ""]
    if i.verify:
        out += ["## Verify", ""]
        for v in i.verify:
            out += [f"- {v.title}", "", "```bash", v.command, "```", "", "It must print:", "", "```text", v.expect, "```", ""]
    if i.alternatives:
        out += ["## Alternatives", "", *(f"- `{a.failure}`: {a.because}" for a in i.alternatives), ""]
    return "\n".join(out).rstrip()


def _fenced(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"


def _inputs(report: Report) -> str:
    return "Inputs: " + ", ".join(f"`{x.path}` ({x.lines} lines)" for x in report.inputs[:20])


def _limits(report: Report) -> str:
    return "".join(f"\n- Limit: {limit}" for limit in report.limits)
