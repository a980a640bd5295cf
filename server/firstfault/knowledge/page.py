"""Parses one page of the encyclopedia: front matter, signatures, examples, sections. Knows no other page and no log.

The format stands in CONTRIBUTING. A page that breaks it raises PageError with the file and line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ..errors import PageError
from ..model import Alternative, Check, Fix, MissingFact, Role, Setting
from .pattern import Pattern

SECTIONS = (
    "What you see",
    "Why it happens",
    "Confirm",
    "Fix",
    "Verify",
    "Prevent",
    "Watch for it",
    "From one GPU to a thousand",
    "Does not prove",
    "References",
)
MACHINE_SECTION = "Signatures"
STRENGTHS = ("direct", "probable", "symptom", "context")
KEYS = {
    "title", "role", "scope", "severity", "tags", "stacks", "explains", "related", "impact", "on_call",
    "settings", "missing", "alternatives", "was", "retired", "tells", "shown_by",
}  # fmt: skip
REQUIRED = ("title", "role", "scope", "severity", "impact", "on_call")
# What a line of this failure tells of its process: it waited for others, lost a peer, only ended, raised any exception, ended well,
# or disagrees with a peer, where either may be wrong.
TELLS = ("waited", "lost-peer", "exit", "exception", "normal-exit", "either")
# What shows this failure although no single line does: see the correlating functions.
SHOWN_BY = ("behind", "late", "absent", "left", "counts", "stacks", "split", "diverged", "slow", "stall")
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


@dataclass(frozen=True, slots=True)
class Signature:
    """How a failure shows in one line: one of the literal `needles` is in the raw line and `pattern` matches the cleaned one."""

    needles: tuple[str, ...]
    pattern: Pattern
    strength: str
    line: int


@dataclass(frozen=True, slots=True)
class Example:
    """Raw log lines that must fire (with the captures they must give) or must stay silent (named after the trap)."""

    lines: tuple[str, ...]
    captures: Mapping[str, str]
    trap: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Page:
    """Everything that is known about one failure."""

    id: str
    layer: str
    path: str
    title: str
    role: Role
    scope: str
    severity: str
    impact: str
    on_call: str
    quick_answer: str
    sections: Mapping[str, str]
    signatures: tuple[Signature, ...]
    fires: tuple[Example, ...]
    silent: tuple[Example, ...]
    fixes: tuple[Fix, ...]
    checks: tuple[Check, ...]
    tags: tuple[str, ...] = ()
    stacks: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = ()
    missing: tuple[MissingFact, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    was: tuple[str, ...] = ()
    retired: str = ""
    tells: str = ""
    shown_by: tuple[str, ...] = ()

    @property
    def markdown(self) -> str:
        """The page for people: no front matter, no signatures, no placeholders."""
        body = "\n\n".join(f"## {name}\n\n{_WITH_FALLBACK.sub(lambda m: m[1], text)}" for name, text in self.sections.items())
        return f"# {self.title}\n\n`{self.id}` · {self.role.value}\n\n{fill(self.quick_answer, {})}\n\n{body}\n"


# In prose and commands only what names a fallback is a placeholder; other braces are code.
_WITH_FALLBACK = re.compile(r"\{\w+\|([^{}]*)\}")
PLACEHOLDER = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")


def fill_command(template: str, values: Mapping[str, str]) -> str:
    """A command with its placeholders filled, values from a log quoted for the shell; braces without a fallback stay code."""

    from shlex import quote  # only where an incident is written, not at every start

    def one(m: re.Match[str]) -> str:
        value = values.get(m[0][1 : m[0].index("|")] if "|" in m[0] else m[0][1:-1])
        return quote(value) if value else m[1] or m[0]

    filled = _WITH_FALLBACK.sub(one, template)
    filled = filled.replace("{rank}", (values.get("rank") or "the rank").lower())
    for name in ("pid", "host"):
        filled = filled.replace("{" + name + "}", quote(values[name]) if values.get(name) else name.upper())
    return filled


def fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with `{name|fallback}` replaced by the value, or by the fallback where the input did not say."""

    def one(m: re.Match[str]) -> str:
        name, fallback = m[1], m[2]
        text = values.get(name) or fallback
        if text is None:
            text = {"rank": "One rank", "host": "its host", "pid": "PID"}.get(name, m[0])
        # `Rank 3` opens a sentence, `rank 3` stands inside one.
        inside = template[: m.start()].rstrip(' *`"(')
        return text[0].lower() + text[1:] if name == "rank" and inside and inside[-1] not in ".!?:\n" else text

    return PLACEHOLDER.sub(one, template)


@dataclass
class _Fence:
    info: str
    lines: list[str]
    line: int


@dataclass
class _Section:
    name: str
    line: int
    text: list[str] = field(default_factory=list)


def parse_page(text: str, path: str) -> Page:
    """The page in `text`; `path` gives its id (file name) and layer (folder). Raises PageError."""
    pure = PurePath(path)
    page_id, layer = pure.stem, pure.parent.name
    if not ID.match(page_id):
        raise PageError(f"{page_id!r} is not an id", reason="ids are kebab-case", where=path, help="rename the file, e.g. port-in-use.md")
    meta, body, first = _front_matter(text, path)
    sections, fences = _split(body, first, path)
    quick = " ".join(line.strip() for line in sections[0].text).strip()
    if not quick:
        raise PageError("the quick answer is missing", where=f"{path}:{first}", help="write one paragraph after the front matter")
    role = Role(meta["role"])
    by_name = {s.name: s for s in sections[1:]}
    settings = tuple(Setting(s["kind"], s["name"], s["value"], s.get("why", "")) for s in meta.get("settings", []))
    signatures, fires, silent = _machine(fences, path)
    return Page(
        id=page_id,
        layer=layer,
        path=path,
        title=meta["title"],
        role=role,
        scope=meta["scope"],
        severity=meta["severity"],
        impact=meta["impact"],
        on_call=meta["on_call"],
        quick_answer=quick,
        sections={n: "\n".join(by_name[n].text).strip("\n") for n in SECTIONS if n in by_name},
        signatures=signatures,
        fires=fires,
        silent=silent,
        fixes=_fixes(by_name.get("Fix"), settings, path),
        checks=_checks(by_name.get("Verify"), path),
        tags=tuple(meta.get("tags", [])),
        stacks=tuple(meta.get("stacks", [])),
        explains=tuple(meta.get("explains", [])),
        related=tuple(meta.get("related", [])),
        settings=settings,
        missing=tuple(MissingFact(m["fact"], m["command"], tuple(m.get("decides", []))) for m in meta.get("missing", [])),
        alternatives=tuple(Alternative(k, v) for k, v in meta.get("alternatives", {}).items()),
        was=tuple(meta.get("was", [])),
        retired=meta.get("retired", ""),
        tells=meta.get("tells", ""),
        shown_by=tuple(meta.get("shown_by", [])),
    )


def _front_matter(text: str, path: str) -> tuple[dict[str, Any], list[str], int]:
    lines = text.split("\n")
    if lines[0].strip() != "+++" or "+++" not in (line.strip() for line in lines[1:]):
        raise PageError("the front matter is missing", reason="a page begins with TOML between two +++ lines", where=f"{path}:1")
    end = next(i for i, line in enumerate(lines[1:], 1) if line.strip() == "+++")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        meta = tomllib.loads("\n".join(lines[1:end]))
    except tomllib.TOMLDecodeError as error:
        raise PageError("the front matter is not TOML", reason=str(error), where=f"{path}:1") from error
    for key in REQUIRED:
        if not meta.get(key):
            raise PageError(f"the front matter lacks {key!r}", where=f"{path}:1", help=f"add {key} = …")
    if unknown := sorted(set(meta) - KEYS):
        raise PageError(f"the front matter has an unknown key {unknown[0]!r}", where=f"{path}:1", help="known: " + ", ".join(sorted(KEYS)))
    for key, allowed in (("role", [r.value for r in Role]), ("scope", ["rank", "host", "job"]), ("severity", ["error", "warning"])):
        if meta[key] not in allowed:
            raise PageError(f"{key} is {meta[key]!r}", reason=f"{key} is one of {', '.join(allowed)}", where=f"{path}:1")
    for key, known in (("tells", TELLS), ("shown_by", SHOWN_BY)):
        given = meta.get(key, [])
        for value in [given] if isinstance(given, str) else given:
            if value not in known:
                raise PageError(f"{key} is {value!r}", reason=f"{key} is one of {', '.join(known)}", where=f"{path}:1")
    return meta, lines[end + 1 :], end + 2


def _split(body: list[str], first: int, path: str) -> tuple[list[_Section], list[_Fence]]:
    """Sections (the first one is the quick answer) and the machine's fences, which do not stay in any section."""
    sections = [_Section("", first)]
    fences: list[_Fence] = []
    fence: _Fence | None = None
    marker = ""
    for number, line in enumerate(body, first):
        stripped = line.strip()
        if fence is not None:
            if stripped == marker:
                if not _is_machine(fence.info):
                    sections[-1].text += [f"{marker}{fence.info}", *fence.lines, marker]
                else:
                    fences.append(fence)
                fence = None
            else:
                fence.lines.append(line)
        elif stripped.startswith("```"):
            marker = stripped[: len(stripped) - len(stripped.lstrip("`"))]
            fence = _Fence(stripped.lstrip("`").strip(), [], number)
        elif line.startswith("## "):
            sections.append(_Section(line[3:].strip(), number))
        else:
            sections[-1].text.append(line)
    if fence is not None:
        raise PageError("a fence is not closed", where=f"{path}:{fence.line}", help=f"add {marker}")
    names = [s.name for s in sections[1:] if s.name != MACHINE_SECTION]
    for s in sections[1:]:
        if s.name not in SECTIONS and s.name != MACHINE_SECTION:
            raise PageError(f"unknown section {s.name!r}", where=f"{path}:{s.line}", help="sections: " + " · ".join(SECTIONS))
    if names != [n for n in SECTIONS if n in names]:
        raise PageError("sections are out of order", where=f"{path}:{first}", help="order: " + " · ".join(SECTIONS))
    return sections, fences


def _is_machine(info: str) -> bool:
    return info.split(" ")[0] == "signature" or info.startswith(("log fires", "log silent"))


def _machine(fences: list[_Fence], path: str) -> tuple[tuple[Signature, ...], tuple[Example, ...], tuple[Example, ...]]:
    signatures, fires, silent = [], [], []
    for fence in fences:
        where = f"{path}:{fence.line}"
        if fence.info.startswith("signature"):
            strength = fence.info[len("signature") :].strip() or "direct"
            if strength not in STRENGTHS:
                raise PageError(f"unknown signature strength {strength!r}", where=where, help="one of " + ", ".join(STRENGTHS))
            needles = tuple(line[len("needle:") :].strip() for line in fence.lines if line.startswith("needle:"))
            patterns = [line for line in fence.lines if line.strip() and not line.startswith("needle:")]
            if not needles or len(patterns) != 1:
                raise PageError("a signature needs `needle: …` lines and one regex line", where=where)
            if any(len(n) < 3 for n in needles):
                raise PageError("a needle is shorter than three characters", where=where)
            signatures.append(Signature(needles, Pattern(patterns[0]), strength, fence.line))
        else:
            kind, _, rest = fence.info[len("log ") :].partition(" ")
            example = tuple(line for line in fence.lines)
            if kind.startswith("fires"):
                captures = dict(word.split("=", 1) for word in _words(rest))
                fires.append(Example(example, captures, None, fence.line))
            else:
                if not rest.strip():
                    raise PageError("a silent example is named after its trap", where=where, help="```log silent advice line")
                silent.append(Example(example, {}, rest.strip(), fence.line))
    return tuple(signatures), tuple(fires), tuple(silent)


def _words(text: str) -> list[str]:
    """The words of an info string, which may be quoted as in a shell."""
    if '"' not in text and "'" not in text and "\\" not in text and "#" not in text:
        return text.split()
    import shlex

    return shlex.split(text)


def _items(section: _Section | None, path: str) -> list[tuple[str, list[str], dict[str, str]]]:
    """The `###` items of a section: title, prose lines, and the first fence of each language."""
    items: list[tuple[str, list[str], dict[str, str]]] = []
    language: str | None = None
    lines: list[str] = []
    for line in section.text if section else []:
        if language is not None:
            if line.strip().startswith("```"):
                if items:
                    items[-1][2].setdefault(language, "\n".join(lines))
                language, lines = None, []
            else:
                lines.append(line)
        elif line.startswith("### "):
            items.append((line[4:].strip(), [], {}))
        elif line.strip().startswith("```"):
            language = line.strip().lstrip("`").split(" ")[0]
        elif items:
            items[-1][1].append(line)
    return items


def _paragraph(lines: list[str]) -> str:
    text = "\n".join(lines).strip()
    return " ".join(text.split("\n\n")[0].split())


def _fixes(section: _Section | None, settings: tuple[Setting, ...], path: str) -> tuple[Fix, ...]:
    """Ranked remedies. A setting belongs to the first remedy that names it; each setting is a remedy of its own."""
    fixes: list[Fix] = []
    given: set[str] = set()
    for title, prose, code in _items(section, path):
        whole = " ".join([title, *prose, *code.values()])
        named = [s for s in settings if s.name in whole and s.name not in given]
        given.update(s.name for s in named)
        fixes.append(Fix(title, _paragraph(prose), code.get("bash"), named[0] if named else None))
        fixes += [Fix(f"Set {s.name}={s.value}", s.why, None, s) for s in named[1:]]
    if section and not fixes:
        raise PageError("the Fix section has no items", where=f"{path}:{section.line}", help="write ### headings, best fix first")
    if left := [s.name for s in settings if s.name not in given]:
        raise PageError(f"no fix names the setting {left[0]}", where=f"{path}:{section.line if section else 1}")
    return tuple(fixes)


def _checks(section: _Section | None, path: str) -> tuple[Check, ...]:
    checks = [Check(title, code.get("bash", ""), code.get("text", _paragraph(prose))) for title, prose, code in _items(section, path)]
    for check in checks:
        if not check.command or not check.expect:
            raise PageError(
                f"{check.title!r} lacks a command or its expected output", where=f"{path}:{section.line if section else 1}",
                help="one ```bash fence and one ```text fence an item",
            )  # fmt: skip
    return tuple(checks)
