"""Edits environment variables in bash, sh and batch scripts: change what is there, else export it before the launch. Knows no variable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch.edit import EditRefused, Lines, Replacement, SettingLike
from firstfault.launch.launchers import launch_strength, mentions_launcher
from firstfault.launch.shell_gates import carried, carry, last_gate, value_words
from firstfault.launch.shell_parse import parse_shell
from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import Command, Script, ShellSyntaxError, Word, as_assign

# Settings of one family stand together: NCCL_DEBUG goes under NCCL_IB_HCA.
_FAMILY = re.compile(r"(?:NCCL|TORCH|PYTORCH|GLOO|CUDA|OMP|UCX|FI|HCCL|HSA|HIP|RCCL|MASTER|VLLM|ACCELERATE|DEEPSPEED)_")
# Commands between an export and the launch that may set variables anew.
_RESETS = frozenset({"source", ".", "module", "ml", "eval", "conda", "unset", "mamba", "spack"})
_DECLARES = frozenset({"export", "declare", "typeset", "readonly", "local"})
_READERS = frozenset({"bash", "sh", "zsh", "sbatch", "qsub", "ssh", "srun", "docker", "kubectl"})
# A value that needs no quotes in any POSIX shell.
_SAFE = re.compile(r"[A-Za-z0-9_./:,=+@%^-]+$")
# #SBATCH --nodes=2    #PBS -l select=2    #BSUB -n 4    #$ -cwd
_DIRECTIVE = re.compile(r"#(?:SBATCH|PBS|BSUB|COBALT|FLUX|OAR|PJM|\$|@|!)|# *flux:")
_SBATCH_EXPORT = re.compile(r"#SBATCH\s+--export=(\S+)")


@dataclass(frozen=True, slots=True)
class Place:
    """One place that gives a variable a value; `command` is the command that it belongs to.

    `bare` is an assignment without export; `quotable` says that the value may be put in quotes; `nested` that it stands in a quoted
    command or a here-document.
    """

    start: int
    value: Word
    command: Command
    bare: bool = False
    quotable: bool = True
    nested: bool = False


def quote(value: str) -> str:
    """A value as one shell word."""
    return value if _SAFE.match(value) else "'" + value.replace("'", "'\\''") + "'"


def env_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set an environment variable for every launching command of a script; refuses where nothing is launched."""
    script = parse_shell(text, path)
    found = list(places(script, setting.name))
    changes = [r for p in found if (r := _change(p, setting.value)) is not None]
    launches = launching(script)
    if not _exported(script, setting.name, [c for _, c in launches]):
        changes += [Replacement(p.start, p.start, "export ") for p in found if p.bare and not p.nested]
    if not any(s == 2 for s, _ in launches) and (inner := _launching_heredoc(script)):
        start, end = inner
        # The script writes or submits another script: that one is edited.
        inside = env_replacements(setting, text[start:end], path)
        return [*changes, *(Replacement(r.start + start, r.end + start, r.new) for r in inside)]
    header = _sbatch_header(script, setting)
    changes += header.changes
    if not launches:
        if found or header.sets:
            return changes
        return [_into_environment_file(script, setting, path)]
    uncovered = []
    for _, c in launches:
        gate = last_gate(c, header.export_none)
        if carried(c, gate, setting.name) or _nested_in(c, found):
            continue
        if gate is not None:
            changes.append(carry(c, gate, setting.name, quote(setting.value), text, path))
        elif not header.sets and not any(_reaches(p, c, script) for p in found):
            uncovered.append(c)
    if uncovered:
        lines = Lines(text)
        at = insertion_line(script, lines, uncovered[0], setting.name)
        changes.append(lines.insert_line_before(at, f"{lines.indent_at(at)}export {setting.name}={quote(setting.value)}"))
    return changes


def places(script: Script, name: str, *, base: int = 0, depth: int = 0) -> Iterator[Place]:
    """Every assignment of a variable: bare, exported, before a command, in a launcher's words, in quoted commands and here-documents."""
    nested = depth > 0

    def at(word: Word) -> Word:
        return Word(word.start + base, word.end + base, word.raw)

    for c in script.commands:
        if c.in_substitution:
            continue
        for a in c.assigns:
            if a.name == name and not a.append:
                yield Place(a.start + base, at(a.value), c, bare=not c.words, nested=nested)
        if c.name in _DECLARES:
            for w in c.words[1:]:
                if (a2 := as_assign(w)) and a2.name == name:
                    yield Place(a2.start + base, at(a2.value), c, bare=c.name != "export" and not _declares_export(c), nested=nested)
            continue
        for _, value in value_words(c, name):
            yield Place(value.start + base, at(value), c, quotable=not value.raw == "" and value.raw[0] in "'\"", nested=nested)
        for w in c.words if depth < 2 else ():
            if w.raw[:1] in "'\"" and len(w.raw) > 2 and name + "=" in w.raw and re.search(r"\s", w.raw):
                yield from _inside(w.raw[1:-1], name, base + w.start + 1, depth, escaped=w.raw[0] == '"', owner=c)
    for h in script.heredocs if depth < 2 else ():
        # Text for a README is no script: what a shell reads, or what launches, is.
        if h.reader not in _READERS and not mentions_launcher(script.text[h.start : h.end]):
            continue
        yield from _inside(script.text[h.start : h.end], name, base + h.start, depth, escaped=not h.quoted, owner=None)


def _inside(body: str, name: str, base: int, depth: int, *, escaped: bool, owner: Command | None) -> Iterator[Place]:
    # Inside double quotes \" stands for ": a blank of equal length keeps the offsets.
    text = re.sub(r"\\([\"$`\\])", r" \1", body) if escaped else body
    try:
        script = scan_script(text)
    except ShellSyntaxError:
        return
    for p in places(script, name, base=base, depth=depth + 1):
        yield Place(p.start, p.value, owner or p.command, bare=p.bare, quotable=False, nested=True)


def launching(script: Script) -> list[tuple[int, Command]]:
    """The commands that start training, each with its strength, in file order; only the surest kind that occurs."""
    rated = [(launch_strength([w.raw for w in c.words]), c) for c in script.commands if not c.in_substitution]
    best = max((s for s, _ in rated), default=0)
    return [(s, c) for s, c in rated if s == best and s > 0]


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
    if not quotable and not _SAFE.match(value):
        raise EditRefused("the value is not changed", reason=f"{value!r} needs quotes, and the place where it stands has none")
    return quote(value)


def insertion_line(script: Script, lines: Lines, launch: Command, name: str) -> int:
    """The offset of the line before which an export for a launching command belongs."""
    start = _own_line(script, lines, script.statements[launch.statement][0])
    beside = _behind_family(script, lines, launch.statement, name)
    if beside is not None and beside <= start:
        return beside
    return _above_comments(script, lines, start)


def removal_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take out `export NAME=VALUE` lines and NAME=VALUE in commands, with exactly this value (any value where it is empty)."""
    script = parse_shell(text, path)
    lines = Lines(text)
    changes: list[Replacement] = []
    for p in places(script, setting.name):
        if setting.value not in {"", p.value.plain}:
            continue
        c = p.command
        # A line of its own: export NCCL_DEBUG=INFO
        whole = lines.text[lines.start_of_line(p.start) : lines.next_line(p.value.end - 1)].strip()
        if re.fullmatch(r"export\s+" + re.escape(setting.name) + r"=\S*|export\s+" + re.escape(setting.name) + r"='[^']*'", whole):
            if p.nested or len(c.context) == 0 or _has_company(script, c):
                changes.append(lines.whole_lines(p.start, p.value.end))
            continue
        changes += _word_removal(text, p, setting.name)
    return changes


def _word_removal(text: str, p: Place, name: str) -> list[Replacement]:
    start = text.rindex(name, 0, p.value.start)
    before, end = text[:start], p.value.end
    # env NCCL_DEBUG=INFO torchrun    -x NCCL_DEBUG=INFO    --export=A,NCCL_DEBUG=INFO    export NCCL_DEBUG=INFO; cd x
    for pattern in (r"export $", r"(?<![-\w])env $"):
        if m := re.search(pattern, before):
            tail = re.match(r"; ?| ", text[end:])
            if tail and not re.match(r"\s*[A-Za-z_]\w*=", text[end:]):
                return [Replacement(m.start(), end + tail.end(), "")]
    if m := re.search(r"\"" + re.escape(name) + r"\": \"[^\"]*\"(?:,\s*)?", text[start - 1 : end + 3]):
        # The environment of a Ray job: "NCCL_DEBUG": "INFO"
        return [Replacement(start - 1, start - 1 + m.end(), "")]
    if m := re.search(r"(?:\s|\\\r?\n)+(?:-x|-e|--env|-genv) $", before):
        return [Replacement(m.start(), end, "")]
    if before.endswith(","):
        return [Replacement(start - 1, end, "")]
    if m := re.match(r"[ \t]+", text[end:]):
        return [Replacement(start, end + m.end(), "")]
    return []


def _has_company(script: Script, c: Command) -> bool:
    return any(o is not c and o.context == c.context for o in script.commands)


def _change(p: Place, value: str) -> Replacement | None:
    new = changed_value(p.value, value, p.quotable)
    return None if new is None else Replacement(p.value.start, p.value.end, new)


def _declares_export(c: Command) -> bool:
    return c.name in {"declare", "typeset"} and any(w.raw.startswith("-") and "x" in w.raw for w in c.words[1:])


def _nested_in(c: Command, found: list[Place]) -> bool:
    return any(p.nested and p.command is c for p in found)


def _reaches(p: Place, c: Command, script: Script) -> bool:
    """Whether an assignment holds when a command runs: it ran before in the same block, or in a function that is called."""
    if p.nested or (p.command.words and p.command.name not in _DECLARES):
        return False
    return _ran_before(p.command, c, script)


def _ran_before(first: Command, c: Command, script: Script) -> bool:
    sites = _call_sites(script, c)
    if any(first.runs_before(s) for s in sites):
        return True
    whole_body = first.context == (f"function@{first.function}",)
    return whole_body and any(o.name == first.function and o.runs_before(s) for o in script.commands for s in sites)


def _call_sites(script: Script, c: Command, depth: int = 3) -> list[Command]:
    """The commands by which a command comes to run: itself, or the calls of the function that holds it."""
    if c.function is None or depth == 0:
        return [c]
    calls = [o for o in script.commands if o.name == c.function]
    return [c, *(s for o in calls for s in _call_sites(script, o, depth - 1))]


def _behind_family(script: Script, lines: Lines, target: int, name: str) -> int | None:
    """Behind the last export of the same family that nothing between it and the launch can undo."""
    for c in reversed([c for c in script.commands if c.statement < target]):
        if c.name in _RESETS and c.function is None:
            return None
        if c.name == "export" and not c.context and _FAMILY.match(name):
            if any((a := as_assign(w)) and _FAMILY.match(a.name) for w in c.words[1:]):
                following = lines.next_line(script.statements[c.statement][1] - 1)
                return following if _own_line(script, lines, following) == following else None
    return None


def _own_line(script: Script, lines: Lines, at: int) -> int:
    """The start of the line that holds `at`, moved up until no top-level statement spans that line start."""
    start = lines.start_of_line(at)
    for first, last in reversed(script.statements):
        if first < start < last:
            start = lines.start_of_line(first)
    for h in script.heredocs:
        if h.start <= start < h.end:
            start = lines.start_of_line(max(h.start - 1, 0))
    return start


def _above_comments(script: Script, lines: Lines, start: int) -> int:
    """Above the comment block that belongs to the statement, but never above a shebang or a scheduler's directives."""
    line = lines.line_of(start)
    whole = {lines.line_of(s) for s, _ in script.comments if lines.text[lines.start_of_line(s) : s].strip() == ""}
    top = line
    while top - 1 in whole and not _DIRECTIVE.match(lines.content(top - 1).strip()):
        if top > 1 and lines.content(top - 2).rstrip().endswith("\\"):
            # A comment behind a line continuation ends the statement before.
            break
        top -= 1
    if top == 0 or top - 1 in whole:
        # The comments run up to the head of the file: they speak of the file or of the directives.
        top = line
    return lines.starts[top]


@dataclass(frozen=True, slots=True)
class _Header:
    changes: list[Replacement]
    sets: bool = False
    export_none: bool = False


def _sbatch_header(script: Script, setting: SettingLike) -> _Header:
    """What `#SBATCH --export=…` does: it may set the variable itself, and without ALL it makes srun start with an empty environment."""
    resets = any("SLURM_EXPORT_ENV" in w.raw for c in script.commands if c.name in {"export", "unset"} for w in c.words[1:])
    for start, end in script.comments:
        if m := _SBATCH_EXPORT.match(script.text[start:end]):
            parts = m.group(1).split(",")
            if v := re.search(r"(?:^|,)" + re.escape(setting.name) + r"=([^,]*)", m.group(1)):
                at = start + m.start(1)
                changed = v.group(1) != setting.value
                return _Header([Replacement(at + v.start(1), at + v.end(1), setting.value)] if changed else [], sets=True)
            return _Header([], export_none="ALL" not in parts and not resets)
    return _Header([])


def _exported(script: Script, name: str, launches: list[Command]) -> bool:
    """Whether a bare assignment of the variable reaches every launch by another command that has run by then."""
    exporting = [c for c in script.commands if _exports(c, name)]
    return all(any(_ran_before(e, launch, script) for e in exporting) for launch in launches) if launches else bool(exporting)


def _exports(c: Command, name: str) -> bool:
    raws = [w.raw for w in c.words]
    if c.name == "export" or _declares_export(c):
        return any(r.split("=")[0] == name for r in raws[1:])
    return raws[:2] == ["set", "-a"] or raws[:3] == ["set", "-o", "allexport"]


def _launching_heredoc(script: Script) -> tuple[int, int] | None:
    """The first here-document that is itself a script which launches."""
    for h in script.heredocs:
        try:
            inner = scan_script(script.text[h.start : h.end])
        except ShellSyntaxError:
            continue
        if any(s == 2 for s, _ in launching(inner)):
            return h.start, h.end
    return None


def _into_environment_file(script: Script, setting: SettingLike, path: str) -> Replacement:
    """A script that only exports (env.sh) takes one more export behind its last one."""
    lines = Lines(script.text)
    exports = [c for c in script.commands if c.name == "export" and not c.context]
    if not exports:
        raise EditRefused(
            f"{setting.name} is not set", reason="nothing in this script starts training", where=path, help="open the script that does"
        )
    family = [c for c in exports if any((a := as_assign(w)) and _FAMILY.match(a.name) for w in c.words[1:])] or exports
    end = script.statements[family[-1].statement][1]
    return lines.insert_line_after(end - 1, f"{lines.indent_at(end - 1)}export {setting.name}={quote(setting.value)}")
