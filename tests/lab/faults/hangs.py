"""Ranks that stop taking part without dying. Does not hold ranks that never arrived at the start."""

from __future__ import annotations

from tests.lab.fault import GLOO_FAILED, Fault

# The launcher's "first observed failure" is a rank that waited.
LAUNCHER = ("(exitcode: 1)", "exitcode  : ")
# With a short interval the launcher ends the peers before they have said what they waited for.
PATIENT = ("--monitor-interval", "3")

FAULTS = [
    Fault(
        name="sleeping-rank5-tee",
        layout="tee",
        world_size=8,
        cause="rank-missing-collective",
        acceptable=("rank-straggler",),
        initiating_ranks=(5,),
        evidence=(*GLOO_FAILED, "[rank 5] INFO train: step: 30"),
        collateral=LAUNCHER,
        notes="Seven ranks report a time-out, rank 5 reports nothing and is found by its absence.",
        arguments=("--log-ranks", "all", "--steps", "60", "--timeout", "8"),
        launcher=PATIENT,
        disturbance={"kind": "sleep", "seconds": 300, "ranks": [5], "step": 33},
    ),
    Fault(
        name="stopped-rank2",
        layout="combined",
        world_size=4,
        cause="rank-missing-collective",
        initiating_ranks=(2,),
        evidence=("forcefully exiting via", *GLOO_FAILED, "[rank 2] INFO train: step: 20"),
        collateral=LAUNCHER,
        notes="A stopped process does not take SIGTERM: the launcher waits 30 s and kills it.",
        arguments=("--log-ranks", "all", "--steps", "40", "--timeout", "8"),
        launcher=PATIENT,
        disturbance={"kind": "stop", "ranks": [2], "step": 23},
    ),
]
