"""Where a launching command stops the environment, and how a variable gets past: docker -e, mpirun -x, srun --export, ssh."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firstfault.launch.edit import EditRefused, Replacement
from firstfault.launch.launchers import LAUNCHERS, PYTHONS, base_name
from firstfault.launch.shell_script import Command, Word

_OPENMPI = frozenset({"mpirun", "orterun", "mpirun.openmpi", "prun", "prterun"})
_MPI = _OPENMPI | {"mpiexec"}
# Options that only the one or the other family of MPI launchers has.
_ONLY_HYDRA = re.compile(r"-(?:genv\w*|env\w*|ppn|bootstrap\S*|iface|hosts|machinefile|launcher\S*)$")
_ONLY_OPENMPI = re.compile(
    r"--?(?:mca|map-by|bind-to|allow-run-as-root|hostfile|x|report-bindings|oversubscribe|tag-output|pernode|npernode)$"
)
_CONTAINERS = frozenset({"docker", "podman", "nvidia-docker"})
_APPTAINER = frozenset({"apptainer", "singularity"})
# --export=ALL,PATH   --export="NCCL_DEBUG=INFO,ALL"
_EXPORT = re.compile(r"--export=(['\"]?)(.*?)\1$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Gate:
    """A word of a command behind which exported variables do not arrive.

    `kind` says how one gets past: `option` (an option such as -e NAME=VALUE behind word `index`), `list` (the comma-separated list in
    word `index`), `payload` (env NAME=VALUE in front of the program), `none` (no way). `option` is the option's spelling.
    """

    kind: str
    index: int
    option: str = ""
    why: str = ""


def last_gate(c: Command, export_none: bool = False) -> Gate | None:
    """The innermost gate of a command; `export_none` says that the batch job has srun start without the environment."""
    gate: Gate | None = None
    raws = [w.raw for w in c.words]
    for i, w in enumerate(c.words):
        base = w.base
        rest = raws[i + 1 :]
        following = base_name(rest[0]) if rest else ""
        if base in _CONTAINERS and following in {"run", "exec"}:
            gate = Gate("option", i + 1, "-e")
        elif (
            base in _APPTAINER
            and following in {"exec", "run", "shell"}
            and any(r in {"--cleanenv", "-e", "--containall", "-C", "-c"} for r in rest)
        ):
            gate = Gate("option", i + 1, "--env")
        elif base == "enroot" and following == "start":
            gate = Gate("option", i + 1, "-e")
        elif base in {"srun", "sbatch"} and (found := _slurm_gate(c, i, base, export_none)):
            gate = found
        elif base in _MPI and _is_openmpi(base, rest):
            gate = Gate("option", i, "-x")
        elif base in _MPI and "-genvnone" in rest:
            gate = Gate("option", i, "-genv")
        elif (base == "env" and any(r in {"-i", "-", "--ignore-environment"} for r in rest[:2])) or (
            base == "sudo" and not any(r in {"-E", "--preserve-env"} for r in rest)
        ):
            gate = Gate("payload", i)
        elif base in {"ssh", "pdsh", "clush", "srun_ssh"} or (base == "kubectl" and following == "exec"):
            gate = Gate("payload", i)
        elif base == "ray" and rest[:2] == ["job", "submit"]:
            gate = Gate("runtime-env", i + 2)
        elif base == "sky" and following in {"launch", "exec", "jobs"}:
            gate = Gate("option", i + (2 if following == "jobs" else 1), "--env")
        elif base == "torchx" and following == "run":
            gate = Gate("torchx", i + 1, "--env")
    return gate


def _slurm_gate(c: Command, i: int, base: str, export_none: bool) -> Gate | None:
    for k in range(i + 1, len(c.words)):
        m = _EXPORT.match(c.words[k].raw)
        listed = m.group(2) if m else c.words[k + 1].plain if c.words[k].raw == "--export" and k + 1 < len(c.words) else None
        if listed is None:
            if _is_program(c.words[k]):
                break
            continue
        at = k if m else k + 1
        parts = listed.split(",")
        if "ALL" in parts:
            return None
        if "$" in listed or parts in (["NONE"], ["NIL"]):
            if base == "sbatch":
                return Gate("none", at, why="sbatch starts the script without the environment")
            return Gate("payload", at)
        return Gate("list", at)
    return Gate("payload", i) if export_none and base == "srun" else None


def _is_openmpi(base: str, rest: list[str]) -> bool:
    if any(_ONLY_HYDRA.match(r) for r in rest):
        return False
    return base in _OPENMPI or any(_ONLY_OPENMPI.match(r) for r in rest)


def carried(c: Command, gate: Gate | None, name: str) -> bool:
    """Whether a command hands the variable on by itself: `-x NAME` behind its gate counts, whatever the value."""
    first = gate.index if gate else -1
    if gate is None and any(a.name == name for a in c.assigns):
        return True
    for i, _ in value_words(c, name):
        if i >= first:
            return True
    if gate and gate.kind == "option":
        return any(c.words[k].plain == name and c.words[k - 1].raw in {"-x", "-e", "--env"} for k in range(gate.index + 1, len(c.words)))
    if gate and gate.kind == "list":
        return name in _list_of(c.words[gate.index]).split(",")
    return False


def value_words(c: Command, name: str) -> Iterator[tuple[int, Word]]:
    """The values of the variable among the words of a command: (index of the word, the value as a word)."""
    for i, w in enumerate(c.words[1:], 1):
        before = c.words[i - 1].raw
        # -x NAME=v   -e "NAME=v"   env NAME=v
        m = re.match(r"(['\"]?)" + re.escape(name) + r"=(.*?)\1$", w.raw, re.DOTALL)
        if m and (before in {"-x", "-e", "--env"} or _is_env_word(c, i)):
            yield i, Word(w.start + m.start(2), w.start + m.end(2), m.group(2))
        elif "--runtime-env" in before + w.raw and (j := re.search(r"\"" + re.escape(name) + r"\"\s*:\s*\"([^\"]*)\"", w.raw)):
            yield i, Word(w.start + j.start(1), w.start + j.end(1), j.group(1))
        elif w.plain == name and before in {"-genv", "-env"} and i + 1 < len(c.words):
            yield i + 1, c.words[i + 1]
        m = re.match(r"(?:--export=|--env=|-e=?)?['\"]?(?:[^'\"]*,)?" + re.escape(name) + r"=([^,'\"]*)", w.raw)
        if m and (w.raw.startswith(("--export=", "--env=", "-e")) or before in {"--export", "--env"}):
            found = Word(w.start + m.start(1), w.start + m.end(1), m.group(1))
            if not (before in {"-x", "-e", "--env"} and "," not in w.raw):
                yield i, found


def _is_env_word(c: Command, i: int) -> bool:
    """Whether word i stands among the assignments of an env or sudo command."""
    while i > 0:
        i -= 1
        base = c.words[i].base
        if base in {"env", "sudo"}:
            return True
        if "=" not in base and not base.startswith("-"):
            return False
    return False


def carry(c: Command, gate: Gate, name: str, value: str, text: str, path: str) -> Replacement:
    """Hand the variable through the gate of a command; `value` is quoted for the shell already."""
    if gate.kind == "list":
        w = c.words[gate.index]
        at = w.end - (1 if w.raw[-1] in "'\"" else 0)
        return Replacement(at, at, f",{name}={value}")
    if gate.kind == "option":
        return _option(c, gate, f"{gate.option} {name} {value}" if gate.option == "-genv" else f"{gate.option} {name}={value}", text)
    if gate.kind == "torchx":
        return _torchx(c, gate, name, value)
    if gate.kind == "runtime-env":
        return _runtime_env(c, gate, name, value, path)
    payload = _payload(c, gate)
    if gate.kind == "none" or payload is None:
        reason = gate.why or f"the environment does not pass {c.words[gate.index].base}, and the program behind it is not clear"
        raise EditRefused(f"{name} is not set", reason=reason, where=path, help="set it in the script that is started there")
    if payload.raw[0] in "'\"":
        quote = "" if payload.raw[0] == '"' or "'" not in value else None
        if quote is None:
            raise EditRefused(f"{name} is not set", reason="the value has quotes and the command is quoted", where=path)
        return Replacement(payload.start + 1, payload.start + 1, f"export {name}={value}; ")
    return Replacement(payload.start, payload.start, f"env {name}={value} ")


def _option(c: Command, gate: Gate, new: str, text: str) -> Replacement:
    """Behind the last option of the same kind, in its layout, else right behind the gate's word."""
    step = 3 if gate.option == "-genv" else 2
    last = None
    for k in range(gate.index + 1, len(c.words) - step + 1):
        if c.words[k].raw == gate.option:
            last = k
    if last is None:
        at = c.words[gate.index].end
        return Replacement(at, at, f" {new}")
    before, at = text[c.words[last - 1].end : c.words[last].start], c.words[last + step - 1].end
    return Replacement(at, at, before + new)


def _torchx(c: Command, gate: Gate, name: str, value: str) -> Replacement:
    for k in range(gate.index + 1, len(c.words) - 1):
        if c.words[k].raw == "--env":
            at = c.words[k + 1].end - (1 if c.words[k + 1].raw[-1] in "'\"" else 0)
            return Replacement(at, at, f",{name}={value}")
    component = next((w for w in c.words[gate.index + 1 :] if re.match(r"(?:dist|utils)\.\w+$|.*\.py:\w+$", w.plain)), None)
    if component is None:
        raise EditRefused(
            f"{name} is not set", reason="the component that torchx runs is not clear", help=f"add --env {name}={value} to it"
        )
    return Replacement(component.end, component.end, f" --env {name}={value}")


def _runtime_env(c: Command, gate: Gate, name: str, value: str, path: str) -> Replacement:
    plain = value.strip("'")
    for k in range(gate.index + 1, len(c.words)):
        w = c.words[k]
        if not w.raw.startswith("--runtime-env"):
            continue
        holder = w if "=" in w.raw else c.words[k + 1] if k + 1 < len(c.words) else w
        m = re.search(r"'\s*\{.*?\"env_vars\"\s*:\s*\{(\s*)", holder.raw, re.DOTALL)
        if m and holder.raw.endswith("'"):
            at = holder.start + m.end()
            empty = holder.raw[m.end() :].lstrip().startswith("}")
            return Replacement(at, at, f'"{name}": "{plain}"' + ("" if empty else "," + (m.group(1) or " ")))
        raise EditRefused(f"{name} is not set", reason=f"the job's environment is in {holder.raw}", where=path, help="add it there")
    if re.search(r"[\"'\\]", plain):
        raise EditRefused(f"{name} is not set", reason="the value has quotes", where=path)
    at = c.words[gate.index].end
    return Replacement(at, at, f' --runtime-env-json \'{{"env_vars": {{"{name}": "{plain}"}}}}\'')


def _payload(c: Command, gate: Gate) -> Word | None:
    """The program behind a gate: a launcher, a Python, or a quoted command."""
    for w in c.words[gate.index + 1 :]:
        if _is_program(w) or (w.raw[0] in "'\"" and re.search(r"\s", w.plain) and not w.plain.lstrip().startswith("-")):
            return w
    return None


def _is_program(w: Word) -> bool:
    return (
        w.base in LAUNCHERS | {"env", "bash", "sh", "apptainer", "singularity"}
        or bool(PYTHONS.match(w.base))
        or w.base.endswith((".sh", ".py"))
    )


def _list_of(w: Word) -> str:
    m = _EXPORT.match(w.raw)
    return m.group(2) if m else w.plain
