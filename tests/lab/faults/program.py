"""Errors of the program or its data that leave a Python traceback. Does not hold errors of the machine."""

from __future__ import annotations

from tests.lab.data import change_row, keep_rows
from tests.lab.fault import Fault

ALL_RANKS = ("--log-ranks", "all", "--steps", "40", "--timeout", "20")

FAULTS = [
    Fault(
        name="keyerror-rank3-of-8",
        layout="combined",
        world_size=8,
        cause="python-exception",
        acceptable=("data-corrupt",),
        initiating_ranks=(3,),
        evidence=("KeyError: 'warranty'", "self.class_index[row[\"category\"]]"),
        arguments=(*ALL_RANKS, "--batch-size", "4"),
        prepare=change_row(3, 51, lambda row: row.replace('"category": "', '"category": "warranty", "was": "')),
    ),
    Fault(
        name="assertion-rank1-tee",
        layout="tee",
        world_size=4,
        cause="python-exception",
        acceptable=("data-corrupt", "config-invalid"),
        initiating_ranks=(1,),
        evidence=("AssertionError: token 731 in row 37", "assert max(row"),
        arguments=(*ALL_RANKS, "--batch-size", "2"),
        prepare=change_row(1, 37, lambda row: row.replace('"tokens": [', '"tokens": [731, ', 1)),
    ),
    Fault(
        name="short-shard-rank2",
        layout="combined",
        world_size=4,
        cause="uneven-inputs",
        acceptable=("rank-missing-collective",),
        initiating_ranks=(2,),
        evidence=("shard exhausted after 24 steps", "[rank 2] INFO train: training finished"),
        notes="Rank 2 has 48 rows, the others 64; it ends well, and the others lose their peer in the next backward pass.",
        arguments=("--one-epoch", "--batch-size", "2", "--log-ranks", "all", "--timeout", "20"),
        prepare=keep_rows(2, 48),
    ),
]
