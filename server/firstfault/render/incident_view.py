"""One incident as HTML: verdict, facts, evidence, reasons, collateral, fixes, checks, what is missing. Knows no style and no script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from ..correlate.ranks import write_ranks
from ..errors import UnknownFailure
from ..knowledge.library import Library
from ..knowledge.page import PLACEHOLDER, SECTIONS, Page
from ..model import Alternative, Check, Collateral, Evidence, Fix, Incident, Initiating, MissingFact, Setting, Verdict
from .markup import Child, Markup, code_spans, element, markup
from .prose import code_block, copy_button, prose_html

GRADES = {
    Verdict.ESTABLISHED: ("Established", "a line shows the cause itself"),
    Verdict.PROBABLE: ("Probable", "told by order or absence, not by a line that shows it"),
    Verdict.UNDETERMINED: ("Undetermined", "the input shows only symptoms; the missing fact below decides"),
}
MOST_LINES = 100
MOST_RANK_TEXT = 120


@dataclass(frozen=True, slots=True)
class View:
    """Where the HTML is shown and what it may point to. In a plain file there is no editor: its buttons copy."""

    in_editor: bool
    pages: Library

    def page(self, failure: str) -> Page | None:
        """The page of a failure, if there is one."""
        try:
            return self.pages.page(failure)
        except UnknownFailure:
            return None

    def open_button(self, file: str, line: int, label: str | None = None) -> Markup:
        """A button that goes to a line."""
        shown = label or f"{short_path(file)}:{line}"
        told = f"Open {file} line {line}" if self.in_editor else f"Copy the place {file} line {line}"
        return element(
            "button",
            shown,
            type="button",
            class_="link place",
            data_action="open",
            data_file=file,
            data_line=line,
            title=told,
            aria_label=told,
        )

    def failure_link(self, failure: str, *, anchors: frozenset[str] = frozenset()) -> Markup:
        """A failure id that leads to its page: in this document if it is one of `anchors`, else in the editor."""
        page = self.page(failure)
        if page is None:
            return element("code", failure)
        if page.id in anchors:
            return element("a", element("code", failure), href=f"#page-{page.id}", title=page.title)
        told = f"Explain {failure}: {page.title}" if self.in_editor else f"Copy the command that explains {failure}: {page.title}"
        return element(
            "button", element("code", failure), type="button", class_="link", data_action="explain", data_id=page.id, title=page.title,
            aria_label=told,
        )  # fmt: skip

    def command(self, command: str, *, what: str, run: bool) -> Markup:
        """A command with Copy, and in the editor with Run in Terminal if `run`."""
        buttons = [copy_button(command, what=what)]
        if run and self.in_editor:
            buttons.append(
                element(
                    "button", "Run in Terminal", type="button", data_action="run", data_text=command, aria_label=f"Run in Terminal {what}"
                )
            )
        return code_block(command, *buttons)


def incident_html(i: Incident, view: View, *, number: int, of: int, middle: Child = None) -> Markup:
    """An incident as an article. `middle` comes behind the facts: the timeline of the report."""
    anchors = frozenset(p.id for p in (view.page(i.failure),) if p)
    missing = _section("Missing fact", "missing", number, _missing(i.missing, view, anchors)) if i.missing else None
    fix = _section("Fix", "fix", number, _fixes(i.fix, view)) if i.fix else None
    undecided = i.verdict is Verdict.UNDETERMINED
    parts: list[Child] = [
        _head(i, view, anchors, number, of),
        middle,
        _section("Evidence", "evidence", number, element("ol", *(_evidence(e, view) for e in i.evidence), class_="plain")),
        _section("Why this came first", "reasons", number, element("ul", *(element("li", r) for r in i.reasons))) if i.reasons else None,
        missing if undecided else None,
        _collateral(i.collateral, view, anchors, number),
        fix,
        _section("Verify", "verify", number, [_check(c, view) for c in i.verify]) if i.verify else None,
        None if undecided else missing,
        _section("Alternatives", "alternatives", number, _alternatives(i.alternatives, view, anchors)) if i.alternatives else None,
        _related(i, view, anchors),
        _page(i, view, anchors),
    ]
    return element("article", *parts, class_=f"incident {i.severity} {i.verdict.value}", aria_labelledby=f"title-{number}")


def ranks_text(ranks: tuple[int, ...] | None) -> str:
    """Ranks for people; long lists are cut and counted."""
    if ranks is None:
        return "not told by the input"
    if not ranks:
        return "every rank alike"
    written = write_ranks(ranks)
    if len(written) > MOST_RANK_TEXT:
        written = written[:MOST_RANK_TEXT].rsplit(",", 1)[0] + f", … ({len(ranks)} ranks)"
    return written.replace("-", "\N{EN DASH}")


def time_text(stamp: str | None) -> str:
    """A time stamp of a report for people."""
    return (stamp or "").replace("T", " ")


def short_path(path: str) -> str:
    """The last two parts of a path: enough to tell logs apart, short enough for a button."""
    parts = path.replace("\\", "/").rstrip("/").split("/")
    return "/".join(parts[-2:]) if len(parts[-1]) < 24 and len(parts) > 1 and parts[-2] else parts[-1]


def _head(i: Incident, view: View, anchors: frozenset[str], number: int, of: int) -> Markup:
    grade, meaning = GRADES[i.verdict]
    kicker = "First fault" if i.severity == "error" else "Recovered: the job went on"
    if of > 1:
        kicker += f" \N{MIDDLE DOT} {number} of {of}"
    return element(
        "header",
        element(
            "p",
            element("span", kicker, class_="kicker"),
            element("span", grade, class_="grade"),
            element("span", meaning, class_="meaning"),
        ),
        element("h2", i.title, id=f"title-{number}"),
        element("p", i.summary, class_="summary"),
        element("dl", *_facts(i, view, anchors), class_="facts"),
        class_="verdict",
    )


def _facts(i: Incident, view: View, anchors: frozenset[str]) -> Iterator[Markup]:
    ini: Initiating = i.initiating
    first = next((e for e in i.evidence if e.role == "initiating"), i.evidence[0])
    named = ini.ranks is not None and len(ini.ranks) > 1
    facts: list[tuple[str, Child]] = [
        ("Ranks" if named else "Rank", ranks_text(ini.ranks)),
        ("Hosts" if len(ini.hosts) > 1 else "Host", ", ".join(ini.hosts)),
        ("GPUs" if len(ini.gpus) > 1 else "GPU", ", ".join(ini.gpus)),
        ("Cause", view.failure_link(i.failure, anchors=anchors)),
        ("Time", time_text(ini.time)),
        ("First line", view.open_button(first.file, first.line)),
    ]
    for name, value in facts:
        if value:
            yield element("div", element("dt", name), element("dd", value))


def _section(title: str, name: str, number: int, *children: Child) -> Markup:
    heading = f"{name}-{number}"
    return element("section", element("h3", title, id=heading), *children, class_=name, aria_labelledby=heading)


def _evidence(e: Evidence, view: View) -> Markup:
    start, end = min(e.column - 1, len(e.text)), min(e.end_column - 1, len(e.text))
    whole = start <= 0 and end >= len(e.text)
    line: Child = e.text if whole or end <= start else [e.text[:start], element("mark", e.text[start:end]), e.text[end:]]
    return element(
        "li",
        element("p", view.open_button(e.file, e.line), " ", element("span", e.role, class_=f"role {e.role}"), " ", e.says),
        element("pre", element("code", line)),
    )


def _collateral(collateral: tuple[Collateral, ...], view: View, anchors: frozenset[str], number: int) -> Markup | None:
    if not collateral:
        return None
    groups: dict[tuple[str, str], list[Collateral]] = {}
    for c in collateral:
        groups.setdefault((c.failure, c.why), []).append(c)
    ranks = {r for c in collateral for r in c.ranks or ()}
    count = f"{len(collateral):,} {'line' if len(collateral) == 1 else 'lines'}"
    if ranks:
        count += f" on {len(ranks):,} {'rank' if len(ranks) == 1 else 'ranks'}"
    items = []
    for (failure, why), lines in sorted(groups.items(), key=lambda g: -len(g[1])):
        on = tuple(sorted({r for c in lines for r in c.ranks or ()}))
        places = [view.open_button(c.file, c.line) for c in lines[:MOST_LINES]]
        if len(lines) > MOST_LINES:
            places.append(element("span", f"and {len(lines) - MOST_LINES:,} more"))
        head = [element("b", f"{len(lines):,} \N{MULTIPLICATION SIGN} "), view.failure_link(failure, anchors=anchors), f": {why}"]
        if on:
            head.append(f" (rank{'s' if len(on) > 1 else ''} {ranks_text(on)})")
        items.append(element("li", element("p", *head), element("p", *places, class_="places")))
    body = element("details", element("summary", f"{count} that followed from the first fault"), element("ul", *items, class_="plain"))
    return _section("Collateral", "collateral", number, body)


def _fixes(fixes: tuple[Fix, ...], view: View) -> Markup:
    return element("ol", *(_fix(f, view) for f in fixes))


def _fix(fix: Fix, view: View) -> Markup:
    button = _setting_button(fix.setting, view) if fix.setting else None
    if not view.in_editor and fix.setting and setting_line(fix.setting) in (fix.command or "").split("\n"):
        # The command's own button copies that line already.
        button = None
    return element(
        "li",
        element("p", element("b", code_spans(fix.title))),
        element("p", code_spans(fix.detail)) if fix.detail else None,
        view.command(fix.command, what=f"the command of {fix.title}", run=False) if fix.command else None,
        element("div", button, class_="buttons") if button else None,
    )


def _setting_button(setting: Setting, view: View) -> Markup:
    line = setting_line(setting)
    shown = f"{setting.name}={setting.value}" if setting.kind == "env" else line
    if not view.in_editor:
        return copy_button(line, f"Copy {shown}")
    return element(
        "button", f"Insert {shown} into a launch script", type="button", class_="primary", data_action="applyFix",
        data_setting=json.dumps(asdict(setting), ensure_ascii=True, sort_keys=True), title=setting.why or None,
    )  # fmt: skip


def setting_line(setting: Setting) -> str:
    """The line that a person puts into a script by hand."""
    if setting.kind == "env":
        return f"export {setting.name}={setting.value}"
    if setting.kind == "timeout":
        value = f"timedelta(seconds={setting.value})" if setting.value.isdigit() else setting.value
        return f"torch.distributed.init_process_group(timeout={value})"
    return f"{setting.name} {setting.value}".strip()


def _check(check: Check, view: View) -> Markup:
    return element(
        "div",
        element("p", code_spans(check.title)),
        view.command(check.command, what=f"the command of {check.title}", run=True),
        element("p", "It must print:"),
        code_block(check.expect),
        class_="check",
    )


def _missing(missing: tuple[MissingFact, ...], view: View, anchors: frozenset[str]) -> list[Markup]:
    out = []
    for m in missing:
        decides = None
        if m.decides:
            decides = element("p", "Decides between ", _joined([view.failure_link(d, anchors=anchors) for d in m.decides]), ".")
        command = view.command(m.command, what=f"the command that gets: {m.fact}", run=True)
        out.append(element("div", element("p", code_spans(m.fact)), command, decides, class_="check"))
    return out


def _alternatives(alternatives: tuple[Alternative, ...], view: View, anchors: frozenset[str]) -> Markup:
    return element("ul", *(element("li", view.failure_link(a.failure, anchors=anchors), ": ", code_spans(a.because)) for a in alternatives))


def _related(i: Incident, view: View, anchors: frozenset[str]) -> Markup | None:
    if not i.related:
        return None
    links = _joined([view.failure_link(r, anchors=anchors) for r in i.related])
    return element("p", element("b", "Related: "), links, class_="related")


def _joined(parts: list[Markup]) -> Markup:
    return markup([", " if n else None, part] for n, part in enumerate(parts))


def _page(i: Incident, view: View, anchors: frozenset[str]) -> Markup | None:
    page = view.page(i.failure)
    if page is None:
        return None
    host = i.initiating.hosts[0] if len(i.initiating.hosts) == 1 else ""
    sections = "\n\n".join(f"## {name}\n\n{page.sections[name]}" for name in SECTIONS if name in page.sections)

    def link(word: str) -> Markup | None:
        return view.failure_link(word) if word in view.pages.pages and word != page.id else None

    return element(
        "details",
        element("summary", "About this failure: ", page.title),
        element("p", element("b", "Impact: "), code_spans(page.impact)),
        prose_html(_filled(sections, host), level=3, failure=link),
        class_="page",
        id=f"page-{page.id}",
    )


def _filled(sections: str, host: str) -> str:
    """Placeholders with a fallback get it, or the host; others may be code and stay."""
    return PLACEHOLDER.sub(lambda m: m[0] if m[2] is None else host if m[1] == "host" and host else m[2], sections)
