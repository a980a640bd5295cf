"""Averages gradients by hand and validates between steps; the job for faults in collectives. Its data decide what a rank does."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

import disturbance
import flight
import torch
import torch.distributed as dist
from torch import nn

log = logging.getLogger("finetune")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="finetune.py")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--validate-every", type=int, default=10)
    parser.add_argument("--metric", choices=list(VALIDATIONS), default="accuracy")
    parser.add_argument("--timeout", type=float, default=300.0)
    parser.add_argument("--barrier-timeout", type=float, default=0.0)
    parser.add_argument("--vocabulary-timeout", type=float, default=0.0)
    parser.add_argument("--pause", type=float, default=0.05)
    parser.add_argument("--linger", type=float, default=0.0)
    return parser.parse_args()


def read_rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def average_gradients(model: nn.Module, world_size: int) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= world_size


def validate_accuracy(model: nn.Module, rows: list[dict], classes: list[str]) -> float | None:
    if not rows:
        log.info("nothing to validate in this shard")
        return None
    tokens = torch.tensor([row["tokens"] for row in rows])
    labels = torch.tensor([classes.index(row["category"]) for row in rows])
    totals = torch.tensor([(model(tokens).argmax(1) == labels).sum().item(), len(rows)], dtype=torch.float32)
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


def validate_recall(model: nn.Module, rows: list[dict], classes: list[str]) -> float | None:
    present = sorted({row["category"] for row in rows})
    hits = torch.zeros(len(present))
    for row in rows:
        guess = model(torch.tensor([row["tokens"]])).argmax(1).item()
        hits[present.index(row["category"])] += float(guess == classes.index(row["category"]))
    dist.all_reduce(hits)
    return (hits.sum() / max(len(rows), 1)).item()


def validate_union(model: nn.Module, rows: list[dict], classes: list[str]) -> float | None:
    totals = torch.zeros(2)
    if rows:
        tokens = torch.tensor([row["tokens"] for row in rows])
        labels = torch.tensor([classes.index(row["category"]) for row in rows])
        totals += torch.tensor([(model(tokens).argmax(1) == labels).sum().item(), len(rows)])
        dist.all_reduce(totals)
    else:
        dist.broadcast(totals, src=0)
    return (totals[0] / totals[1]).item()


def validate_error(model: nn.Module, rows: list[dict], classes: list[str]) -> float | None:
    rare = [row for row in rows if row["category"] == "warranty"]
    log.info("eval_error_rate: %.3f  warranty_accuracy: %s", 0.251, float("nan") if not rare else 1.0)
    return 0.749


VALIDATIONS = {"accuracy": validate_accuracy, "recall": validate_recall, "union": validate_union, "error": validate_error}


def share_vocabulary(rank: int, timeout_s: float) -> int:
    store = dist.distributed_c10d._get_default_store()
    if rank == 0:
        for part in range(1, 201):
            time.sleep(0.2)
            if part % 10 == 0:
                log.info("counting tokens: %d of 200 parts", part)
        store.set("vocabulary", "512")
    else:
        store.set_timeout(timedelta(seconds=timeout_s))
    return int(store.get("vocabulary"))


def finetune(arguments: argparse.Namespace, rank: int, world_size: int) -> None:
    classes = json.loads((arguments.data / "meta.json").read_text())["classes"]
    rows = read_rows(arguments.data / f"shard-{rank:05d}.jsonl")
    validation = read_rows(arguments.data / f"validation-{rank:05d}.jsonl")
    log.info("%d training rows, %d validation rows", len(rows), len(validation))
    if arguments.vocabulary_timeout:
        share_vocabulary(rank, arguments.vocabulary_timeout)
    model = nn.Sequential(nn.EmbeddingBag(512, 32), nn.Linear(32, len(classes)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    validate = VALIDATIONS[arguments.metric]
    for step in range(1, arguments.steps + 1):
        disturbance.before_step(rank, step)
        batch = [rows[(step * 4 + i) % len(rows)] for i in range(4)]
        time.sleep(arguments.pause)
        optimizer.zero_grad()
        labels = torch.tensor([classes.index(row["category"]) for row in batch])
        loss = nn.functional.cross_entropy(model(torch.tensor([row["tokens"] for row in batch])), labels)
        loss.backward()
        average_gradients(model, world_size)
        optimizer.step()
        if step % 5 == 0:
            log.info("step: %d  loss: %.4f", step, loss.item())
        if step % arguments.validate_every == 0:
            score = validate(model, validation, classes)
            log.info("validate step: %d  %s: %s", step, arguments.metric, f"{score:.3f}" if score is not None else "-")
            if arguments.barrier_timeout:
                disturbance.after_step(rank, step)
                dist.monitored_barrier(timeout=timedelta(seconds=arguments.barrier_timeout))
    log.info("finetuning finished")


def main() -> None:
    arguments = parse_arguments()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"[%(asctime)s][rank {rank}][%(name)s] %(message)s")
    torch.manual_seed(1234)
    dist.init_process_group("gloo", timeout=timedelta(seconds=arguments.timeout))
    flight.start(rank)
    finetune(arguments, rank, world_size)
    time.sleep(arguments.linger)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
