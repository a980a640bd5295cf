"""Parses JSON with comments and trailing commas into nodes with offsets, and inserts into objects in their own layout. Knows no schema."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from firstfault.launch.edit import EditRefused, Lines, Replacement

_STRING = re.compile(r'"(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|[^"\\\x00-\x1f])*"')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_GAP = re.compile(r"(?:\s+|//[^\n\r]*|/\*.*?\*/)*", re.DOTALL)


@dataclass(slots=True)
class JsonNode:
    """One value: `kind` is object, array, string, number or word; `text[start:end]` is its source. A string's `value` is decoded."""

    kind: str
    start: int
    end: int = 0
    value: str = ""
    members: list[tuple[JsonNode, JsonNode]] = field(default_factory=list)
    items: list[JsonNode] = field(default_factory=list)

    def get(self, *path: str) -> JsonNode | None:
        """The value under a chain of keys, or None; of a key that is given twice the last counts."""
        node: JsonNode | None = self
        for key in path:
            node = next((v for k, v in reversed(node.members) if k.value == key), None) if node is not None else None
        return node


class JsonSource:
    """One parsed text. Raises `EditRefused` where it does not parse."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.lines = Lines(text)
        self._at = self._gap(0)
        try:
            self.root = self._value(0)
        except RecursionError:
            raise self._refusal("it is nested too deeply") from None
        if self._gap(self._at) != len(text):
            raise self._refusal("text behind the end")

    def add_member(self, node: JsonNode, key: str, value: str) -> Replacement:
        """Add a member behind the last; `value` is JSON text, its lines relative to the member's indentation."""
        member = f"{json.dumps(key)}: {value}"
        if not node.members:
            return self._into_empty(node, member)
        last_key, last = node.members[-1]
        behind, comma = self._behind(last.end)
        if self.lines.line_of(node.start) == self.lines.line_of(last_key.start):
            return Replacement(last.end, last.end, f", {member}")
        indent = self.lines.indent_at(last_key.start)
        new = self.lines.end + indent + member.replace("\n", self.lines.end + indent) + ("," if comma else "")
        # A comment on the line of the last member stays there.
        line = self.text[behind : self.lines.next_line(behind)].rstrip("\r\n")
        rest = line.rstrip() if re.match(r"[ \t]*(?://.*|/\*(?:(?!\*/).)*\*/[ \t]*)?$", line) else ""
        return Replacement(last.end, behind + len(rest), "," + rest + new)

    def remove_member(self, node: JsonNode, index: int) -> list[Replacement]:
        """Take a member out with its lines and its comma, or with the comma before it if it is the last."""
        key, value = node.members[index]
        if len(node.members) == 1:
            return [Replacement(node.start + 1, node.end - 1, "")]
        end, comma = self._behind(value.end)
        start_of_line = self.lines.start_of_line(key.start)
        alone = not self.text[start_of_line : key.start].strip() and not self.text[end : self.lines.next_line(end - 1)].strip()
        previous, _ = self._behind(node.members[index - 1][1].end) if index > 0 else (0, False)
        if alone:
            lines = self.lines.whole_lines(key.start, end)
            return [lines] if comma or index == 0 else [Replacement(previous - 1, previous, ""), lines]
        if index > 0:
            return [Replacement(previous - 1, value.end, "")] if not comma else [Replacement(previous, end, "")]
        return [Replacement(key.start, node.members[1][0].start, "")]

    def _into_empty(self, node: JsonNode, member: str) -> Replacement:
        if self.lines.line_of(node.start) == self.lines.line_of(node.end - 1):
            return Replacement(node.start + 1, node.end - 1, f" {member} " if self.text[node.start + 1] == " " else member)
        indent = self.lines.indent_at(node.start)
        return Replacement(node.start + 1, node.start + 1, f"{self.lines.end}{indent}{self.unit}{member}")

    @property
    def unit(self) -> str:
        """One step of indentation in this file."""
        m = re.search(r"\n([ \t]+)\S", self.text)
        return m.group(1) if m else "    "

    def _behind(self, at: int) -> tuple[int, bool]:
        """Behind the comma that follows a value: (offset, whether there is one)."""
        after = self._gap(at)
        return (after + 1, True) if self.text.startswith(",", after) else (at, False)

    def _gap(self, at: int) -> int:
        m = _GAP.match(self.text, at)
        return m.end() if m else at

    def _refusal(self, why: str) -> EditRefused:
        where = f"{self.path}:{self.lines.line_of(min(self._at, len(self.text))) + 1}"
        return EditRefused("the JSON file is not edited", reason=f"it does not parse: {why}", where=where)

    def _value(self, depth: int) -> JsonNode:
        at = self._at
        c = self.text[at : at + 1]
        if c in {"{", "["}:
            return self._container(c, depth)
        for kind, pattern in (("string", _STRING), ("number", _NUMBER), ("word", re.compile("true|false|null"))):
            if m := pattern.match(self.text, at):
                self._at = m.end()
                return JsonNode(kind, at, m.end(), json.loads(m.group()) if kind == "string" else m.group())
        raise self._refusal(f"unexpected {c!r}" if c else "the end is missing")

    def _container(self, opening: str, depth: int) -> JsonNode:
        node = JsonNode("object" if opening == "{" else "array", self._at)
        closing = "}" if opening == "{" else "]"
        self._at = self._gap(self._at + 1)
        while not self.text.startswith(closing, self._at):
            value = self._value(depth + 1)
            if opening == "{":
                if value.kind != "string":
                    raise self._refusal("a key is no string")
                self._at = self._gap(self._at)
                if not self.text.startswith(":", self._at):
                    raise self._refusal("a colon is missing")
                self._at = self._gap(self._at + 1)
                node.members.append((value, self._value(depth + 1)))
            else:
                node.items.append(value)
            self._at = self._gap(self._at)
            if self.text.startswith(",", self._at):
                self._at = self._gap(self._at + 1)
            elif not self.text.startswith(closing, self._at):
                raise self._refusal(f"a comma or {closing} is missing")
        self._at += 1
        node.end = self._at
        return node
