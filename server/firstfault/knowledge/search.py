"""Finds pages by symptoms in the user's own words. Knows page texts, no log.

BM25 over words reduced to their stems: a hundred pages need no search library.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from .library import Library
from .page import Page

_WORD = re.compile(r"[a-z0-9_]{2,}")
_STOP = frozenset("the of and or to in is it on at an as by for from with that this not are be was one all others other my our but".split())
_WEIGHTS = (("id", 4.0), ("title", 4.0), ("tags", 3.0), ("quick", 2.0), ("seen", 2.0), ("rest", 1.0))
_SAME = {
    "stuck": "hang",
    "hung": "hang",
    "hanging": "hang",
    "freeze": "hang",
    "frozen": "hang",
    "idle": "idl",
    "oom": "memory",
    "mem": "memory",
    "slow": "slow",
    "%": "",
}


def search_pages(library: Library, words: str, most: int = 8) -> list[tuple[float, Page]]:
    """The pages that fit the words best as (score, page), best first; empty where no word is known."""
    wanted = _stems([words])
    pages = [p for p in library.pages.values() if not p.retired]
    counts = {p.id: _weighted(p) for p in pages}
    length = {i: sum(c.values()) for i, c in counts.items()}
    average = sum(length.values()) / max(len(length), 1)
    found = []
    for page in pages:
        score = 0.0
        for stem in set(wanted):
            holding = sum(1 for c in counts.values() if stem in c)
            frequency = counts[page.id].get(stem, 0.0)
            if frequency:
                rarity = math.log(1 + (len(pages) - holding + 0.5) / (holding + 0.5))
                score += rarity * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length[page.id] / average))
        if score > 0:
            found.append((score, page))
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return found[:most]


def _weighted(page: Page) -> Counter[str]:
    seen = page.sections.get("What you see", "")
    rest = " ".join(page.sections.get(n, "") for n in ("Why it happens", "Confirm", "From one GPU to a thousand"))
    texts = {
        "id": page.id.replace("-", " "),
        "title": page.title,
        "tags": " ".join(page.tags),
        "quick": page.quick_answer,
        "seen": seen,
        "rest": rest,
    }
    out: Counter[str] = Counter()
    for name, weight in _WEIGHTS:
        for stem in _stems([texts[name]]):
            out[stem] += weight  # type: ignore[assignment]
    return out


def _stems(texts: Iterable[str]) -> list[str]:
    out = []
    for text in texts:
        for word in _WORD.findall(text.lower().replace("-", " ")):
            if word in _STOP:
                continue
            word = _SAME.get(word, word)
            for ending in ("ing", "ed", "es", "s", "e"):
                if word.endswith(ending) and len(word) - len(ending) >= 3:
                    word = word[: -len(ending)]
                    break
            out.append(word)
    return out
