"""Finds pages by symptoms in the user's own words. Knows page texts, no log.

BM25 over words reduced to their stems: a hundred pages need no search library.
"""

from __future__ import annotations

import math
import re
from collections import Counter

from ..model import Role
from .library import Library
from .match import match_example
from .page import Page

# Words, and exit codes such as -9; hyphens inside words divide them.
_WORD = re.compile(r"[a-z0-9_]{2,}|(?<!\w)-?\d+")
_STOP = frozenset(
    "the of and or to in is it its on at an as by for from with that this not no any are be was were has have had do does did "
    "all others other my our your but so then than when while after before into out can cannot get gets got will would just "
    "each only some somebody someone there they them their we us me without very too up what why how one".split()
)
_WEIGHTS = (("id", 4.0), ("title", 4.0), ("tags", 3.0), ("quick", 2.0), ("seen", 2.0), ("rest", 1.0), ("lines", 0.5))
# A page that recognises the words as a line of a log stands before every page that only speaks of them.
_RECOGNISED = 1000.0
# Who searches has a failure at hand, seldom a harmless line.
_HARMLESS = 0.6
# What users say for what pages say; both are looked for.
_ALSO = {
    "oom": "memory",
    "ram": "memory host",
    "vram": "gpu memory",
    "mem": "memory",
    "stuck": "hang",
    "hung": "hang",
    "freeze": "hang",
    "frozen": "hang",
    "stall": "hang",
    "stops": "hang",
    "idle": "wait",
    "crash": "fail",
    "crashed": "fail",
    "dies": "died",
    "disappeared": "fell",
    "vanished": "fell",
    "gone": "lost",
    "slower": "slow",
    "slowly": "slow",
    "machine": "host node",
    "card": "gpu",
    "gpus": "gpu",
    "ib": "infiniband",
    "wall": "walltime",
    "walltime": "time limit",
    "timeout": "timed",
    "broken": "corrupt",
    "quota": "disk",
    "weights": "checkpoint",
}
_ENDINGS = ("ing", "ed", "es", "er", "s", "e")


def search_pages(library: Library, words: str, most: int = 8) -> list[tuple[float, Page]]:
    """The pages that fit the words, or the line of a log, best as (score, page), best first; empty where no word is known.

    A page that knows more of the words stands before one that knows one of them well.
    """
    recognised = {f.failure for f in match_example(library, [words])}
    asked = [_stems(f"{word} {_ALSO.get(word, '')}") for word in dict.fromkeys(_words(words))]
    pages = [p for p in library.pages.values() if not p.retired]
    counts = {p.id: _weighted(p) for p in pages}
    length = {i: sum(c.values()) for i, c in counts.items()}
    average = sum(length.values()) / max(len(length), 1)
    holding = Counter(stem for c in counts.values() for stem in c)
    names = {stem for p in pages for stem in _stems(" ".join((p.id, p.title, *p.tags)))}
    found = []
    for page in pages:
        count, scores = counts[page.id], []
        for stems in asked:
            best = 0.0
            for stem in stems:
                frequency = count.get(stem, 0.0)
                rarity = math.log(1 + (len(pages) - holding[stem] + 0.5) / (holding[stem] + 0.5))
                if stem not in names:  # a word of prose that is rare by chance
                    rarity /= 3
                best = max(best, rarity * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length[page.id] / average)))
            scores.append(best)
        known = sum(s > 0 for s in scores)
        if known or page.id in recognised:
            score = sum(scores) * math.sqrt(known / max(len(scores), 1)) * (_HARMLESS if page.role is Role.CONTEXT else 1.0)
            found.append((score + _RECOGNISED * (page.id in recognised), page))
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return found[:most]


def _weighted(page: Page) -> dict[str, float]:
    seen = page.sections.get("What you see", "")
    rest = " ".join(page.sections.get(n, "") for n in ("Why it happens", "Confirm", "From one GPU to a thousand"))
    lines = " ".join(line for example in page.fires for line in example.lines)
    texts = {
        "id": page.id, "title": page.title, "tags": " ".join(page.tags), "quick": page.quick_answer,
        "seen": seen, "rest": rest, "lines": lines,
    }  # fmt: skip
    out: dict[str, float] = {}
    for name, weight in _WEIGHTS:
        # Of example lines only which words they have counts: a page with many examples is no better an answer.
        for stem in set(_stems(lines)) if name == "lines" else _stems(texts[name]):
            out[stem] = out.get(stem, 0.0) + weight
    return out


def _words(text: str) -> list[str]:
    """The words of a text that mean something, in lower case."""
    plain = re.sub(r"(?<=\w)-(?=\w)", " ", text.lower())
    # Three words of which two mean nothing alone.
    return [word for word in _WORD.findall(re.sub(r"\bout of (?:\w+ )?memory\b", r"oom \g<0>", plain)) if word not in _STOP]


def _stems(text: str) -> list[str]:
    """Its words without endings, so that hang, hangs and hanging are one."""
    out = []
    for word in _words(text):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                word = word[: -len(ending)]
                break
        out.append(word)
    return out
