"""Jobs that finish, however loud they are. Holds no failure."""

from __future__ import annotations

from tests.lab.fault import Fault
from tests.lab.faults.program import unknown_category

ALL_RANKS = ("--log-ranks", "all", "--steps", "40")

FAULTS = [
    Fault(
        name="healthy",
        layout="combined",
        world_size=4,
        cause="healthy",
        initiating_ranks=(),
        arguments=(*ALL_RANKS, "--checkpoint-every", "20"),
    ),
    Fault(name="healthy-files", layout="per-rank", world_size=4, cause="healthy", initiating_ranks=(), arguments=ALL_RANKS),
    Fault(name="healthy-two-nodes", layout="two-nodes", world_size=4, cause="healthy", initiating_ranks=(), arguments=ALL_RANKS),
    Fault(name="healthy-tasks", layout="labelled-tasks", world_size=12, cause="healthy", initiating_ranks=(), arguments=("--steps", "40")),
    Fault(
        name="healthy-caught-traceback",
        layout="combined",
        world_size=4,
        cause="healthy",
        initiating_ranks=(),
        notes="Rank 2 logs a KeyError with its traceback, replaces the row and goes on.",
        arguments=(*ALL_RANKS, "--replace-bad-rows", "--batch-size", "4"),
        prepare=unknown_category(2, 51),
    ),
    Fault(
        name="healthy-loud-warnings",
        layout="tee",
        world_size=4,
        cause="healthy",
        initiating_ranks=(),
        notes="DDP warns that find_unused_parameters was not needed; the debug and log levels make the start loud.",
        arguments=(*ALL_RANKS, "--find-unused-parameters", "--workers", "1"),
        environment={"TORCH_DISTRIBUTED_DEBUG": "INFO", "TORCH_CPP_LOG_LEVEL": "INFO", "TORCH_SHOW_CPP_STACKTRACES": "1"},
    ),
    Fault(
        name="healthy-metric-nan",
        layout="combined",
        world_size=2,
        cause="healthy",
        acceptable=("loss-nan",),
        initiating_ranks=(),
        notes="The validation metric of an empty shard is nan; the loss is fine.",
        script="finetune.py",
        arguments=("--metric", "error"),
    ),
]
