"""What a line means, as Markdown: what it is, whose fault, quick answer, first fix, page. Knows no failure by itself.

Uses of the page's own texts only; placeholders are filled with what the line captured.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lsprotocol import types

from ..model import Incident, Verdict
from .analysis import COLLATERAL, CONTEXT, CORROBORATING, INITIATING, RECOGNISED, Mark, View, name_ranks, whom
from .diagnostics import cause_place
from .fields import explain_at
from .positions import characters_before, units_of

if TYPE_CHECKING:
    from ..knowledge.page import Page
    from .session import Session

MOST_MARKS = 3
_VERDICTS = {
    Verdict.ESTABLISHED: "established by direct evidence",
    Verdict.PROBABLE: "probable, by order or absence",
    Verdict.UNDETERMINED: "undetermined, the input shows only symptoms",
}

PageOf = Callable[[str], "Page | None"]
LinkOf = Callable[[str], "str | None"]


async def answer(session: Session, params: types.HoverParams) -> types.Hover | None:
    """The hover at a place: what the value under the cursor means, then what its line is."""
    uri, position = params.text_document.uri, params.position
    found: list[types.Hover] = []
    document = session.documents.find(uri)
    if document is not None:
        encoding = session.client.encoding
        text = document.index.line(position.line)
        explained = explain_at(text, characters_before(text, position.character, encoding))
        if explained is not None:
            start, end = units_of(text[: explained.start], encoding), units_of(text[: explained.end], encoding)
            place = types.Range(types.Position(position.line, start), types.Position(position.line, end))
            found.append(types.Hover(types.MarkupContent(types.MarkupKind.Markdown, explained.markdown), place))
    view = await session.view(uri)
    if view is not None and (line := hover_of(view, position.line, session.page, session.page_link)) is not None:
        found.append(line)
    if not found:
        return None
    text = "\n\n---\n\n".join(h.contents.value for h in found if isinstance(h.contents, types.MarkupContent))
    if not session.client.markdown_hover:
        return types.Hover(types.MarkupContent(types.MarkupKind.PlainText, to_plain(text)), found[0].range)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), found[0].range)


def hover_of(view: View, editor_line: int, page_of: PageOf, link_of: LinkOf) -> types.Hover | None:
    """What an editor line is; None for a line that no page recognised. `link_of` gives the address of a page."""
    marks = view.marks_at(editor_line)
    # What else a page would see in the line is noise beside the part it plays.
    marks = tuple(m for m in marks if m.incident is not None)[:MOST_MARKS] or marks[:1]
    if not marks:
        return None
    parts = [_mark(view, mark, page_of, link_of, first=mark is marks[0]) for mark in marks]
    report_line = view.source.map.report_line(editor_line)[0]
    return types.Hover(
        types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)),
        view.source.range(report_line, marks[0].column, marks[0].end_column),
    )


def to_plain(markdown: str) -> str:
    """Markdown for an editor that shows plain text: without link targets, emphasis and fences."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"^```.*\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\*\*|`", "", text).replace("\\", "")


def escape(text: str) -> str:
    """Text from a log as Markdown that shows it unchanged."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text.replace("\r", " ").replace("\n", " "))


def code(text: str, language: str = "") -> str:
    """A fenced block, with a fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def link_to(view: View, file: str, line: int, label: str) -> str:
    """A Markdown link to a line of the report; only the label where the file has no address."""
    location = view.analysis.location(file, line)
    if location is None or not location.uri.startswith("file:"):
        return label
    return f"[{label}]({location.uri}#L{location.range.start.line + 1})"


def _mark(view: View, mark: Mark, page_of: PageOf, link_of: LinkOf, *, first: bool) -> str:
    page = page_of(mark.failure)
    title = page.title if page else (mark.incident.title if mark.incident else mark.failure)
    lines = [f"**{escape(title)}** `{mark.failure}`", _what(view, mark)]
    if first:
        lines += _advice(mark, page)
    links = []
    if page and (target := link_of(mark.failure)):
        links.append(f"[Open the page]({target})")
    if mark.role == COLLATERAL and mark.incident and (target := link_of(mark.incident.failure)):
        links.append(f"[Open the page of the cause]({target})")
    if links:
        lines.append(" · ".join(links))
    return "\n\n".join(line for line in lines if line)


def _what(view: View, mark: Mark) -> str:
    """What part the line plays."""
    incident = mark.incident
    if incident is None:
        who = f" of {name_ranks(mark.ranks)}" if mark.ranks else ""
        return f"A line{who} that is known, and no part of a failure here."
    if mark.role == INITIATING:
        says = f": {escape(mark.says)}" if mark.says else ""
        counted = _counted(len(incident.collateral), "collateral line")
        tail = f"\n\n{counted} followed from it." if incident.collateral else ""
        return f"**Initiating line**{says} ({_VERDICTS[incident.verdict]}).\n\n{escape(incident.summary)}{tail}"
    cause = view.cause(incident)
    place = link_to(view, cause.file, cause.line, cause_place(view, incident))
    if mark.role == COLLATERAL:
        why = f": {escape(mark.says)}" if mark.says else ""
        return f"**Collateral** of {escape(whom(incident))}, {place}{why}.\n\n{escape(incident.summary)}"
    word = "Supports" if mark.role == CORROBORATING else "Context of"
    says = f": {escape(mark.says)}" if mark.says else ""
    return f"**{word}** the verdict about {place}{says}.\n\n{escape(incident.summary)}"


def _advice(mark: Mark, page: Page | None) -> list[str]:
    incident = mark.incident
    lines: list[str] = []
    if mark.role == COLLATERAL:
        return [f"Fix the cause, not this line: {_first_fix_title(incident)}"] if incident and incident.fix else []
    if page is not None and mark.role in (INITIATING, RECOGNISED, CONTEXT):
        answer = filled(page.quick_answer, mark)
        # The summary of an incident is made of the answer's first sentence.
        lines.append(answer.partition(". ")[2] if incident and mark.role == INITIATING else answer)
    fix = (incident.fix if incident and mark.role == INITIATING else ()) or ((page.fixes if page else ()) if incident else ())
    if fix:
        lines.append(f"**First fix** {fix[0].title}" + (f": {fix[0].detail}" if fix[0].detail else ""))
        if fix[0].command:
            lines.append(code(fix[0].command, "sh"))
    if incident and incident.missing and mark.role == INITIATING and incident.verdict is not Verdict.ESTABLISHED:
        fact = incident.missing[0]
        lines.append(f"**Missing fact** {escape(fact.fact)}")
        lines.append(code(fact.command, "sh"))
    return lines


def _first_fix_title(incident: Incident) -> str:
    return f"{incident.fix[0].title}."


def filled(template: str, mark: Mark) -> str:
    """A text of a page with what the line captured in its placeholders."""
    from ..knowledge.page import fill

    text = fill(template, values_of(mark))
    return text[:1].upper() + text[1:]


def values_of(mark: Mark) -> Mapping[str, str]:
    """What a line says, by the names that pages use; ranks in words."""
    values = dict(mark.finding.captures) if mark.finding else {}
    ranks = mark.incident.initiating.ranks if mark.incident is not None and mark.role == INITIATING else None
    hosts = mark.incident.initiating.hosts if mark.incident is not None and mark.role == INITIATING else ()
    if mark.finding is not None:
        origin = mark.finding.line.origin
        if ranks is None and origin.rank is not None:
            ranks = (origin.rank,)
        if not hosts and origin.host:
            hosts = (origin.host,)
    if ranks is not None:
        values["rank"] = name_ranks(ranks)
    elif values.get("rank", "").isdigit():
        values["rank"] = f"rank {values['rank']}"
    if hosts:
        values["host"] = " and ".join(hosts[:3])
    return values


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
