"""Edits environment variables in bash, sh and sbatch scripts. Knows how each launcher passes the environment on, not what a variable means."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firstfault.launch.edit import Lines, Replacement, SettingLike
from firstfault.launch.launchers import base_name, launch_strength
from firstfault.launch.shell_parse import parse_shell
from firstfault.launch.shell_script import Command, Script, Word, as_assign

# Settings of one family stand together: NCCL_DEBUG goes under NCCL_IB_HCA.
_FAMILY = re.compile(r"(?:NCCL|TORCH|PYTORCH|GLOO|CUDA|OMP|UCX|FI|HCCL|HSA|RCCL|MASTER|VLLM)_")
# Commands between an export and the launch that may set variables anew.
_RESETS = frozenset({"source", ".", "module", "ml", "eval", "conda", "unset", "mamba", "spack"})
# A value that needs no quotes in any POSIX shell.
_SAFE = re.compile(r"[A-Za-z0-9_./:,=+@%^-]*$")
# #SBATCH --nodes=2    #PBS -l select=2    #BSUB -n 4    #$ -cwd
_DIRECTIVE = re.compile(r"#(?:SBATCH|PBS|BSUB|COBALT|FLUX|OAR|\$|@|!)|# *flux:")


def quote(value: str) -> str:
    """A value as one shell word."""
    if _SAFE.match(value):
        return value
    return "'" + value.replace("'", "'\\''") + "'"


def env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set an environment variable for every launching command of a script."""
    script = parse_shell(text, path)
    lines = Lines(text)
    changes: list[Replacement] = []
    effective = False
    launches = launching(script)
    first_launch = launches[0].start if launches else len(text)
    for place in places(script, setting.name):
        new = changed_value(place.value, setting.value, place.quotable)
        if new is not None:
            changes.append(Replacement(place.value.start, place.value.end, new))
        if place.lone and not _exported(script, setting.name):
            changes.append(Replacement(place.start, place.start, "export "))
        if place.always and place.start < first_launch:
            effective = True
    if launches and all(_carries_itself(c, setting.name) for c in launches):
        effective = True
    if not effective:
        at = insertion_line(script, lines, launches, setting.name)
        changes.append(lines.insert_line_before(at, f"export {setting.name}={quote(setting.value)}") if at < len(text) else _append(lines, setting))
    return changes


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Delete `export NAME=VALUE` lines with exactly this value."""
    script = parse_shell(text, path)
    lines = Lines(text)
    changes: list[Replacement] = []
    for c in script.commands:
        if c.name == "export" and len(c.words) == 2 and not c.context and (a := as_assign(c.words[1])) and a.name == setting.name:
            alone = lines.text[lines.start_of_line(c.start) : lines.next_line(c.end - 1)].strip() == text[c.start : c.end]
            if alone and setting.value in {"", a.value.plain}:
                changes.append(lines.whole_lines(c.start, c.end))
    return changes


class Place:
    """One place in a script that gives a variable a value."""

    def __init__(self, start: int, value: Word, *, always: bool = False, lone: bool = False, quotable: bool = True, owner: Command | None = None) -> None:
        self.start = start
        self.value = value
        self.always = always
        self.lone = lone
        self.quotable = quotable
        self.owner = owner


def places(script: Script, name: str) -> Iterator[Place]:
    """Every assignment of a variable: bare, exported, in front of a command, in the words of a launcher."""
    for c in script.commands:
        always = not c.conditional and "function" not in c.context
        for a in c.assigns:
            if a.name == name and not a.append:
                yield Place(a.start, a.value, always=always and not c.words, lone=not c.words, owner=c)
        if c.name in {"export", "declare", "typeset", "readonly", "local"}:
            for w in c.words[1:]:
                if (a := as_assign(w)) and a.name == name:
                    yield Place(a.start, a.value, always=always, owner=c)
        elif c.words and (launch_strength([w.raw for w in c.words]) or c.name == "env"):
            yield from _in_words(c, name)


def launching(script: Script) -> list[Command]:
    """The commands that start training, in file order; only the surest kind that occurs."""
    rated = [(launch_strength([w.raw for w in c.words]), c) for c in script.commands if "substitution" not in c.context]
    best = max((s for s, _ in rated), default=0)
    return [c for s, c in rated if s == best and s > 0]


def changed_value(word: Word, value: str, quotable: bool = True) -> str | None:
    """The new spelling of a value, in the quotes that it has; None where it is already that value."""
    raw = word.raw
    # ${NCCL_DEBUG:-WARN} lets the caller decide: only the default changes.
    m = re.fullmatch(r"(\"?\$\{[A-Za-z_]\w*:?[-=])([^{}$`]*)(\}\"?)", raw)
    if m:
        return None if m.group(2) == value else m.group(1) + value + m.group(3)
    if word.plain == value:
        return None
    if len(raw) >= 2 and raw[0] == raw[-1] and raw[0] in "'\"" and not re.search(r"[\"'`$\\]", value):
        return raw[0] + value + raw[0]
    return quote(value) if quotable else value


def insertion_line(script: Script, lines: Lines, launches: list[Command], name: str) -> int:
    """The offset of the line before which an export belongs; the length of the text where nothing is launched."""
    if not launches:
        return len(script.text)
    target = launches[0].statement
    start = _own_line(script, lines, script.statements[target][0])
    beside = _behind_family(script, lines, target, name)
    if beside is not None and beside <= start:
        return beside
    return _above_comments(script, lines, start)


def _behind_family(script: Script, lines: Lines, target: int, name: str) -> int | None:
    """Behind the last export of the same family that nothing between it and the launch can undo."""
    for c in reversed([c for c in script.commands if c.statement < target]):
        if c.name in _RESETS and "function" not in c.context:
            return None
        if c.name == "export" and not c.context:
            names = [a.name for w in c.words[1:] if (a := as_assign(w))]
            if any(_FAMILY.match(n) for n in names) and _FAMILY.match(name):
                end = script.statements[c.statement][1]
                following = lines.next_line(end - 1)
                return following if _own_line(script, lines, following) == following else None
    return None


def _own_line(script: Script, lines: Lines, at: int) -> int:
    """The start of the line that holds `at`, moved up until no top-level statement spans that line start."""
    start = lines.start_of_line(at)
    for first, last in reversed(script.statements):
        if first < start < last:
            start = lines.start_of_line(first)
    return start


def _above_comments(script: Script, lines: Lines, start: int) -> int:
    """Above the comment block that belongs to the statement, but never above a shebang or a scheduler's directives."""
    line = lines.line_of(start)
    whole = {lines.line_of(s) for s, _ in script.comments if lines.text[lines.start_of_line(s) : s].strip() == ""}
    top = line
    while top - 1 in whole and not _DIRECTIVE.match(lines.content(top - 1).strip()):
        top -= 1
    if top == 0 or (top - 1 in whole):
        # The comments run up to the head of the file: they speak of the file or of the directives.
        top = line
    return lines.starts[top]


def _append(lines: Lines, setting: SettingLike) -> Replacement:
    return lines.insert_line_after(len(lines.text), f"export {setting.name}={quote(setting.value)}")


def _exported(script: Script, name: str) -> bool:
    """Whether a bare assignment of the variable reaches child processes by another line."""
    for c in script.commands:
        raws = [w.raw for w in c.words]
        if c.name == "export" and name in raws[1:]:
            return True
        if c.name == "export" and any(r.startswith(name + "=") for r in raws[1:]):
            return True
        if c.name in {"declare", "typeset"} and any("x" in r for r in raws if r.startswith("-")) and any(r.split("=")[0] == name for r in raws):
            return True
        if raws[:2] in (["set", "-a"], ["set", "-o"]) and (raws[1] == "-a" or "allexport" in raws):
            return True
    return False


def _carries_itself(c: Command, name: str) -> bool:
    return any(a.name == name for a in c.assigns) or any(True for _ in _in_words(c, name))


def _in_words(c: Command, name: str) -> Iterator[Place]:
    """NAME=value among the words of a launcher: env NAME=v, -x NAME=v, -e NAME=v, --env NAME=v, --export=ALL,NAME=v."""
    for i, w in enumerate(c.words[1:], 1):
        before = c.words[i - 1].raw
        if w.raw.startswith(name + "=") and (before in {"-x", "-e", "--env"} or _is_env_word(c, i)):
            at = len(name) + 1
            yield Place(w.start, Word(w.start + at, w.end, w.raw[at:]), owner=c)
        m = re.match(r"(--export=(?:.*,)?)" + re.escape(name) + r"=([^,]*)", w.raw)
        if m:
            yield Place(w.start, Word(w.start + m.start(2), w.start + m.end(2), m.group(2)), quotable=False, owner=c)


def _is_env_word(c: Command, i: int) -> bool:
    """Whether word i stands in the assignments of an env command."""
    while i > 0:
        i -= 1
        base = base_name(c.words[i].raw)
        if base == "env":
            return True
        if "=" not in base and not base.startswith("-"):
            return False
    return False

