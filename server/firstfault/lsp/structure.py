"""The form of an open log, line by line: who printed it, what folds, which source files it names. Knows no failure and no verdict.

Made in one pass in a worker thread, once a version; the features that need it wait for the same result.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..read.lines import make_line
from .positions import LineIndex
from .speakers import Speakers

# What stands behind this column of a very long line (a progress bar of a whole night) says nothing about its form.
LONGEST_LOOK = 2_000
LONGEST_TRACEBACK = 120
LOOK_UP_EVERY = 2_000
SHORTEST_REPEAT = 5
SHORTEST_BLOCK = 3
NOBODY = -1

TRACEBACK = "traceback"
CHATTER = "chatter"
REPEATED = "repeated"

_HEAD = ("Traceback (most recent call last)", "Original Traceback", "Exception raised from ")
# Between the head and the end of a traceback: frames, source, carets, chains, C++ frames, the exception itself.
_INSIDE = re.compile(
    r"\s|frame #\d+:|[~^]+\Z|During handling of the above|The above exception was|Traceback \(most|Original Traceback|"
    r"Exception raised from|"
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout)\b"
)
_RAISED = re.compile(r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure|Timeout)\b|frame #\d+:")
_FRAME = re.compile(r'File "(?P<file>[^"\n<>]+)", line (?P<line>\d+)')
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Fold:
    """Editor lines `first` to `last` (inclusive) belong together; `kind` is traceback, chatter or repeated."""

    first: int
    last: int
    kind: str


@dataclass(frozen=True, slots=True)
class SourceMention:
    """`File "path", line N` between two characters of an editor line."""

    editor_line: int
    start: int
    end: int
    path: str
    line: int


@dataclass(slots=True)
class Structure:
    """What one version of a document looks like. Arrays are indexed by editor line."""

    speakers: array[int] = field(default_factory=lambda: array("i"))
    """The rank that printed each line, `NOBODY` where the line does not say."""
    prefixes: array[int] = field(default_factory=lambda: array("i"))
    """How many characters of each line are prefix."""
    folds: list[Fold] = field(default_factory=list)
    mentions: list[SourceMention] = field(default_factory=list)

    def ranks(self) -> dict[int, list[int]]:
        """The editor lines of each rank, ranks in order."""
        found: dict[int, list[int]] = {}
        for line, rank in enumerate(self.speakers):
            if rank != NOBODY:
                found.setdefault(rank, []).append(line)
        return dict(sorted(found.items()))


def structure_of(index: LineIndex, stopped: Callable[[], bool] = lambda: False) -> Structure | None:
    """The structure of a document; None when `stopped()` turned true on the way."""
    out = Structure()
    speakers = Speakers()
    local_ranks: list[int] = []
    pairs: dict[int, set[int]] = {}
    texts: list[str] = []
    for number in range(index.count):
        if number % LOOK_UP_EVERY == 0 and stopped():
            return None
        raw = index.line(number)[:LONGEST_LOOK]
        rank, local, prefix, text = speakers.read(raw)
        if rank is not None and local is not None:
            pairs.setdefault(local, set()).add(rank)
        out.speakers.append(NOBODY if rank is None else rank)
        local_ranks.append(NOBODY if local is None else local)
        out.prefixes.append(prefix)
        texts.append(text)
        if 'File "' in raw:
            out.mentions += [SourceMention(number, m.start("file"), m.end(), m["file"], int(m["line"])) for m in _FRAME.finditer(raw)]
    _fill_in(out, local_ranks, pairs)
    out.folds = list(_folds(texts))
    return out


def first_line_of_block(index: LineIndex, number: int) -> int:
    """The editor line where the traceback that ends at line `number` begins; `number` itself where it ends none.

    Looks at the lines directly above with the same prefix, so it is cheap and blind to interleaved output.
    """
    raw = index.line(number)[:LONGEST_LOOK]
    line = make_line(raw, 0, number + 1)
    prefix = raw[: line.columns[0]] if len(line.columns) else ""
    for above in range(number - 1, max(-1, number - LONGEST_TRACEBACK), -1):
        text = index.line(above)[:LONGEST_LOOK]
        if not text.startswith(prefix):
            break
        text = text[len(prefix) :]
        if any(text.lstrip().startswith(head) for head in _HEAD):
            return above
        if not text.startswith((" ", "\t", "frame #")):
            break
    return number


def _fill_in(out: Structure, local_ranks: list[int], pairs: dict[int, set[int]]) -> None:
    """Give lines with only a local rank their rank, where the log shows one rank for it; without any pair the two are taken as one."""
    for line, local in enumerate(local_ranks):
        if out.speakers[line] == NOBODY and local != NOBODY:
            ranks = pairs.get(local, set())
            if len(ranks) == 1:
                out.speakers[line] = next(iter(ranks))
            elif not pairs:
                out.speakers[line] = local


def _folds(texts: list[str]) -> Iterator[Fold]:
    """Runs of lines that belong together, in order and without overlap."""
    at = 0
    while at < len(texts):
        for kind, end in (
            (TRACEBACK, _end_of_traceback(texts, at)),
            (CHATTER, _end_of_chatter(texts, at)),
            (REPEATED, _end_of_repeat(texts, at)),
        ):
            if end - at >= (SHORTEST_REPEAT if kind == REPEATED else SHORTEST_BLOCK):
                yield Fold(at, end - 1, kind)
                at = end
                break
        else:
            at += 1


def _end_of_traceback(texts: list[str], at: int) -> int:
    if not any(head in texts[at] for head in _HEAD):
        return at
    end = last = at + 1
    over = False
    while end < len(texts):
        text = texts[end]
        if not text.strip():
            # A blank line belongs to a traceback only when the traceback goes on behind it.
            end += 1
            if end - last > 2:
                break
            continue
        head = any(h in text for h in _HEAD)
        # The next head begins a block of its own, unless it is chained to this one or this one has not shown its exception yet.
        if not _INSIDE.match(text) or (head and over):
            break
        if not head:
            over = _RAISED.match(text) is not None
        end += 1
        last = end
    return last


def _end_of_chatter(texts: list[str], at: int) -> int:
    end = last = at
    while end < len(texts) and ("NCCL INFO" in texts[end] or (end > at and not texts[end].strip())):
        end += 1
        if "NCCL INFO" in texts[end - 1]:
            last = end
    return last


def _end_of_repeat(texts: list[str], at: int) -> int:
    if at + 1 >= len(texts) or not texts[at] or texts[at][:4].rstrip("0123456789") != texts[at + 1][:4].rstrip("0123456789"):
        return at
    shape = _shape(texts[at])
    end = at + 1
    while end < len(texts) and _shape(texts[end]) == shape:
        end += 1
    return end


def _shape(text: str) -> str:
    """A line with its numbers taken out."""
    return _NUMBERS.sub("0", text[:400])
