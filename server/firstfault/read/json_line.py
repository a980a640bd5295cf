"""Takes the message out of a line that is a JSON object, as container engines and structured loggers write them.

Docker's json-file, journald's export, cloud loggers, Python JSON formatters. Knows no launcher and no failure.
"""

from __future__ import annotations

import re

from .clock import read_time

# Keys of messages and of the tracebacks beside them; never a key inside a string, where its quote would be escaped.
_TEXT = re.compile(
    r'(?<!\\)"(?P<key>log|message|msg|MESSAGE|textPayload|exc_info|exc_text|exception|stack|stack_?[tT]race|traceback)"\s*:\s*'
    r'"(?P<text>(?:[^"\\]|\\.)*)"'
)
_MESSAGES = frozenset(("log", "message", "msg", "MESSAGE", "textPayload"))
_TIME = re.compile(r'(?<!\\)"(?:time|timestamp|@timestamp|ts|asctime|date)"\s*:\s*"(?P<time>[^"\\]{8,40})"')
_PIECE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]+", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


def message_in(raw: str) -> tuple[str, list[int], tuple[float, bool] | None] | None:
    """The message of a raw line that is a JSON object, the column of each of its characters, and when it was written.

    A traceback that stands beside the message follows it; a message that is a JSON object itself gives what is inside.
    `None` for any other line. Of a progress bar that was drawn several times the last state is the message.
    """
    if not raw.startswith('{"') or not raw.rstrip().endswith("}"):
        return None
    found = list(_TEXT.finditer(raw))
    if not any(m["key"] in _MESSAGES for m in found):
        return None
    text, columns = "", list[int]()
    for m in found:
        if text:
            text, columns = text + "\n", [*columns, m.start()]
        part, places = _decoded(raw, m.start("text"), m.end("text"))
        text, columns = text + part, columns + places
    written = next((time for m in _TIME.finditer(raw) if (time := read_time(m["time"]))), None)
    if (inner := message_in(text)) is not None:
        return inner[0], [columns[c] for c in inner[1]], inner[2] or written
    return text, columns, written


def _decoded(raw: str, start: int, end: int) -> tuple[str, list[int]]:
    text: list[str] = []
    columns: list[int] = []
    for piece in _PIECE.finditer(raw, start, end):
        plain = _plain(piece[0])
        text.append(plain)
        columns += range(piece.start(), piece.end()) if piece[0][0] != "\\" else [piece.start()] * len(plain)
    whole = "".join(text).rstrip("\r\n")
    begin = whole.rfind("\r") + 1
    return whole[begin:], columns[begin : len(whole)]


def _plain(piece: str) -> str:
    if piece[0] != "\\":
        return piece
    if piece[1] == "u" and len(piece) > 2:
        units = [int(unit, 16) for unit in piece.split("\\u")[1:]]
        return b"".join(u.to_bytes(2, "big") for u in units).decode("utf-16-be", errors="replace")
    return _ESCAPED.get(piece[1], piece[1])
