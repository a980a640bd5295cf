"""Sets variables in files of NAME=VALUE lines: .env and DeepSpeed's .deepspeed_env. Does not know who reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch.edit import EditRefused, Lines, Replacement, SettingLike

# export NCCL_DEBUG = "INFO"  # comment
_PAIR = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.]*)[ \t]*=[ \t]*"
    r"(?P<value>\"(?:\\.|[^\"\\])*\"|'[^']*'|[^\r\n]*?)(?P<tail>[ \t]*(?:(?<=\s)#[^\r\n]*)?)$",
    re.MULTILINE,
)
_FAMILY = re.compile(r"(?:NCCL|TORCH|PYTORCH|GLOO|CUDA|OMP|UCX|FI|HCCL|HSA|HIP|RCCL|MASTER|VLLM)_")


@dataclass(frozen=True, slots=True)
class Pair:
    """One NAME=VALUE: the offsets of the pair and of its value, and the value as written."""

    name: str
    start: int
    end: int
    value_start: int
    raw: str

    @property
    def plain(self) -> str:
        """The value without the quotes around it."""
        return self.raw[1:-1] if len(self.raw) >= 2 and self.raw[0] == self.raw[-1] and self.raw[0] in "'\"" else self.raw


def env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable in a .env file: change its value, else add a line behind the last one of its family or at the end."""
    return _changed_or_added(setting, text, pairs(text, path), quoted=True)


def deepspeed_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a variable in .deepspeed_env, which DeepSpeed's launcher reads on the first host and exports on all.

    The launcher splits every line at its first `=`: it takes no quotes away, and a blank line or a comment makes it fail.
    """
    strictly = list(_pairs(text, path, strict=True))
    if re.search(r"\s", setting.value):
        raise EditRefused(f"{setting.name} is not set", reason="DeepSpeed hands values with blanks on without quotes", where=path)
    return _changed_or_added(setting, text, strictly, quoted=False)


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Delete the lines that give the variable exactly this value (any where it is empty)."""
    lines = Lines(text)
    return [
        lines.whole_lines(p.start, p.end)
        for p in _pairs(text, path, strict=False)
        if p.name == setting.name and setting.value in {"", p.plain}
    ]


def pairs(text: str, path: str) -> list[Pair]:
    """All NAME=VALUE pairs of a file."""
    return list(_pairs(text, path, strict=False))


def _pairs(text: str, path: str, *, strict: bool) -> Iterator[Pair]:
    lines = Lines(text)
    at = 0
    body = text.replace("\r\n", " \n")
    while at < len(text):
        end = lines.next_line(at)
        content = text[at:end].strip()
        number = lines.line_of(at) + 1
        if strict and "=" not in content:
            raise EditRefused(
                "the file is not edited",
                reason="DeepSpeed's launcher fails at a line without =",
                where=f"{path}:{number}",
                help="delete blank lines and comments",
            )
        if content and not (content.startswith("#") and not strict):
            m = _PAIR.match(body, at)
            if m is None:
                raise EditRefused("the file is not edited", reason="a line is no NAME=VALUE", where=f"{path}:{number}")
            start, stop = m.span("value")
            yield Pair(m["name"], at, stop, start, text[start:stop].rstrip())
            end = max(end, lines.next_line(max(stop - 1, at)))
        at = end


def _changed_or_added(setting: SettingLike, text: str, found: list[Pair], *, quoted: bool) -> list[Replacement]:
    mine = [p for p in found if p.name == setting.name]
    changes = []
    for p in mine:
        if p.plain != setting.value:
            mark = p.raw[0] if p.raw[:1] in {'"', "'"} and p.raw[:1] not in setting.value else ""
            new = f"{mark}{setting.value}{mark}" if mark else _quoted(setting.value) if quoted else setting.value
            changes.append(Replacement(p.value_start, p.value_start + len(p.raw), new))
    if mine:
        return changes
    lines = Lines(text)
    family = [p for p in found if _FAMILY.match(p.name) and _FAMILY.match(setting.name)]
    exports = bool(found) and all(re.match(r"[ \t]*export[ \t]", text[p.start : p.end]) for p in found)
    line = f"{'export ' if exports else ''}{setting.name}={_quoted(setting.value) if quoted else setting.value}"
    if family:
        return [lines.insert_line_after(max(family[-1].end - 1, 0), line)]
    return [lines.insert_line_after(len(text), line)]


def _quoted(value: str) -> str:
    return (
        value if re.match(r"[^\s#'\"$`\\]*$", value) else "'" + value + "'" if "'" not in value else '"' + value.replace('"', '\\"') + '"'
    )
