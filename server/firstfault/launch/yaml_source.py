"""A YAML text as the editors see it: nodes with offsets, insertion into maps and lists in their own layout. Knows no schema.

ruamel.yaml parses and gives the marks; the text itself is never dumped, so comments, quotes and blank lines stay as they are.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

from firstfault.launch.edit import EditRefused, Lines, Replacement

# The nodes of ruamel.yaml: ScalarNode, SequenceNode, MappingNode.
Node = Any


class YamlSource:
    """The documents of one YAML text. Raises `EditRefused` where it does not parse or ruamel.yaml is not installed."""

    def __init__(self, text: str, path: str) -> None:
        self.text = text
        self.path = path
        self.lines = Lines(text)
        try:
            from ruamel.yaml import YAML
            from ruamel.yaml.error import YAMLError
        except ImportError:
            raise EditRefused(
                "the YAML file is not edited", reason="the package ruamel.yaml is not installed", where=path, help="pip install ruamel.yaml"
            ) from None
        try:
            with warnings.catch_warnings():
                # An anchor that is defined twice is allowed, the later one counts.
                warnings.simplefilter("ignore")
                # "rt" keeps the marks of every node; nothing is constructed from them.
                self.documents: list[Node] = [d for d in YAML(typ="rt", pure=True).compose_all(text) if d is not None]
        except (YAMLError, ValueError, RecursionError, AttributeError) as e:
            mark = getattr(e, "problem_mark", None)
            why = "it is a template ({{ … }})" if "{{" in text else f"it does not parse: {getattr(e, 'problem', None) or e}"
            raise EditRefused(
                "the YAML file is not edited", reason=why, where=f"{path}:{mark.line + 1}" if mark is not None else path
            ) from None

    # Reading

    @staticmethod
    def start(node: Node) -> int:
        """The offset where a node begins."""
        return int(node.start_mark.index)

    def end(self, node: Node) -> int:
        """The offset behind the last character of a node, without the comments and blank lines that follow it."""
        if is_map(node) and not node.flow_style and node.value:
            return max(self.end(v) if not is_null(v) else self.colon_after(k) for k, v in node.value)
        if is_list(node) and not node.flow_style and node.value:
            return max(self.end(v) for v in node.value)
        stop = int(node.end_mark.index)
        if is_scalar(node) and node.style in {"|", ">"}:
            stop = self.start(node) + len(self.text[self.start(node) : stop].rstrip(" \t\r\n"))
        return stop

    def entries(self, node: Node) -> Iterator[tuple[str, Node, Node]]:
        """The entries of a map, those merged from an anchor (`<<: *common`) last: (key, key node, value node)."""
        if not is_map(node):
            return
        merged: list[Node] = []
        for key, value in node.value:
            if is_scalar(key) and key.value == "<<":
                merged += value.value if is_list(value) else [value]
            elif is_scalar(key):
                yield str(key.value), key, value
        for other in merged:
            yield from self.entries(other)

    def get(self, node: Node, *path: str) -> Node | None:
        """The value under a chain of keys, or None."""
        for key in path:
            node = next((v for k, _, v in self.entries(node) if k == key), None)
            if node is None:
                return None
        return node

    def walk(self, node: Node) -> Iterator[Node]:
        """A node and all below it, each once even where anchors repeat it."""
        seen: set[int] = set()
        stack = [node]
        while stack:
            n = stack.pop()
            if id(n) in seen:
                continue
            seen.add(id(n))
            yield n
            if is_map(n):
                stack += [x for pair in reversed(n.value) for x in reversed(pair)]
            elif is_list(n):
                stack += reversed(n.value)

    # Writing

    def column(self, offset: int) -> int:
        """The 0-based column of an offset."""
        return self.lines.position(offset)[1]

    def colon_after(self, key: Node) -> int:
        """Behind the colon of a key."""
        return self.text.index(":", int(key.end_mark.index)) + 1

    def change_value(self, key: Node, node: Node, value: str, *, as_string: bool = True) -> Replacement | None:
        """Change the value of a key, also one that is not there: `NAME:` with nothing behind it."""
        if is_null(node) and int(node.end_mark.index) == self.start(node):
            # The mark of an empty value stands at whatever follows, maybe lines below.
            at = self.colon_after(key)
            return Replacement(at, at, " " + scalar(value, as_string))
        return self.change_scalar(node, value, as_string=as_string)

    def change_scalar(self, node: Node, value: str, *, as_string: bool = True) -> Replacement | None:
        """Replace a scalar in the quotes that it has; None where it is that value already (as a string, where it must be one)."""
        if node.style in {"|", ">"}:
            raise EditRefused("the value is not changed", reason="it is a block of text", where=self.where(node))
        plain_number = as_string and node.style is None and not node.tag.endswith(":str")
        if str(node.value) == value and not plain_number:
            return None
        quoted = (
            f'"{_escaped(value)}"'
            if node.style == '"'
            else f"'{value}'"
            if node.style == "'" and "'" not in value
            else scalar(value, as_string)
        )
        return Replacement(self.start(node), int(node.end_mark.index), quoted)

    def add_entry(self, node: Node, lines: list[str]) -> Replacement:
        """Add an entry to a map that has one; `lines` are the entry's lines, relative to the map's column."""
        if node.flow_style:
            if len(lines) != 1:
                raise EditRefused("nothing is added", reason="the map is written in one line", where=self.where(node))
            return self._into_flow(node, lines[0])
        indent = " " * self.column(self.start(node.value[0][0]))
        return self._behind(self.end(node), [indent + line for line in lines])

    def add_item(self, node: Node, lines: list[str]) -> Replacement:
        """Add an item behind the last of a list; `lines` are relative to the column behind the dash."""
        if node.flow_style:
            if len(lines) != 1:
                lines = ["{" + ", ".join(lines) + "}"]
            return self._into_flow(node, lines[0])
        dash = " " * self.column(self.start(node))
        first = self.column(self.start(node.value[0])) - len(dash)
        out = [dash + "-" + " " * (first - 1) + lines[0]] + [dash + " " * first + line for line in lines[1:]]
        return self._behind(self.end(node), out)

    def fill_empty(self, key: Node, value: Node, lines: list[str]) -> Replacement:
        """Give a key without a value (or with an empty map or list) a block of lines below it, relative to the key's column."""
        indent = " " * self.column(self.start(key))
        block = [indent + line for line in lines]
        start = self.colon_after(key)
        if is_null(value) and int(value.end_mark.index) == self.start(value):
            return self._behind(start, block)
        # environment: {}   becomes a block.
        return Replacement(start, int(value.end_mark.index), self.lines.end + self.lines.end.join(block))

    def insert_before_key(self, key: Node, lines: list[str]) -> Replacement:
        """Insert lines at the column of a key, above the key and the comments that belong to it."""
        indent = " " * self.column(self.start(key))
        line = self.lines.line_of(self.start(key))
        while line > 0 and self.lines.content(line - 1).lstrip().startswith("#") and self.lines.content(line - 1).startswith(indent + "#"):
            line -= 1
        at = self.lines.starts[line]
        # Where a blank line stands above, sections are set apart by blank lines.
        apart = line > 0 and not self.lines.content(line - 1).strip()
        return Replacement(at, at, "".join(indent + x + self.lines.end for x in lines) + (self.lines.end if apart else ""))

    def remove_entry(self, container: Node, node_start: int, node_end: int) -> Replacement:
        """Delete the lines of one entry or item of a block, or the part of a flow with its comma."""
        if not container.flow_style:
            return self.lines.whole_lines(node_start, node_end)
        before = re.search(r",\s*$", self.text[:node_start])
        if before:
            return Replacement(before.start(), node_end, "")
        after = re.match(r"\s*,\s*", self.text[node_end:])
        return Replacement(node_start, node_end + (after.end() if after else 0), "")

    def where(self, node: Node) -> str:
        """`path:line` of a node."""
        return f"{self.path}:{node.start_mark.line + 1}"

    def _into_flow(self, node: Node, entry: str) -> Replacement:
        if not node.value:
            at = self.start(node) + 1
            return Replacement(at, at, entry)
        last = node.value[-1][1] if is_map(node) else node.value[-1]
        at = int(last.end_mark.index)
        return Replacement(at, at, f", {entry}")

    def _behind(self, offset: int, block: list[str]) -> Replacement:
        return self.lines.insert_line_after(max(offset - 1, 0), "\n".join(block))


def is_map(node: Node) -> bool:
    """Whether a node is a map."""
    return node is not None and node.id == "mapping"


def is_list(node: Node) -> bool:
    """Whether a node is a list."""
    return node is not None and node.id == "sequence"


def is_scalar(node: Node) -> bool:
    """Whether a node is a scalar."""
    return node is not None and node.id == "scalar"


def is_null(node: Node) -> bool:
    """Whether a node is an empty value or null."""
    return is_scalar(node) and node.tag.endswith(":null")


# What YAML 1.1 or 1.2 would not read as a string: 1, 0x1F, 1e3, yes, null, ~, 12:30.
_NOT_A_STRING = re.compile(
    r"(?:[-+]?[\d._]+(?:[eE][-+]?\d+)?|0[xob][\da-fA-F_]+|[-+]?\d[\d_]*(?::[0-5]?\d)+|~|null|true|false|yes|no|on|off|y|n|[-+]?\.(?:inf|nan)|)$",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[A-Za-z0-9_./^=+%-][A-Za-z0-9_./,^=+%@:-]*$")


def scalar(value: str, as_string: bool = True) -> str:
    """A value as a YAML scalar; with `as_string` a number or a boolean is put in quotes."""
    if (
        _PLAIN.match(value)
        and not value.endswith(":")
        and not value.startswith(("-", "%", "="))
        and not (as_string and _NOT_A_STRING.match(value))
    ):
        return value
    return f'"{_escaped(value)}"'


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
