"""Ranks that die by a signal or an exit code. Does not hold faults that leave a Python traceback of their own."""

from __future__ import annotations

from tests.lab.fault import Fault

ALL_RANKS = ("--log-ranks", "all", "--steps", "40", "--timeout", "20")

FAULTS = [
    Fault(
        name="sigkill-rank2",
        layout="combined",
        world_size=4,
        cause="process-killed",
        acceptable=("host-out-of-memory",),
        initiating_ranks=(2,),
        determinable=False,
        evidence=("(exitcode: -9)", "exitcode  : -9", "Signal 9 (SIGKILL)"),
        notes="Nothing says who sent SIGKILL. The peers' closed connections are printed before the launcher names the dead rank.",
        arguments=ALL_RANKS,
        disturbance={"kind": "kill", "ranks": [2], "step": 23},
    ),
    Fault(
        name="sigkill-rank6-tee",
        layout="tee",
        world_size=8,
        cause="process-killed",
        acceptable=("host-out-of-memory",),
        initiating_ranks=(6,),
        determinable=False,
        evidence=("(exitcode: -9)", "exitcode  : -9", "Signal 9 (SIGKILL)"),
        arguments=ALL_RANKS,
        launcher=("--monitor-interval", "0.5"),
        disturbance={"kind": "kill", "ranks": [6], "step": 33},
    ),
    Fault(
        name="segfault-rank1",
        layout="combined",
        world_size=4,
        cause="process-segfault",
        initiating_ranks=(1,),
        evidence=("(exitcode: -11)", "exitcode  : -11", "Signal 11 (SIGSEGV)"),
        arguments=ALL_RANKS,
        disturbance={"kind": "segfault", "ranks": [1], "step": 17},
    ),
]
