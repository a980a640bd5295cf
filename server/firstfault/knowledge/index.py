"""Writes the lists of all failures that stand in the documentation. Knows page heads and quick answers, no file."""

from __future__ import annotations

import re

from .library import Library
from .page import Page, fill

# The folders of the encyclopedia in the order of a reader's question, each with its heading.
LAYERS = {
    "coordination": "Coordination of ranks",
    "network": "NCCL, RCCL, HCCL and the network",
    "gpu": "GPU",
    "host": "Host and scheduler",
    "program": "Program",
    "numerics": "Numerics",
    "serving": "Serving",
    "harmless": "Harmless, however loud",
}
BEGIN, END = "<!-- failures:begin (generated) -->", "<!-- failures:end -->"
_SENTENCE_END = re.compile(r"(?<=[.:;])\s")


def index_page(library: Library) -> str:
    """The index of the encyclopedia: every failure by layer with its title, its role and the first sentence of its quick answer."""
    pages = [p for p in library.pages.values() if not p.retired]
    out = [
        "# Every failure that FirstFault knows",
        "",
        "<!-- Written by `firstfault check --index`; a test compares it with the pages. -->",
        "",
        f"{len(pages)} pages in {len(LAYERS)} layers.",
        "An *initiating* failure can begin it, a *collateral* one follows from another,"
        " a *symptom* shows that something is wrong but not what, and *context* accuses nobody.",
    ]
    for layer, heading in LAYERS.items():
        out += ["", f"## {heading}", "", "| failure | role | in one sentence |", "|---|---|---|"]
        for p in (p for p in pages if p.layer == layer):
            out.append(f"| [{p.title}]({p.layer}/{p.id}.md)<br>`{p.id}` | {p.role.value} | {first_sentence(p)} |")
    return "\n".join(out) + "\n"


def failures_block(library: Library, folder: str) -> str:
    """The list of all failures for a README, with its marks; `folder` leads from there to the encyclopedia."""
    out = [BEGIN]
    for layer, heading in LAYERS.items():
        pages = [p for p in library.pages.values() if p.layer == layer and not p.retired]
        out.append(f"- **{heading}**: " + " · ".join(f"[{p.id}]({folder}/{p.layer}/{p.id}.md)" for p in pages))
    return "\n".join([*out, END])


def with_block(text: str, block: str) -> str | None:
    """`text` with what stands between the marks replaced; `None` where it has no marks."""
    start, end = text.find(BEGIN), text.find(END)
    return text[:start] + block + text[end + len(END) :] if 0 <= start < end else None


def first_sentence(page: Page) -> str:
    """The first sentence of the quick answer as it reads without a log, in one cell of a table."""
    text = fill(page.quick_answer, {})
    ends = (m.start() for m in _SENTENCE_END.finditer(text))
    end = next((e for e in ends if text.count("(", 0, e) == text.count(")", 0, e)), len(text))
    return text[:end].rstrip(":;").replace("|", "\\|")
