"""Sets flags and timeouts in the commands of shell scripts: in the launcher's arguments, in argument arrays and strings. Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from firstfault.launch.durations import parse_duration_s
from firstfault.launch.edit import EditRefused, Replacement, SettingLike, Wanted
from firstfault.launch.launchers import PYTHONS
from firstfault.launch.shell_edit import env_replacements, launching, quote, removal_replacements
from firstfault.launch.shell_parse import parse_shell
from firstfault.launch.shell_script import Command, Script, Word, as_assign, assignments_of

# Flags of the launcher itself stand behind it; all others belong to the training program and stand at the end.
_TORCHRUN = frozenset({
    "--rdzv-conf", "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id", "--max-restarts", "--monitor-interval", "--nnodes", "--nproc-per-node",
    "--log-dir", "--redirects", "--tee", "--local-ranks-filter", "--master-addr", "--master-port", "--start-method", "--signals-to-handle",
})  # fmt: skip
# What shows that a script parses Megatron-LM's or the Trainer's arguments.
_MEGATRON = re.compile(
    r"--(?:tensor-model-parallel-size|pipeline-model-parallel-size|micro-batch-size|global-batch-size|num-layers)\b|pretrain_\w+\.py"
)
# Scripts without the Trainer have --output_dir and batch sizes too: only flags of TrainingArguments itself count.
_TRAINER = re.compile(
    r"--(?:do_train|do_eval|save_strategy|save_total_limit|eval_strategy|evaluation_strategy|logging_strategy|overwrite_output_dir"
    r"|ddp_find_unused_parameters|ddp_timeout|remove_unused_columns|load_best_model_at_end|fsdp_transformer_layer_cls_to_wrap)\b"
)
MEGATRON_FLAG = "--distributed-timeout-minutes"
TRAINER_FLAG = "--ddp_timeout"
_NEEDS = {MEGATRON_FLAG: (_MEGATRON, "Megatron-LM"), TRAINER_FLAG: (_TRAINER, "the Hugging Face Trainer")}


def timeout_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Raise the collective timeout where the command line can: Megatron-LM's or the Trainer's flag, DeepSpeed's variable.

    Refuses, naming the Python file, where the timeout is set in code.
    """
    seconds = parse_duration_s(setting.value)
    if seconds is None:
        raise EditRefused("the timeout is not set", reason=f"{setting.value!r} is no duration", help="write seconds, 30m or 1h")
    script = parse_shell(text, path)
    minutes = str(-(-seconds // 60))
    launches = [c for _, c in launching(script)]
    arguments = " ".join(arguments_of(c, script) for c in launches)
    if MEGATRON_FLAG in arguments or takes_megatron(arguments):
        return flag_replacements(Wanted("flag", MEGATRON_FLAG, minutes), text, path)
    if TRAINER_FLAG in arguments or takes_trainer(arguments):
        return flag_replacements(Wanted("flag", TRAINER_FLAG, str(seconds)), text, path)
    if any(w.base == "deepspeed" for c in launches for w in c.words):
        return env_replacements(Wanted("env", "DEEPSPEED_TIMEOUT", minutes), text, path)
    program = next((w.plain for c in launches for w in c.words if w.plain.endswith(".py")), None)
    raise EditRefused(
        "no timeout is set",
        reason="nothing on the command line takes it: the timeout is set in the Python code",
        where=path,
        help=f"open {program or 'the Python file that is started'} and raise it there",
    )


def timeouts_in(text: str, path: str) -> Iterator[tuple[int, int, int]]:
    """The collective timeouts that commands set, as (start, end, seconds). Raises EditRefused."""
    script = parse_shell(text, path)
    for flag, unit_s in ((MEGATRON_FLAG, 60), (TRAINER_FLAG, 1)):
        for word in _occurrences(script, flag):
            if word.plain.isdecimal():
                yield word.start, word.end, int(word.plain) * unit_s
    for assigned in (a for c in script.commands for a in assignments_of(c)):
        if assigned.name == "DEEPSPEED_TIMEOUT" and assigned.value.plain.isdecimal():
            yield assigned.value.start, assigned.value.end, int(assigned.value.plain) * 60


def timeout_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take out what `timeout_replacements` puts in for this duration."""
    seconds = parse_duration_s(setting.value)
    minutes = "" if seconds is None else str(-(-seconds // 60))
    flags = [(MEGATRON_FLAG, minutes), (TRAINER_FLAG, "" if seconds is None else str(seconds))]
    changes = [r for name, value in flags for r in flag_removals(Wanted("flag", name, value), text, path)]
    return changes + removal_replacements(Wanted("env", "DEEPSPEED_TIMEOUT", minutes), text, path)


def flag_replacements(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Set a flag of the launcher or of the training program; a number that is there and larger stays for timeouts."""
    script = parse_shell(text, path)
    name = "--" + setting.name.lstrip("-").split("=")[0]
    value = _rendezvous_value(script, setting.value) if same_flag(name, "--rdzv-conf") else setting.value
    found = list(_occurrences(script, name))
    if found:
        return [r for w in found if (r := _changed(w, name, value)) is not None]
    launches = [c for _, c in launching(script)]
    needs = _NEEDS.get(name)
    if needs:
        # A flag that a program does not know stops it: only commands that show the right arguments get it.
        launches = [c for c in launches if needs[0].search(arguments_of(c, script))]
        if not launches:
            raise EditRefused(f"{name} is not set", reason=f"nothing shows that the script takes the arguments of {needs[1]}", where=path)
    own = [r for c in launches if (r := _inserted(c, name, value, text)) is not None]
    if not own:
        raise EditRefused(f"{name} is not set", reason="no command in this script takes it", where=path)
    return own


def flag_removals(setting: SettingLike, text: str, path: str) -> list[Replacement]:
    """Take a flag with exactly this value (any where it is empty) out of the commands, with the blanks before it."""
    script = parse_shell(text, path)
    name = "--" + setting.name.lstrip("-").split("=")[0]
    wanted = _rendezvous_value(script, setting.value) if same_flag(name, "--rdzv-conf") and setting.value else setting.value
    changes: list[Replacement] = []
    for words in _word_lists(script):
        for i, w in enumerate(words):
            flag, _, joined = w.raw.partition("=")
            if not same_flag(flag, name) or i == 0:
                continue
            last = w if joined else words[i + 1] if i + 1 < len(words) else w
            value = joined or last.plain
            if wanted in {"", value}:
                changes.append(Replacement(words[i - 1].end, last.end, ""))
        for w in words[1:]:
            if w.raw[:1] in {'"', "'"} and (m := re.search(rf" {re.escape(name)} {re.escape(wanted) or '[^ ]+'}(?=[ '\"])", w.raw)):
                changes.append(Replacement(w.start + m.start(), w.start + m.end(), ""))
    return changes


def same_flag(flag: str, name: str) -> bool:
    """Whether two spellings are one flag: dashes and underscores are alike."""
    return flag.startswith("--") and flag[2:].replace("_", "-") == name[2:].replace("_", "-")


def takes_megatron(arguments: str) -> bool:
    """Whether arguments show a program that parses Megatron-LM's arguments."""
    return bool(_MEGATRON.search(arguments))


def takes_trainer(arguments: str) -> bool:
    """Whether arguments show a program that parses the Hugging Face Trainer's arguments."""
    return bool(_TRAINER.search(arguments))


def _rendezvous_value(script: Script, value: str) -> str:
    """A bare duration as the key that the rendezvous backend reads."""
    seconds = parse_duration_s(value)
    if seconds is None:
        return value
    backend = next((w.plain for w in _occurrences(script, "--rdzv-backend")), "static")
    return f"{'timeout' if backend == 'static' else 'join_timeout'}={seconds}"


def _word_lists(script: Script) -> Iterator[tuple[Word, ...]]:
    for c in script.commands:
        if not c.in_substitution:
            yield c.words
    for a in script.arrays:
        yield a.words


def _occurrences(script: Script, name: str) -> Iterator[Word]:
    """The values of a flag: in commands, in arrays, and inside strings that are assigned to a variable."""
    for words in _word_lists(script):
        for i, w in enumerate(words):
            flag, sign, joined = w.raw.partition("=")
            if same_flag(flag, name) and sign:
                yield Word(w.start + len(flag) + 1, w.end, joined)
            elif same_flag(w.raw, name) and i + 1 < len(words):
                yield words[i + 1]
    spelled = "--" + "[-_]".join(re.escape(part) for part in re.split("[-_]", name[2:]))
    pattern = re.compile(r"(?<![\w-])" + spelled + r"(?:=|\s+(?:\\\s+)?)([^\s'\"\\]+)")
    for c in script.commands:
        quoted = [a.value for a in assignments_of(c)] + [w for w in c.words[1:] if as_assign(w) is None]
        for w in quoted:
            if w.raw[:1] in {'"', "'"} and re.search(r"\s", w.raw):
                for m in pattern.finditer(w.raw):
                    yield Word(w.start + m.start(1), w.start + m.end(1), m.group(1))


def _changed(value: Word, name: str, wanted: str) -> Replacement | None:
    inner = value.plain
    if same_flag(name, "--rdzv-conf"):
        wanted = _merged(inner, wanted)
    if inner == wanted:
        return None
    if inner.startswith("$"):
        raise EditRefused(f"{name} is not changed", reason=f"its value is the variable {inner}", help=f"set that variable to {wanted}")
    if _is_timeout(name) and inner.isdigit() and wanted.isdigit() and int(inner) >= int(wanted):
        return None
    offset = 1 if value.raw != inner else 0
    return Replacement(value.start + offset, value.start + offset + len(inner), wanted)


def _is_timeout(name: str) -> bool:
    return "timeout" in name


def _merged(current: str, wanted: str) -> str:
    """The pairs of --rdzv-conf with the wanted ones put in; a longer timeout stays."""
    pairs = dict(p.split("=", 1) for p in current.split(",") if "=" in p)
    for pair in wanted.split(","):
        key, _, new = pair.partition("=")
        old = pairs.get(key, "")
        if not ("timeout" in key and old.isdigit() and new.isdigit() and int(old) >= int(new)):
            pairs[key] = new
    return ",".join(f"{k}={v}" for k, v in pairs.items())


def _inserted(c: Command, name: str, value: str, text: str) -> Replacement | None:
    if any(same_flag(name, known) for known in _TORCHRUN):
        return _behind_launcher(c, name, value)
    if len(c.words) < 2 or c.name in {"sbatch", "bash", "sh"}:
        return None
    last = c.words[-1]
    handed_over = c.words[-2].raw in {"-c", "-lc"} and c.words[-3].base in {"bash", "sh"} if len(c.words) > 2 else False
    if handed_over and last.raw[0] not in "'\"":
        return None
    if last.raw[0] in "'\"" and (handed_over or re.search(r"\s", last.plain)) and not last.plain.startswith("-"):
        # The program stands inside a quoted command: the flag goes to its end.
        at = last.end - 1
        while text[at - 1] in " \t\n":
            at -= 1
        return Replacement(at, at, f" {name} {quote(value)}")
    # The layout of the last flag: on the same line, or on a line of its own.
    at_flag = next((i for i in range(len(c.words) - 1, 0, -1) if c.words[i].raw.startswith("-")), len(c.words) - 1)
    gap = text[c.words[at_flag - 1].end : c.words[at_flag].start]
    return Replacement(last.end, last.end, f"{gap}{name} {quote(value)}")


def _behind_launcher(c: Command, name: str, value: str) -> Replacement | None:
    spelled = "--" + name[2:].replace("_", "-")
    for i, w in enumerate(c.words):
        torchrun = w.base in {"torchrun", "torch.distributed.run", "torch.distributed.launch"}
        if torchrun and (w.base == "torchrun" or (c.words[i - 1].raw == "-m" and PYTHONS.match(c.words[i - 2].base))):
            return Replacement(w.end, w.end, f" {spelled} {quote(value)}")
        if w.base == "accelerate" and i + 1 < len(c.words) and c.words[i + 1].raw == "launch":
            at = c.words[i + 1].end
            return Replacement(at, at, f" --{name[2:].replace('-', '_')} {quote(value)}")
    return None


_REFERENCE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def arguments_of(c: Command, script: Script, depth: int = 3) -> str:
    """The words of a command with what the variables and arrays in them stand for, as far as the script says."""
    return _expanded(" ".join(w.raw for w in c.words), script, depth)


def _expanded(words: str, script: Script, depth: int) -> str:
    if depth == 0:
        return words
    out = [words]
    for name in dict.fromkeys(_REFERENCE.findall(words)):
        values = [" ".join(w.raw for w in a.words) for a in script.arrays if a.name == name]
        for c in script.commands:
            values += [a.value.raw for a in assignments_of(c) if a.name == name]
        out += [_expanded(v, script, depth - 1) for v in values]
    return " ".join(out)
