"""Jobs that are recorded as flight-recorder dumps, one a rank, instead of logs. The truth names the faulty ranks, not the lines."""

from __future__ import annotations

from typing import Any

from tests.lab.data import keep_validation
from tests.lab.fault import Fault

FLIGHT = {"TORCH_FR_BUFFER_SIZE": "2000", "LAB_FLIGHT_AT_S": "8"}
FINETUNE: dict[str, Any] = {"script": "finetune.py", "layout": "flight", "collateral": ()}

FAULTS = [
    Fault(
        name="fr-sleeping-rank1",
        world_size=4,
        cause="rank-missing-collective",
        initiating_ranks=(1,),
        notes="Rank 1 never enters the all_reduce in which the others wait.",
        arguments=("--timeout", "60"),
        environment=FLIGHT,
        disturbance={"kind": "sleep", "seconds": 300, "ranks": [1], "step": 14},
        **FINETUNE,
    ),
    Fault(
        name="fr-sleeping-rank1-json",
        world_size=4,
        cause="rank-missing-collective",
        initiating_ranks=(1,),
        notes="The same as JSON.",
        arguments=("--timeout", "60"),
        environment=FLIGHT | {"LAB_FLIGHT_FORM": "json"},
        disturbance={"kind": "sleep", "seconds": 300, "ranks": [1], "step": 14},
        **FINETUNE,
    ),
    Fault(
        name="fr-stopped-rank2",
        world_size=4,
        cause="rank-missing-collective",
        initiating_ranks=(2,),
        notes="A stopped rank writes no dump: it is found by its absence.",
        arguments=("--timeout", "60"),
        environment=FLIGHT,
        disturbance={"kind": "stop", "ranks": [2], "step": 14},
        cut_after_s=35.0,
        **FINETUNE,
    ),
    Fault(
        name="fr-other-operation-rank1",
        world_size=4,
        cause="collective-mismatch",
        initiating_ranks=(1,),
        notes="Rank 1 broadcasts where the three others reduce.",
        arguments=("--metric", "union", "--timeout", "60"),
        environment=FLIGHT,
        prepare=keep_validation(1, lambda row: False),
        **FINETUNE,
    ),
    Fault(
        name="fr-other-shape-rank2",
        world_size=4,
        cause="collective-mismatch",
        initiating_ranks=(2,),
        notes="Rank 2 reduces three numbers where the others reduce four; two ranks get past it.",
        arguments=("--metric", "recall", "--timeout", "60"),
        environment=FLIGHT,
        prepare=keep_validation(2, lambda row: "refund" not in row),
        **FINETUNE,
    ),
    Fault(
        name="fr-skipped-call-rank3",
        world_size=4,
        cause="collective-mismatch",
        acceptable=("rank-missing-collective",),
        initiating_ranks=(3,),
        notes="Rank 3 skips the all_reduce of the validation and is one collective ahead: its next one meets the others' validation.",
        arguments=("--timeout", "60"),
        environment=FLIGHT,
        prepare=keep_validation(3, lambda row: False),
        **FINETUNE,
    ),
    Fault(
        name="fr-subgroup-stall-rank3",
        layout="flight",
        world_size=4,
        cause="rank-missing-collective",
        initiating_ranks=(3,),
        collateral=(),
        notes="Rank 3 stalls inside its pair: rank 2 waits for it there, rank 1 across the pairs, and rank 0 only for rank 2.",
        script="subgroups.py",
        environment=FLIGHT,
        disturbance={"kind": "sleep", "seconds": 300, "ranks": [3], "step": 9},
    ),
    Fault(
        name="fr-subgroup-stall-rank4-of-8",
        layout="flight",
        world_size=8,
        cause="rank-missing-collective",
        initiating_ranks=(4,),
        collateral=(),
        script="subgroups.py",
        environment=FLIGHT,
        disturbance={"kind": "sleep", "seconds": 300, "ranks": [4], "step": 9},
    ),
    Fault(
        name="fr-healthy",
        world_size=4,
        cause="healthy",
        initiating_ranks=(),
        notes="Every rank has finished its collectives and waits for nobody.",
        arguments=("--timeout", "60", "--steps", "12", "--linger", "30"),
        environment=FLIGHT,
        **FINETUNE,
    ),
]
