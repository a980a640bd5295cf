"""Finds users and the folders that tell of their work in a text, for masking. Knows no mask and no host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]` is sensitive; equal `key`s of one `kind` are the same thing."""

    start: int
    end: int
    kind: str
    key: str


_ROOTS = r"(?:home|Users|users|scratch|fsx|netscratch)"
# /lustre/home/alice/run7/train.py   C:\Users\Alice Smith\train.py
_HOME = re.compile(
    rf"(?<![A-Za-z0-9]){_ROOTS}[/\\]+(?:{_ROOTS}[/\\]+)*"
    r"(?P<user>[^\s/\\:;,'\"`()<>|*?\[\]{}$=]+(?: [^\s/\\:;,'\"`()<>|*?]+(?=\\))*)"
)
_TILDE = re.compile(r"(?<![\w/~])~(?P<user>[^\W\d][\w.-]*)(?=/)")
# USER=alice   uid=1001(alice)   "user": "alice"   wandb: Currently logged in as: alice
_USER = re.compile(
    r"""(?ix)(?: (?<![a-z])(?:user|user_?name|logname|owner|account) ["']? \s*[=:]\s* ["']? | \buid=\d+\( | \blogged\ in\ as:?\ )
      (?P<user>[^\W\d][\w.-]*)"""
)
ACCOUNTS = {
    "root", "ubuntu", "ec2-user", "nobody", "slurm", "jovyan", "runner", "app", "git", "none", "null", "default", "unknown", "user",
    "tmp", "shared", "public",
}  # fmt: skip
# A folder or account with such a name is hidden where it stands as one, and stays a word elsewhere.
ORDINARY = {
    "data", "dataset", "datasets", "train", "training", "test", "model", "models", "work", "scratch", "project", "projects", "shared",
    "public", "home", "job", "jobs", "run", "runs", "gpu", "cuda", "torch", "python", "rank", "ranks", "node", "nodes", "host", "error",
    "step", "log", "logs", "code", "tmp", "process", "worker", "group", "the", "a", "of", "not", "is", "and", "or", "in", "on", "at", "to",
    "failed", "failure", "timeout", "memory", "device", "file", "line", "exit", "signal", "store", "connection", "peer", "collective",
}  # fmt: skip
_KEPT_FOLDER = re.compile(
    r"""(?ix)\d+ | attempt_\d+ | rank[_-]?\d+ | \.+ | lib(?:64|exec)? | include | sbin | etc | share | uv | c?python-[\w.-]+
      | \.?v?envs? | \.?conda | (?:mini|ana)conda\d? | miniforge\d? | mambaforge | \.local | \.cache | \.?configs? | conf
      | huggingface | hub | triton | wandb | src | code | scripts? | tests? | logs? | outputs? | checkpoints? | ckpts? | runs?
      | data(?:sets?)? | models?"""
)
# What lies below these is a program's that everybody may install or check out, and tells where in it something happened.
_INSTALLED = re.compile(
    r"""(?ix)(?:site|dist)-packages | python\d[\d.]* | torch_extensions | bin
      | megatron(?:[_-](?:lm|core|deepspeed))? | deepspeed | torchtitan | torchtune | vllm | sglang | verl | openrlhf | nemo(?:-rl)?
      | transformers | accelerate | trl | peft | diffusers | llama-?factory | axolotl | fairseq | lightning | detectron2
      | mmengine | gloo"""
)
# /mnt/lustre/acme/run7/train.py   not: https://host/a/b, 10/100, "POST /v1/completions HTTP/1.1"
_ABSOLUTE = re.compile(r"(?<![\w.:/~@%*\\}$)-])(?<!POST )(?<!GET )(?<!PUT )(?<!HEAD )/(?P<root>\.?[\w-]+)(?=/+[\w.~-])")
# Below these lies what every machine has, and what people build images and packages from.
_SYSTEM = {
    "usr", "opt", "lib", "lib64", "etc", "proc", "sys", "dev", "run", "var", "bin", "sbin", "boot", "nix", "snap", "tmp", "root", "__w",
    "pytorch", "builder", "build", "tensorflow", "xla", "rapids", "triton", "nccl", "dvs", "vllm-workspace", "sgl-workspace", "opt-ml",
    "databricks", "kaggle", "content", "ascend", "gaudi", "croot", "github", "api", "v1", "v2",
}  # fmt: skip
# Where file systems are mounted: the name tells nothing, what lies below may.
_MOUNTS = re.compile(
    r"(?i)mnt|media|mount|srv|vol(?:ume)?s?\d*|data\d*|datasets?|lustre\d*|gpfs\w*|beegfs|nfs\d*|efs|nas\d*|pfs|ceph\w*|fs\d*|work(?:space|dir)?\d*|proj(?:ects?)?\d*"
    r"|shared?|storage\d*|local\w*|nvme\w*|ssd\d*|raid\d*|disk\d*|groups?|app|job|jobs|code|src|models?|checkpoints?|ckpts?|output|results?|cluster"
)
_PATH_REST = re.compile(r"(?:[/\\]+[^\s/\\:;,'\"`()<>|*?\[\]{}$=]+)+")


def users_told(text: str) -> Iterator[tuple[int, int]]:
    """Where a text names users."""
    for pattern in (_HOME, _TILDE, _USER):
        for m in pattern.finditer(text):
            yield m.span("user")


def homes(text: str) -> Iterator[Span]:
    """Users where they stand as such, and the folders below their homes."""
    for m in _HOME.finditer(text):
        if m["user"].lower() not in ACCOUNTS:
            yield Span(*m.span("user"), "user", m["user"].lower())
        yield from _folders(text, m.end("user"))
    for pattern in (_TILDE, _USER):
        for m in pattern.finditer(text):
            if m["user"].lower() not in ACCOUNTS:
                yield Span(*m.span("user"), "user", m["user"].lower())


def paths(text: str) -> Iterator[Span]:
    """The folders of absolute paths outside of homes."""
    homes = [m.span() for m in _HOME.finditer(text)]
    for m in _ABSOLUTE.finditer(text):
        root = m["root"]
        if root.lower() in _SYSTEM or any(first <= m.end() + 1 and m.start() <= last for first, last in homes):
            continue
        if not _MOUNTS.fullmatch(root):
            yield Span(*m.span("root"), "dir", root.lower())
        yield from _folders(text, m.end("root"), mounted=True)


def _folders(text: str, start: int, *, mounted: bool = False) -> Iterator[Span]:
    """The folders below a home or a mount that tell of somebody's work; file names stay, and so does what is inside a known program."""
    rest = _PATH_REST.match(text, start)
    parts = list(re.finditer(r"[^/\\]+", rest[0])) if rest else []
    for at, part in enumerate(parts):
        name = part[0]
        if _INSTALLED.fullmatch(name):
            return
        last_file = at == len(parts) - 1 and "." in name.strip(".")
        if not last_file and not _KEPT_FOLDER.fullmatch(name) and not (mounted and _MOUNTS.fullmatch(name)):
            yield Span(start + part.start(), start + part.end(), "dir", name.lower())
