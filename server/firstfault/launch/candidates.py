"""Which launch files of a workspace belong to a log: hints from the log, a ranking, and the one walk over folders. Edits nothing.

`launch_files` and `hints_from_log` are pure; `find_candidates` reads the disk and hands them what it found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firstfault.launch.kinds import Kind, detect_kind
from firstfault.launch.launchers import launch_strength, mentions_launcher
from firstfault.launch.shell_edit import launching
from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import ShellSyntaxError

HEAD_CHARS = 64 * 1024
MOST_FILES_READ = 2000
_SKIPPED_FOLDERS = frozenset({
    "node_modules", "__pycache__", "site-packages", "dist", "build", "venv", "env", "wandb", "mlruns", "checkpoints", "outputs", "data",
    "datasets", "logs", "third_party", "target",
})  # fmt: skip
_ENDS = re.compile(
    r"(?:\.(?:sh|bash|sbatch|slurm|slrm|job|pbs|lsf|bsub|zsh|py|ya?ml|ipynb|mk|env)|(?:gnu)?makefile|(?:launch|tasks)\.json"
    r"|(?:.*[._-])?(?:dockerfile|containerfile)(?:[._-].*)?|\.env\..+|\.deepspeed_env)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LaunchFile:
    """One file of a workspace: its path, the beginning of its text, and when it was changed (seconds since the epoch, None unknown)."""

    path: str
    head: str
    modified_s: float | None = None


@dataclass(frozen=True, slots=True)
class LogHints:
    """What a log says of its launch: names of scripts, the job's name, the launchers that were called."""

    scripts: tuple[str, ...] = ()
    job_name: str | None = None
    launchers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A launch file that may have started the job, with its score (higher is likelier) and the reasons for it."""

    path: str
    kind: Kind
    score: int
    reasons: tuple[str, ...]


# train_gpt.py FAILED      cmd = ["python", "-u", "train.py"]      File "/home/u/train.py", line 3
_SCRIPT = re.compile(r"(?<![\w./-])((?:[\w.-]*/)*[\w.-]+\.(?:py|sh|sbatch|slurm))(?![\w.])")
_COMMAND_LINE = re.compile(
    r"^(?:\+ |\$ |cmd = |Running: |\[INFO\].*cmd = ).*|^.*\b(?:torchrun|srun|deepspeed|mpirun|accelerate launch)\s+[-\w].*"
    r"|^.*\.py FAILED\s*$",
    re.MULTILINE,
)
_MAIN_FRAME = re.compile(r'File "([^"\n]+\.py)", line \d+, in <module>')
_JOB_NAME = re.compile(r"\b(?:SLURM_JOB_NAME|JobName|job-name|JOB_NAME)[=: ]\s*[\"']?([\w.-]+)")
_LAUNCHER = re.compile(r"\b(torchrun|srun|mpirun|deepspeed|accelerate|horovodrun|torch\.distributed\.(?:run|launch|elastic))\b")
_LIBRARY = re.compile(r"(?:site-packages|dist-packages|/lib/python\d|torch/|multiprocessing/|runpy\.py|threading\.py)")


def hints_from_log(text: str) -> LogHints:
    """Names of scripts, job and launchers from a log's command lines, tracebacks and summaries, the first mention first."""
    scripts: dict[str, None] = {}
    for line in _COMMAND_LINE.findall(text):
        for name in _SCRIPT.findall(line):
            if not _LIBRARY.search(name):
                scripts.setdefault(name)
    for name in _MAIN_FRAME.findall(text):
        if not _LIBRARY.search(name):
            scripts.setdefault(name)
    job = _JOB_NAME.search(text)
    launchers = dict.fromkeys(m.replace("torch.distributed.elastic", "torchrun") for m in _LAUNCHER.findall(text))
    return LogHints(tuple(scripts), job.group(1) if job else None, tuple(launchers))


def launch_files(files: Sequence[LaunchFile], hints: LogHints | None = None) -> list[Candidate]:
    """Rank the files that can have started the job: those named in the log, then what launches, the most recently changed first.

    Files that start nothing and are not named are left out. Equal scores are ordered by time of change, then by path.
    """
    hints = hints or LogHints()
    times = {f.path: f.modified_s or 0.0 for f in files}
    found = [c for f in files if (c := _rated(f, hints)) is not None]
    return sorted(found, key=lambda c: (-c.score, -times[c.path], c.path))


def find_candidates(folder: str, hints: LogHints | None = None, *, limit: int = 50) -> list[Candidate]:
    """The launch files under a folder, the likeliest first. Reads the beginning of at most 2,000 files; what cannot be read is left out."""
    return launch_files(list(_read(folder)), hints)[:limit]


def _read(folder: str) -> Iterator[LaunchFile]:
    left = MOST_FILES_READ
    for root, folders, names in os.walk(folder):
        depth = os.path.relpath(root, folder).count(os.sep)
        folders[:] = (
            sorted(f for f in folders if f == ".vscode" or (f[0] != "." and f.lower() not in _SKIPPED_FOLDERS)) if depth < 6 else []
        )
        for name in sorted(names):
            if not _ENDS.search(name):
                continue
            path = os.path.join(root, name)
            try:
                with open(path, encoding="utf-8", errors="replace", newline="") as file:
                    yield LaunchFile(path, file.read(HEAD_CHARS), os.stat(path).st_mtime)
            except OSError:
                continue
            left -= 1
            if left == 0:
                return


def _rated(file: LaunchFile, hints: LogHints) -> Candidate | None:
    kind = detect_kind(file.path, file.head)
    if kind is None:
        return None
    score, reasons = _launch_score(kind, file)
    name = re.split(r"[\\/]", file.path)[-1]
    named = {re.split(r"[\\/]", s)[-1] for s in hints.scripts}
    if name in named:
        score, reasons = score + 40, [*reasons, f"the log names {name}"]
    elif score and (mentioned := next((s for s in sorted(named) if _names(file.head, s)), None)):
        score, reasons = score + 45, [*reasons, f"it starts {mentioned}, which the log names"]
    if (
        score
        and hints.job_name
        and hints.job_name in file.head
        and re.search(r"(?:job-name[= ]|-J |name:\s*)[\"']?" + re.escape(hints.job_name) + r"\b", file.head)
    ):
        score, reasons = score + 30, [*reasons, f"its job is called {hints.job_name}"]
    if score and any(_names(file.head, launcher) for launcher in hints.launchers):
        score += 10
    if re.search(r"(?:^|[\\/])(?:tests?|docs?|examples?|ci|\.github)[\\/]", file.path):
        score -= 15
    return Candidate(file.path, kind, score, tuple(reasons)) if score > 0 else None


# What a Python file calls that makes a process group, itself or by a library.
_CALLS = ("init_process_group", "init_distributed", "Accelerator", "TrainingArguments", "Trainer")


def _names(text: str, word: str) -> bool:
    """Whether a text names a word as a whole; the plain search first, since it is many times faster."""
    return word in text and re.search(r"(?<![\w.-])" + re.escape(word) + r"(?![\w.-])", text) is not None


def _launch_score(kind: Kind, file: LaunchFile) -> tuple[int, list[str]]:
    """How surely a file starts training by itself, before any hint."""
    if kind is Kind.SHELL:
        try:
            best = max((s for s, _ in launching(scan_script(file.head))), default=0)
        except ShellSyntaxError:
            words = [line.split() for line in file.head.splitlines() if not line.lstrip().startswith("#")]
            best = max((launch_strength(w) for w in words), default=0)
        batch = bool(re.search(r"^#(?:SBATCH|PBS|BSUB)\s", file.head, re.MULTILINE))
        if best:
            return 20 + 15 * best + 5 * batch, ["a batch script that starts training" if batch else "a script that starts training"]
        return (5, ["it sets the environment"]) if re.search(r"^\s*export\s+(?:NCCL|TORCH|CUDA)_", file.head, re.MULTILINE) else (0, [])
    if kind is Kind.PYTHON:
        calls = next((c for c in _CALLS if c + "(" in file.head), None)
        main = "__main__" in file.head
        return (20 + 10 * main, [f"it calls {calls}"]) if calls else (0, [])
    if kind in {Kind.DEEPSPEED_ENV, Kind.LAUNCH_JSON, Kind.TASKS_JSON, Kind.DOTENV}:
        family = re.search(r"\b(?:NCCL|TORCH|CUDA)_\w+", file.head)
        return (15, ["it sets the environment"]) if family or mentions_launcher(file.head) else (0, [])
    if kind in {Kind.ACCELERATE, Kind.DEEPSPEED_CONFIG}:
        return 0, []
    if mentions_launcher(file.head) or re.search(r"nvidia\.com/gpu|\b(?:NCCL|TORCH)_\w+|torchrun|PyTorchJob|import torch\b", file.head):
        return 25, [f"a {kind.value} that starts training"]
    return 0, []
