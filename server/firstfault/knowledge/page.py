"""Parses one page of the encyclopedia: front matter, signatures, examples, sections. Knows no other page and no log.

The format stands in CONTRIBUTING. A page that breaks it raises PageError with the file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from ..errors import PageError
from ..model import Alternative, Check, Fix, MissingFact, Role, Setting
from .front_matter import FrontMatter, read_front_matter
from .signature import Example, Fence, Signature, read_signatures

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
_HEADINGS = frozenset(f"## {name}" for name in (*SECTIONS, MACHINE_SECTION))
ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")


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
    lines: Mapping[str, int] = field(default_factory=dict)
    """The line of each key and quoted id of the front matter, of each section by its heading, and of the quick answer as `## `."""

    @property
    def markdown(self) -> str:
        """The page for people: no front matter, no signatures, no placeholders."""
        body = "\n\n".join(f"## {name}\n\n{_WITH_FALLBACK.sub(lambda m: m[1], text)}" for name, text in self.sections.items())
        return f"# {self.title}\n\n`{self.id}` · {self.role.value}\n\n{fill(self.quick_answer, {})}\n\n{body}\n"


# In prose and commands only what names a fallback is a placeholder; other braces are code.
_WITH_FALLBACK = re.compile(r"\{\w+\|([^{}]*)\}")
PLACEHOLDER = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")
# A part of a sentence that is left out where a log does not say what it names: `[ on {host}]`.
OPTIONAL = re.compile(r"\[([^\[\]]*\{\w+(?:\|[^{}]*)?\}[^\[\]]*)\]")


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
    """`template` with `{name|fallback}` replaced by the value, or by the fallback where the input did not say.

    A part in brackets stays only where the value of each `{name}` in it is known. `{timeout}` shows a captured `timeout_ms` as time.
    """

    def kept(m: re.Match[str]) -> str:
        return m[1] if all(_said(p[1], values) for p in PLACEHOLDER.finditer(m[1]) if p[2] is None) else ""

    template = OPTIONAL.sub(kept, template)

    def one(m: re.Match[str]) -> str:
        name, fallback = m[1], m[2]
        text = _said(name, values) or fallback
        if text is None:
            text = {"rank": "One rank", "host": "its host", "pid": "PID"}.get(name, m[0])
        # `Rank 3` opens a sentence, `rank 3` stands inside one.
        inside = template[: m.start()].rstrip(' *`"(')
        return text[0].lower() + text[1:] if name == "rank" and inside and inside[-1] not in ".!?:\n" else text

    return PLACEHOLDER.sub(one, template)


def _said(name: str, values: Mapping[str, str]) -> str | None:
    """The value of a name, or that of its milliseconds as a person says it."""
    milliseconds = values.get(f"{name}_ms", "")
    if name in values or not milliseconds.isdecimal():
        return values.get(name)
    seconds = int(milliseconds) / 1000
    return f"{seconds / 60:g} min" if seconds >= 120 and seconds % 60 == 0 else f"{seconds:g} s"


@dataclass
class _Section:
    name: str
    line: int
    text: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def add(self, text: str, number: int) -> None:
        """Append a line of the file."""
        self.text.append(text)
        self.numbers.append(number)


@dataclass
class _Item:
    """A part of a section under a `###` heading: its prose, and the first fence of each language."""

    title: str
    line: int
    prose: list[str] = field(default_factory=list)
    code: dict[str, str] = field(default_factory=dict)


def parse_page(text: str, path: str) -> Page:
    """The page in `text`; `path` gives its id (file name) and layer (folder). Raises PageError."""
    pure = PurePath(path)
    page_id, layer = pure.stem, pure.parent.name
    if not ID.match(page_id):
        raise PageError(
            f"{page_id!r} is not an id", reason="ids are kebab-case names of an observed mechanism", where=f"{path}:1",
            help="rename the file, e.g. port-in-use.md",
        )  # fmt: skip
    rows = text.split("\n")
    head = read_front_matter(rows, path)
    meta = head.values
    sections, fences = _split(rows[head.height :], head.height + 1, path)
    sections[0].line = next((n for n, t in zip(sections[0].numbers, sections[0].text, strict=True) if t.strip()), head.height + 1)
    quick = " ".join(line.strip() for line in sections[0].text).strip()
    if not quick:
        raise PageError(
            "the quick answer is missing", reason="it is the first thing that a report says", where=f"{path}:{head.height + 1}",
            help="write one paragraph behind the front matter",
        )  # fmt: skip
    role = Role(meta["role"])
    by_name = {s.name: s for s in sections[1:]}
    settings = tuple(Setting(s["kind"], s["name"], s["value"], s.get("why", "")) for s in meta.get("settings", []))
    signatures, fires, silent = read_signatures(fences, path)
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
        fixes=_fixes(by_name.get("Fix"), settings, head, path),
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
        lines={**head.lines, **{f"## {s.name}": s.line for s in sections}},
    )


def _split(body: list[str], first: int, path: str) -> tuple[list[_Section], list[Fence]]:
    """Sections (the first one is the quick answer) and the machine's fences, which do not stay in any section."""
    sections = [_Section("", first)]
    fences: list[Fence] = []
    fence: Fence | None = None
    marker = ""
    for number, line in enumerate(body, first):
        stripped = line.strip()
        if fence is not None:
            if stripped == marker:
                if not fence.is_machine:
                    for at, inside in enumerate((f"{marker}{fence.info}", *fence.lines, marker), fence.line):
                        sections[-1].add(inside, at)
                else:
                    fences.append(fence)
                fence = None
            elif stripped.startswith(marker) or line in _HEADINGS:
                break
            else:
                fence.lines.append(line)
        elif stripped.startswith("```"):
            marker = stripped[: len(stripped) - len(stripped.lstrip("`"))]
            fence = Fence(stripped.lstrip("`").strip(), [], number)
        elif line.startswith("## "):
            sections.append(_Section(line[3:].strip(), number))
        else:
            sections[-1].add(line, number)
    if fence is not None:
        raise PageError(
            "a fence is not closed", reason="everything behind it would be part of it", where=f"{path}:{fence.line}",
            help=f"add a line {marker}",
        )  # fmt: skip
    _check_order(sections[1:], path)
    return sections, fences


def _check_order(sections: list[_Section], path: str) -> None:
    order = (*SECTIONS, MACHINE_SECTION)
    reached = -1
    for s in sections:
        if s.name not in order:
            raise PageError(
                f"unknown section {s.name!r}", reason="a page has the same sections as every other one", where=f"{path}:{s.line}",
                help="sections: " + " · ".join(SECTIONS),
            )  # fmt: skip
        if s.name != MACHINE_SECTION:
            if order.index(s.name) <= reached:
                raise PageError(
                    f"sections are out of order: {s.name!r}", reason=f"it stands behind {order[reached]!r}", where=f"{path}:{s.line}",
                    help="order: " + " · ".join(SECTIONS),
                )  # fmt: skip
            reached = order.index(s.name)


def _items(section: _Section | None) -> list[_Item]:
    """The `###` items of a section."""
    items: list[_Item] = []
    language: str | None = None
    lines: list[str] = []
    for line, number in zip(section.text, section.numbers, strict=True) if section else ():
        if language is not None:
            if line.strip().startswith("```"):
                if items:
                    items[-1].code.setdefault(language, "\n".join(lines))
                language, lines = None, []
            else:
                lines.append(line)
        elif line.startswith("### "):
            items.append(_Item(line[4:].strip(), number))
        elif line.strip().startswith("```"):
            language = line.strip().lstrip("`").split(" ")[0]
        elif items:
            items[-1].prose.append(line)
    return items


def _paragraph(lines: list[str]) -> str:
    text = "\n".join(lines).strip()
    return " ".join(text.split("\n\n")[0].split())


def _fixes(section: _Section | None, settings: tuple[Setting, ...], head: FrontMatter, path: str) -> tuple[Fix, ...]:
    """Ranked remedies. A setting belongs to the first remedy that names it; each setting is a remedy of its own."""
    fixes: list[Fix] = []
    given: set[str] = set()
    for item in _items(section):
        whole = " ".join([item.title, *item.prose, *item.code.values()])
        named = [s for s in settings if s.name in whole and s.name not in given]
        given.update(s.name for s in named)
        fixes.append(Fix(item.title, _paragraph(item.prose), item.code.get("bash"), named[0] if named else None))
        fixes += [Fix(f"Set {s.name}={s.value}", s.why, None, s) for s in named[1:]]
    if section and not fixes:
        raise PageError(
            "the Fix section has no items", reason="a report lists remedies one by one", where=f"{path}:{section.line}",
            help="write ### headings, best fix first",
        )  # fmt: skip
    for number, s in enumerate(settings, 1):
        if s.name not in given:
            raise PageError(
                f"no fix names the setting {s.name}", reason="a quick fix inserts it only where an item of the Fix section tells why",
                where=f"{path}:{head.lines.get(f'settings {number}', 1)}", help="name it in an item of the Fix section",
            )  # fmt: skip
    return tuple(fixes)


def _checks(section: _Section | None, path: str) -> tuple[Check, ...]:
    checks = []
    for item in _items(section):
        check = Check(item.title, item.code.get("bash", ""), item.code.get("text", _paragraph(item.prose)))
        if not check.command or not check.expect:
            raise PageError(
                f"{item.title!r} lacks a command or its expected output", reason="a verification is run and compared",
                where=f"{path}:{item.line}", help="one ```bash fence and one ```text fence an item",
            )  # fmt: skip
        checks.append(check)
    return tuple(checks)
