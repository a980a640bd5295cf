"""Elastic restarts: several attempts in one log. Does not hold jobs with a single attempt."""

from __future__ import annotations

from tests.lab.fault import Fault
from tests.lab.faults.program import KEY_ERROR, unknown_category

ALL_RANKS = ("--log-ranks", "all", "--timeout", "20", "--checkpoint-every", "10")

FAULTS = [
    Fault(
        name="restart-recovers",
        layout="combined",
        world_size=4,
        cause="healthy",
        initiating_ranks=(),
        notes="Rank 2 is killed in the first attempt; the second one resumes from a checkpoint and finishes.",
        arguments=(*ALL_RANKS, "--steps", "40"),
        launcher=("--max-restarts", "1"),
        disturbance={"kind": "kill", "ranks": [2], "step": 23, "attempts": [0]},
    ),
    Fault(
        name="restart-recovers-tee",
        layout="tee",
        world_size=2,
        cause="healthy",
        initiating_ranks=(),
        notes="Rank 1 leaves with exit code 3 twice; the third attempt finishes.",
        arguments=(*ALL_RANKS, "--steps", "40"),
        launcher=("--max-restarts", "3"),
        disturbance={"kind": "exit", "code": 3, "ranks": [1], "step": 23, "attempts": [0, 1]},
    ),
    Fault(
        name="restart-meets-old-addresses",
        layout="tee",
        world_size=2,
        cause="healthy",
        initiating_ranks=(),
        notes="The second attempt reads the addresses of the first from the agent's store and cannot connect; the third one finishes.",
        repeatable=False,
        arguments=(*ALL_RANKS, "--steps", "40"),
        launcher=("--max-restarts", "3"),
        environment={"REUSE_STORE": "1"},
        disturbance={"kind": "exit", "code": 3, "ranks": [1], "step": 23, "attempts": [0]},
    ),
    Fault(
        name="restarts-used-up",
        layout="combined",
        world_size=4,
        cause="python-exception",
        acceptable=("data-corrupt",),
        initiating_ranks=(1,),
        evidence=KEY_ERROR,
        notes="The same row stops rank 1 in all three attempts.",
        arguments=("--log-ranks", "all", "--timeout", "20", "--steps", "40", "--batch-size", "4"),
        launcher=("--max-restarts", "2"),
        prepare=unknown_category(1, 30),
    ),
    Fault(
        name="restart-then-other-fault",
        layout="combined",
        world_size=4,
        cause="python-exception",
        acceptable=("data-corrupt",),
        initiating_ranks=(3,),
        evidence=KEY_ERROR,
        collateral=("(exitcode: -9)", "exitcode  : -9", "Connection closed by peer", "(SIGTERM)"),
        notes="Rank 1 is killed in the first attempt, which the second one gets past; there a row stops rank 3.",
        arguments=(*ALL_RANKS, "--steps", "40", "--batch-size", "2"),
        launcher=("--max-restarts", "1"),
        prepare=unknown_category(3, 51),
        disturbance={"kind": "kill", "ranks": [1], "step": 17, "attempts": [0]},
    ),
    Fault(
        name="two-nodes-restart-recovers",
        layout="two-nodes",
        world_size=4,
        cause="healthy",
        initiating_ranks=(),
        notes="Rank 3 is killed once; both agents restart their ranks and the job finishes.",
        arguments=(*ALL_RANKS, "--steps", "40"),
        launcher=("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:{port}", "--rdzv-id", "81", "--max-restarts", "2"),
        environment={"REUSE_STORE": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"},
        disturbance={"kind": "kill", "ranks": [3], "step": 23, "attempts": [0]},
    ),
]
