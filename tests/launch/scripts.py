"""Generates shell scripts that are valid by construction: blocks of what launch scripts are made of. Does not judge them."""

from __future__ import annotations

from hypothesis import strategies as st

_NAMES = st.sampled_from(["NCCL_IB_HCA", "NCCL_SOCKET_IFNAME", "OMP_NUM_THREADS", "HF_HOME", "NCCL_DEBUG", "TORCH_CPP_LOG_LEVEL"])
_VALUES = st.sampled_from(["1", "WARN", '"WARN"', "'a b'", '"$HOME/x"', "${X:-WARN}", '"${X:-y}"', "=mlx5", ""])
_COMMENTS = st.sampled_from(["# Start", "# env NCCL_DEBUG=WARN torchrun", "#SBATCH --nodes=2", "# ünïcode 🚀", "#", "# if then do"])
_LAUNCHES = st.sampled_from([
    "torchrun train.py",
    "srun torchrun --nnodes 2 train.py",
    "torchrun \\\n    --nproc-per-node 8 \\\n    train.py",
    "python -m torch.distributed.run train.py",
    "torchrun train.py 2>&1 | tee log",
    "OMP_NUM_THREADS=4 torchrun train.py",
    'torchrun train.py --name "a; b" --json \'{"x": 1}\'',
    "exec torchrun train.py",
    "torchrun train.py &",
])  # fmt: skip
_OTHER = st.sampled_from([
    "echo start",
    'nodes=$(echo "$NODES" | head -n1)',
    "[[ -n $X && $X =~ ^(a|b)$ ]] && echo yes",
    "cat <<EOF > note\nexport NCCL_DEBUG=WARN\nEOF",
    "cat <<'END' > note2\nif (\nEND",
    "ARGS=(\n  --lr 1 # the rate\n  --bs 2\n)",
    "set -euo pipefail; set +e",
    "(( count++ )) || true",
    ": ${X:=1}",
    "unset FOO",
    "",
    "cd . && echo here",
    "case \"$1\" in a|b) echo ab ;; *) echo other ;; esac",
])  # fmt: skip


@st.composite
def _assignment(draw: st.DrawFn) -> str:
    prefix = draw(st.sampled_from(["export ", "export ", "", "declare -x "]))
    return f"{prefix}{draw(_NAMES)}={draw(_VALUES)}"


def _indented(block: str) -> str:
    """A block four blanks to the right; here-documents stay where they are."""
    return block if "<<" in block else "\n".join("    " + line if line else line for line in block.split("\n"))


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(lambda blocks: "\n".join(_indented(b or ":") for b in blocks) + "\n    :")
    return st.one_of(
        body.map(lambda b: f"if true; then\n{b}\nfi"),
        st.tuples(body, body).map(lambda b: f'if [ -n "$X" ]; then\n{b[0]}\nelse\n{b[1]}\nfi'),
        body.map(lambda b: f"for i in 1 2; do\n{b}\ndone"),
        body.map(lambda b: f"job() {{\n{b}\n}}\njob"),
        body.map(lambda b: f"(\n{b}\n)"),
    )


def _blocks() -> st.SearchStrategy[str]:
    simple = st.one_of(_assignment(), _LAUNCHES, _OTHER, _COMMENTS)
    return st.recursive(simple, _nested, max_leaves=4)


@st.composite
def scripts(draw: st.DrawFn, *, launches: bool = False) -> str:
    """A bash script of some blocks, with or without a shebang, directives and a final newline."""
    head = draw(
        st.sampled_from(["", "#!/bin/bash\n", "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH -t 10\n", "#!/usr/bin/env bash\n# Trains.\n\n"])
    )
    blocks = draw(st.lists(_blocks(), min_size=1, max_size=5))
    if launches:
        blocks.insert(draw(st.integers(0, len(blocks))), draw(_LAUNCHES))
    return head + "\n".join(blocks) + draw(st.sampled_from(["\n", "\n\n", ""]))
