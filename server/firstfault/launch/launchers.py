"""Which commands start training. Does not know where in a file they stand, nor how they pass the environment on."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

# Programs that start one or many training processes.
LAUNCHERS = frozenset(
    "torchrun srun mpirun mpiexec mpiexec.hydra mpirun.openmpi mpirun.mpich orterun prun prterun deepspeed accelerate"
    " horovodrun jsrun aprun colossalai composer llamafactory-cli axolotl swift torchx vllm lightning fabric tune bagua"
    " oneflow ibrun pdsh sky xtuner paddlerun".split()
)
PYTHONS = re.compile(r"(?:ipython|pypy|python|python3)(?:\.\d+)*$")
# python -m torch.distributed.run train.py
LAUNCHER_MODULES = re.compile(
    r"(?:torch\.distributed\.(?:run|launch|elastic\S*)|torch_xla\.distributed\.\S+|accelerate\.commands\.(?:launch|accelerate_cli)"
    r"|deepspeed\.launcher\.\w+|ray\.\S+|vllm\.entrypoints\S*|sglang\.\S+|lightning\S*|paddle\.distributed\.launch|colossalai\S*)$"
)
# Words that run the command behind them in a changed or an equal environment.
WRAPPERS = frozenset(
    "env exec time nohup sudo timeout nice ionice taskset numactl stdbuf setsid chrt unbuffer eval nsys ncu compute-"
    " sanitizer cuda-memcheck gdb strace uv poetry pipenv conda mamba micromamba pixi singularity apptainer docker podman"
    " nvidia-docker enroot shifter ssh bash sh zsh kubectl xargs sbatch script tmux screen command builtin bsub qsub flux"
    " wandb clearml-agent ray".split()
)
# Commands that name a launcher without starting it.
HARMLESS = frozenset(
    "echo printf which type hash pip pip3 module ml ls cd cp mv rm mkdir cat grep egrep test [ [[ export declare typeset"
    " local readonly unset set shopt source . scontrol squeue sacct scancel pkill killall kill trap sed awk git apt apt-get"
    " alias unalias wait sleep read touch exit return find tee head tail date hostname nvidia-smi ulimit chmod chown curl"
    " wget tar ps getent ip ping scp rsync ln mapfile readarray let true false : shift break continue pgrep".split()
)

# "…; torchrun --nproc-per-node 8 train.py" inside a quoted argument
_INSIDE = re.compile(
    r"(?:^|[\s;&|(/'\"])"
    r"(?:torchrun|srun|mpirun|mpiexec|deepspeed|horovodrun|accelerate\s+launch|python3?\s+-m\s+torch\.distributed\.\w+)(?=\s)"
)
_SCRIPT = re.compile(r"(?:^|[\s'\"=])[\w./${}~-]+\.py(?=$|[\s'\"])")
_VARIABLE = re.compile(r"\"?\$\{?[A-Za-z_][A-Za-z0-9_]*(?:\[[@*]\])?\}?\"?$")


def base_name(word: str) -> str:
    """The last path component of an unquoted word."""
    return word.strip("'\"").rsplit("/", 1)[-1]


def launch_strength(words: Sequence[str]) -> int:
    """How surely a command starts training: 2 a launcher, 1 Python with a script or an unknown variable as command, 0 no.

    `words` are the raw words of one simple command, the command word first.
    """
    if not words:
        return 0
    first = base_name(words[0])
    if first in HARMLESS:
        return 0
    if first in LAUNCHERS and (first != "accelerate" or "launch" in words[1:]) and (first != "vllm" or "serve" in words[1:]):
        return 2 if not _only_asks(words) else 0
    if first in WRAPPERS or PYTHONS.match(first) or _VARIABLE.match(words[0]):
        for i, word in enumerate(words[1:], 1):
            base = base_name(word)
            if base in LAUNCHERS and not (base == "accelerate" and "launch" not in words[i:]):
                return 2 if first not in {"conda", "uv", "poetry", "pipenv"} or words[1] == "run" else 0
            if LAUNCHER_MODULES.match(base_name(word)) and words[i - 1] == "-m":
                return 2
            if _INSIDE.search(word) and word[:1] in "'\"$":
                return 2
    if first == "ray" and words[1:3] == ["job", "submit"]:
        return 2
    if PYTHONS.match(first) or first in WRAPPERS:
        rest = words[1:]
        if any(_SCRIPT.search(w) for w in rest):
            return 1
        if (PYTHONS.match(first) or any(PYTHONS.match(base_name(w)) for w in rest)) and "-m" in rest and not _tool_module(rest):
            return 1
    if _VARIABLE.match(words[0]) or (first in {"eval", "exec", "nohup", "time"} and any(_VARIABLE.match(w) for w in words[1:])):
        return 1
    # sbatch train.sbatch, bash run.sh and ./run.sh hand their environment on.
    script = re.compile(r"\.(?:sh|bash|sbatch|slurm|job)['\"]?$")
    return int(
        first.endswith(".py")
        or bool(script.search(words[0]))
        or (first in {"sbatch", "bash", "sh"} and any(script.search(w) for w in words[1:]))
    )


def mentions_launcher(text: str) -> bool:
    """Whether a text (a quoted command, a YAML scalar) starts training somewhere."""
    return bool(_INSIDE.search(text + " ")) or bool(re.search(r"(?:^|[\s;&|/])(?:python3?|torchrun)\s+\S", text))


def _only_asks(words: Sequence[str]) -> bool:
    """srun hostname, torchrun --help, mpirun bash -c 'echo $(hostname)', srun python -c '…': a launcher that starts no training."""
    if any(w in {"--help", "--version", "-V"} for w in words[1:2]):
        return True
    if base_name(words[0]) not in {"srun", "pdsh", "mpirun", "mpiexec"}:
        return False
    if any(base_name(w).rstrip(";") in _ASKING for w in words[1:]):
        return True
    if any(PYTHONS.match(base_name(program)) and option == "-c" for program, option in itertools.pairwise(words)):
        return True
    quoted = [w for w in words[1:] if w[:1] in {"'", '"'} and " " in w]
    if not quoted:
        return False
    inner = quoted[-1][1:].split()
    if PYTHONS.match(base_name(inner[0])) and inner[1:2] == ["-c"]:
        return not any(_INSIDE.search(w) or _SCRIPT.search(w) for w in quoted)
    return inner[0] in _ASKING and not any(mentions_launcher(w) for w in quoted)


_ASKING = frozenset({"hostname", "nvidia-smi", "mkdir", "rm", "ls", "date", "echo", "sleep", "printf", "ibstat"})


def _tool_module(rest: Sequence[str]) -> bool:
    at = rest.index("-m") + 1
    return at < len(rest) and rest[at].split(".")[0] in {
        "pip",
        "venv",
        "http",
        "json",
        "ensurepip",
        "virtualenv",
        "site",
        "build",
        "pytest",
    }
