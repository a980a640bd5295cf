"""Sums within pairs of ranks and then across the pairs, as tensor and data parallelism do. Knows no fault."""

from __future__ import annotations

import logging
import os
import sys
import time
from datetime import timedelta

import disturbance
import flight
import torch
import torch.distributed as dist

log = logging.getLogger("subgroups")


def main() -> None:
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(name)s: %(message)s")
    dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    pairs = [dist.new_group([first, first + 1], group_desc="tensor_parallel") for first in range(0, world_size, 2)]
    across = [dist.new_group(list(range(first, world_size, 2)), group_desc="data_parallel") for first in (0, 1)]
    flight.start(rank)
    for step in range(1, 41):
        activations, gradients = torch.ones(16), torch.ones(64)
        if not disturbance.skips(rank, step):
            dist.all_reduce(activations, group=pairs[rank // 2])
        disturbance.before_step(rank, step)
        dist.all_reduce(activations, group=pairs[rank // 2])
        dist.all_reduce(gradients, group=across[rank % 2])
        time.sleep(0.05)
        if step % 5 == 0:
            log.info("step: %d", step)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
