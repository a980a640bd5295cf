"""Proposes a new page from a line of a log: a needle, a regex, an example. Knows the page format, not what the line means."""

from __future__ import annotations

import re

from ..errors import PageError
from ..read.lines import clean_line
from .page import ID, SECTIONS

_VARIABLE = re.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)*|/[\w./-]{3,}|'[^']{0,80}'|\"[^\"]{0,80}\"")
_LONGEST_LINE = 300


def propose_page(page_id: str, raw: str) -> str:
    """The Markdown of a new page for a failure that prints the line `raw`. Raises PageError where the line has no words."""
    if not ID.match(page_id):
        raise PageError(f"{page_id!r} is not an id", reason="ids are kebab-case names of an observed mechanism", help="e.g. port-in-use")
    text = clean_line(raw)[:_LONGEST_LINE].strip()
    literals = [part for part in _VARIABLE.split(text) if len(part.strip()) >= 3]
    if not literals:
        raise PageError("the line has no words to recognise it by", where=raw[:80], help="choose the line that states the failure")
    needle = max(literals, key=len).strip()
    pattern = _pattern(text)
    title = page_id.replace("-", " ").capitalize()
    body = "\n\n".join(f"## {name}\n\n{_HINTS[name]}" for name in SECTIONS)
    return f"""+++
title = "{title}"
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
{pattern}
```

```log fires
{raw.rstrip()}
```

```log fires
{raw.rstrip()}
```

```log silent the-same-words-in-advice
Hint: a line that looks alike and is no failure
```
"""


_HINTS = {
    "What you see": "The symptoms, and which reason each points to.",
    "Why it happens": "The mechanism.",
    "Confirm": "1. The cheapest check first, and what each observation rules out.",
    "Fix": "### The best fix\n\nWhat it changes and why it works.\n\n```bash\nexport NAME=value\n```",
    "Verify": "### It is gone\n\n```bash\nfirstfault diagnose run.log\n```\n\n```text\nNo failure found\n```",
    "Prevent": "What keeps it from coming back.",
    "Watch for it": "The fingerprint: a grep, a PromQL or LogQL rule.",
    "From one GPU to a thousand": "How it looks on one GPU, on one node, on many.",
    "Does not prove": "What the lines alone do not establish.",
    "References": "- https://",
}


def _pattern(text: str) -> str:
    out = []
    at = 0
    for m in _VARIABLE.finditer(text):
        out.append(re.escape(text[at : m.start()]).replace("\\ ", " "))
        found = m[0]
        out.append(
            "0x[0-9a-f]+"
            if found.startswith("0x")
            else r"\d+(?:\.\d+)*"
            if found[0].isdigit()
            else r"\S+"
            if found[0] == "/"
            else f"{found[0]}[^{found[0]}]*{found[0]}"
        )
        at = m.end()
    out.append(re.escape(text[at:]).replace("\\ ", " "))
    return "".join(out)
