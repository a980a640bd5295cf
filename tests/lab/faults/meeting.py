"""Jobs whose ranks or nodes never meet. Does not hold anything that fails after the first collective."""

from __future__ import annotations

from tests.lab.fault import Fault

C10D = ("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:{port}", "--rdzv-id", "81", "--rdzv-conf", "join_timeout=12,last_call_timeout=2")

FAULTS = [
    Fault(
        name="rendezvous-one-node-of-two",
        layout="two-nodes",
        world_size=4,
        cause="rendezvous-timeout",
        initiating_ranks=None,
        evidence=("RendezvousTimeoutError",),
        collateral=(),
        notes="node02 was never started. With a c10d rendezvous no rank has a number before all nodes are there.",
        launcher=C10D,
        nodes=(0,),
    ),
]
