"""Starts its ranks itself with torch.multiprocessing. Knows no fault: `--callback` is what a user may have written."""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import timedelta
from pathlib import Path

import disturbance
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="spawned.py")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--timeout", type=float, default=20.0)
    parser.add_argument("--callback", action="store_true")
    return parser.parse_args()


def score(row: dict, limit: int) -> float:
    return len(row["tokens"]) / (limit - len(row["tokens"]))


def work(rank: int, arguments: argparse.Namespace, callback: object = None) -> None:
    dist.init_process_group("gloo", rank=rank, world_size=arguments.ranks, timeout=timedelta(seconds=arguments.timeout))
    rows = [json.loads(line) for line in Path(f"data/shard-{rank:05d}.jsonl").read_text().splitlines()]
    print(f"rank {rank}/{arguments.ranks}: {len(rows)} rows", flush=True)
    for step in range(1, arguments.steps + 1):
        disturbance.before_step(rank, step)
        total = torch.tensor([score(row, limit=24) for row in rows[step : step + 2]]).sum()
        dist.all_reduce(total)
        time.sleep(0.05)
        if step % 5 == 0:
            print(f"rank {rank}/{arguments.ranks}: step: {step}  score: {total.item():.3f}", flush=True)
    dist.destroy_process_group()


def main() -> None:
    arguments = parse_arguments()
    if arguments.callback:
        seen: list[int] = []
        mp.spawn(work, args=(arguments, lambda step: seen.append(step)), nprocs=arguments.ranks)
    else:
        mp.spawn(work, args=(arguments,), nprocs=arguments.ranks)
    print(f"{os.path.basename(__file__)}: all ranks finished", flush=True)


if __name__ == "__main__":
    main()
