"""Proposes a new page from a line of a log: a needle, a regex, examples. Knows the page format, not what the line means."""

from __future__ import annotations

import re

from ..errors import PageError
from ..read.lines import clean_line
from .page import ID, SECTIONS

# What differs from run to run: addresses, numbers, paths, quoted names.
_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)*|/[\w./-]{3,}|'[^']{0,80}'|\"[^\"]{0,80}\"")
_LONGEST_LINE = 300
_SHORTEST_NEEDLE = 3

# What a new page says in each section until somebody writes it.
HINTS = {
    "What you see": "The symptoms, and which reason each points to.",
    "Why it happens": "The mechanism, in the terms of the programs involved.",
    "Confirm": "1. The cheapest check first, and what each observation rules out.",
    "Fix": "### The best fix\n\nWhat it changes and why it works.\n\n```bash\nexport NAME=value\n```",
    "Verify": "### It is gone\n\n```bash\nfirstfault diagnose run.log\n```\n\n```text\nNo failure found\n```",
    "Prevent": "What keeps it from coming back after it was fixed.",
    "Watch for it": "The fingerprint: a grep, a PromQL or LogQL rule.",
    "From one GPU to a thousand": "How it looks on one GPU, on one node, on many.",
    "Does not prove": "- What the lines alone do not establish.",
    "References": "- https://",
}

# What a new page keeps silent on until somebody writes it: a needle of three letters may stand in one of them, never in both.
_NEAR_MISSES = ("Hint: a line that looks alike and is no failure", "INFO: 0 of 0")


def propose_page(page_id: str, raw: str) -> str:
    """The Markdown of a new page for a failure that prints the line `raw`. Raises PageError where the line has no words."""
    if not ID.match(page_id):
        raise PageError(
            f"{page_id!r} is not an id", reason="ids are kebab-case names of an observed mechanism", where=page_id, help="e.g. port-in-use"
        )  # fmt: skip
    # Of a progress bar that was redrawn, what stood last; an example is one line.
    raw = next((part for part in reversed(raw.rstrip("\r\n").split("\r")) if part.strip()), "").rstrip()
    text = clean_line(raw)[:_LONGEST_LINE].strip()
    literals = [part.strip() for part in _VARIABLE.split(text)]
    # Codes for colours may stand between words, so that only single words are whole in the raw line.
    literals = [part for part in literals if part in raw] or [word for part in literals for word in part.split() if word in raw]
    needles = [part for part in literals if len(part) >= _SHORTEST_NEEDLE and re.search(r"[^\W\d_]{2}", part)]
    if not needles:
        raise PageError(
            "the line has no words to recognise it by", reason=f"it reads {text[:80]!r}", where=raw[:80].strip() or "an empty line",
            help="choose the line that states the failure",
        )  # fmt: skip
    needle = max(needles, key=len)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", raw)), default=0))
    body = "\n\n".join(f"## {name}\n\n{HINTS[name]}" for name in SECTIONS)
    return f"""+++
title = "{page_id.replace("-", " ").capitalize()}"
role = "initiating"      # initiating | collateral | symptom | context
scope = "rank"           # rank | host | job
severity = "error"
tags = []
related = []
impact = "What it costs whoever pays, in one sentence."
on_call = "What to do now, in one sentence."
+++

{{rank}} failed: say in one paragraph what happened and what to do first.

{body}

## Signatures

```signature
needle: {needle}
{_pattern(text)}
```

{fence}log fires
{raw}
{fence}

{fence}log fires
{raw.replace(text, _with_other_numbers(text))}
{fence}

```log silent the same words in advice
{next(near for near in _NEAR_MISSES if needle not in near)}
```
"""


def _pattern(text: str) -> str:
    out = []
    at = 0
    for m in _VARIABLE.finditer(text):
        out.append(re.escape(text[at : m.start()]).replace("\\ ", " "))
        out.append(_any_like(m[0]))
        at = m.end()
    out.append(re.escape(text[at:]).replace("\\ ", " "))
    whole = "".join(out)
    return f"(?:{whole[0]}){whole[1:]}" if whole.startswith("needle:") else whole


def _any_like(found: str) -> str:
    if found.startswith("0x"):
        return "0x[0-9a-fA-F]+"
    if found[0].isdigit():
        return r"\d+(?:\.\d+)*"
    if found[0] == "/":
        return r"[\w./-]{4,300}"
    return f"{found[0]}[^{found[0]}]{{0,80}}{found[0]}"


def _with_other_numbers(text: str) -> str:
    """The same line of another run: every number differs, so that the example shows that the regex is general."""
    return _VARIABLE.sub(lambda m: m[0] if m[0].startswith("0x") else re.sub(r"\d", lambda d: str((int(d[0]) + 1) % 9 + 1), m[0]), text)
