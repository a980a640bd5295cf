"""The report view: one self-contained HTML document for a file and for the editor's webview. Adds nothing to what the report says.

Nothing is loaded from anywhere, every text is escaped where it is put in, and a strict content policy allows exactly the style and
the script that are part of the document.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..knowledge.library import Library
from ..model import InputSummary, Job, Report, Unexplained
from .incident_view import View, incident_html, ranks_text, time_text
from .markdown import report_markdown
from .markup import Child, Markup, element
from .redact import redact
from .timeline import Plot, Story, plot_json, plot_of, stories

HOSTS = ("file", "webview")
_ASSETS = Path(__file__).resolve().parent / "assets"
_SCRIPTS = ("actions.js", "scale.js", "rows.js", "paint.js", "plot.js")
_NONCE = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_SOURCE = re.compile(r"[^\s;,'\"<>]*(?: [^\s;,'\"<>]+)*")
FEW_INPUTS = 8


def report_html(report: Report, *, host: str, nonce: str = "", csp_source: str = "", pages: Library) -> str:
    """The report as an HTML document.

    `host` is `file` (buttons copy; the policy names the hashes of style and script) or `webview` (buttons send messages to the
    editor; the policy names `nonce`, and `csp_source` as the editor gives it). Raises ValueError for another host, and for a nonce
    or source that would not be one in a policy.
    """
    if host not in HOSTS:
        raise ValueError(f"host is {host!r}, not one of {', '.join(HOSTS)}")
    in_editor = host == "webview"
    if in_editor and not _NONCE.fullmatch(nonce) or not _SOURCE.fullmatch(csp_source):
        raise ValueError("the nonce or the source would break the content policy")
    style, script = _asset("report.css"), "\n".join(_asset(name) for name in _SCRIPTS)
    policy = _policy(style, script, nonce if in_editor else "", csp_source if in_editor else "")
    given = nonce if in_editor else None
    view = View(in_editor, pages)
    document = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("meta", name="referrer", content="no-referrer"),
            element("title", _title(report)),
            element("style", Markup(style), nonce=given),
        ),
        element(
            "body",
            _bar(),
            element("main", *_main(report, view), id="main"),
            element("p", role="status", aria_live="polite", class_="unseen", id="status"),
            _data("texts", {"markdown": report_markdown(report), "redacted": _redacted_markdown(report)}),
            element("script", Markup(script), nonce=given),
        ),
        lang="en",
        data_host=host,
    )
    return f"<!DOCTYPE html>\n{document}\n"


@functools.lru_cache(maxsize=8)
def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(style: str, script: str, nonce: str, csp_source: str) -> str:
    """Nothing is allowed but this style and this script."""
    if nonce:
        own = f"'nonce-{nonce}'"
        return f"default-src 'none'; style-src {f'{csp_source} {own}'.strip()}; script-src {own}; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'; form-action 'none'"


def _digest(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


def _data(name: str, value: Any) -> Markup:
    """Data for the script. In JSON every character that could end the element or begin markup has an escape."""
    raw = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        raw = raw.replace(character, f"\\u{ord(character):04x}")
    return element("script", Markup(raw), type="application/json", id=name)


def _redacted_markdown(report: Report) -> str:
    """What "Copy redacted" copies. Markdown does not show the timeline, so its thousands of marks need no masks."""
    return report_markdown(redact(replace(report, timeline=())))


def _title(report: Report) -> str:
    return f"{report.incidents[0].title} \N{MIDDLE DOT} FirstFault" if report.incidents else "No failure found \N{MIDDLE DOT} FirstFault"


def _bar() -> Markup:
    return element(
        "div",
        element("h1", "FirstFault report"),
        element(
            "div",
            element("button", "Copy as Markdown", type="button", data_action="copy", data_source="markdown"),
            element(
                "button", "Copy redacted", type="button", data_action="copy", data_source="redacted",
                title="Copies the report with hosts, addresses, users, folders and keys masked",
            ),
            class_="buttons",
        ),
        class_="bar",
    )  # fmt: skip


def _main(report: Report, view: View) -> list[Child]:
    plot = _timeline(report, view)
    parts: list[Child] = [_job(report.job)]
    if report.incidents:
        of = len(report.incidents)
        parts += [incident_html(i, view, number=n, of=of, middle=plot if n == 1 else None) for n, i in enumerate(report.incidents, 1)]
    else:
        parts += [_healthy(report), plot]
    parts += [_unexplained(report.unexplained, view), _limits(report.limits), _inputs(report.inputs, view)]
    return parts


def _healthy(report: Report) -> Markup:
    lines = sum(x.lines for x in report.inputs)
    return element(
        "header",
        element("h2", "No failure found"),
        element("p", f"{lines:,} lines in {len(report.inputs):,} {'input' if len(report.inputs) == 1 else 'inputs'} show no failure.",
                class_="summary"),
        class_="verdict healthy",
    )  # fmt: skip


def _job(job: Job) -> Markup | None:
    facts = [
        f"job {job.outcome}" if job.outcome != "unknown" else "",
        f"{job.world_size:,} ranks" if job.world_size else "",
        job.launcher or "",
        ", ".join(job.frameworks),
    ]
    if job.last_progress:
        at = f" at {time_text(job.last_progress.time)}" if job.last_progress.time else ""
        facts.append(f"last progress: step {job.last_progress.step}{at}")
    shown = [f for f in facts if f]
    return element("p", " \N{MIDDLE DOT} ".join(shown), class_="job") if shown else None


def _timeline(report: Report, view: View) -> Markup | None:
    """The plot's place, its data and the table that says the same."""
    if not report.timeline:
        return None
    plot = plot_of(report)
    told = stories(plot)
    rows = [
        (
            _when(plot, s),
            [element("b", s.kind), f": {s.says}"],
            f"{s.count:,}",
            ranks_text(s.ranks) if s.ranks else "",
            _few(s.hosts),
            view.open_button(s.first.file, s.first.line),
        )
        for s in told
    ]
    return element(
        "section",
        element("h3", "Timeline", id="timeline-title"),
        element("div", id="timeline", hidden=True),
        element("noscript", element("p", "The plot needs scripts; the table says the same.")),
        element(
            "details",
            element("summary", f"Timeline as a table: {len(plot.marks):,} marks in {len(told):,} rows"),
            _table("Timeline", ("When", "What", "Marks", "Ranks", "Hosts", "First line"), rows),
        ),
        _data("timeline-data", plot_json(plot)),
        class_="timeline",
        aria_labelledby="timeline-title",
    )


def _when(plot: Plot, story: Story) -> str:
    """The first and the last time of a story; without the date where the whole plot has one."""
    days = {m.entry.time.partition("T")[0] for m in plot.marks if m.entry.time and "T" in m.entry.time}
    shown = (t.partition("T")[2] if "T" in t and len(days) == 1 else time_text(t) for t in story.times)
    return " \N{EN DASH} ".join(shown)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def _unexplained(lines: tuple[Unexplained, ...], view: View) -> Markup | None:
    if not lines:
        return None
    items = [element("li", element("p", view.open_button(x.file, x.line)), element("pre", element("code", x.text))) for x in lines]
    body = element("ul", *items, class_="plain")
    return _plain_section(
        "unexplained", f"Unexplained lines ({len(lines)})", element("p", "They look like errors and no page knows them."), body
    )


def _limits(limits: tuple[str, ...]) -> Markup | None:
    return _plain_section("limits", "Limits of this report", element("ul", *(element("li", x) for x in limits))) if limits else None


def _inputs(inputs: tuple[InputSummary, ...], view: View) -> Markup | None:
    if not inputs:
        return None
    rows = [(view.open_button(x.path, 1, x.path), x.kind, f"{x.lines:,}", _size(x.bytes), _input_ranks(x), _few(x.hosts)) for x in inputs]
    table = _table("Inputs", ("Input", "Kind", "Lines", "Size", "Ranks", "Hosts"), rows)
    title = "Inputs" if len(inputs) == 1 else f"Inputs ({len(inputs):,})"
    if len(inputs) <= FEW_INPUTS:
        return _plain_section("inputs", title, table)
    return _plain_section("inputs", title, element("details", element("summary", f"All {len(inputs):,} inputs"), table))


def _input_ranks(x: InputSummary) -> str:
    return ranks_text(x.ranks) if x.ranks else ""


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def _plain_section(name: str, title: str, *children: Child) -> Markup:
    return element("section", element("h2", title, id=f"{name}-title"), *children, class_=name, aria_labelledby=f"{name}-title")


def _table(caption: str, heads: tuple[str, ...], rows: Sequence[tuple[Child, ...]]) -> Markup:
    """A table that scrolls sideways by itself; columns without any content are left out."""
    kept = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    head = element("tr", *(element("th", heads[n], scope="col") for n in kept))
    body = [element("tr", *(element("td", row[n]) for n in kept)) for row in rows]
    table = element("table", element("caption", caption, class_="unseen"), element("thead", head), element("tbody", *body))
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=caption)
