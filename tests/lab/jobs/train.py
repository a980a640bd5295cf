"""Trains a small text classifier with DistributedDataParallel on Gloo; the laboratory's ordinary job. Knows of no fault: `disturbance` may act between steps."""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

import disturbance

VOCABULARY = 512
log = logging.getLogger("train")


class TicketDataset(Dataset):
    """Support tickets of one rank's shard, one JSON object a line."""

    def __init__(self, folder: Path, rank: int, classes: list[str]) -> None:
        self.folder = folder
        self.attachments: list[BinaryIO] = []
        self.rows = (folder / f"shard-{rank:05d}.jsonl").read_text().splitlines()
        self.class_index = {name: i for i, name in enumerate(classes)}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        row = json.loads(self.rows[index])
        assert max(row["tokens"]) < VOCABULARY, f"token {max(row['tokens'])} in row {index} is outside of the vocabulary"
        if "attachment" in row:
            self.attachments.append(open(self.folder / row["attachment"], "rb"))
        tokens = torch.tensor(row["tokens"], dtype=torch.long)
        return tokens, self.class_index[row["category"]]


class Classifier(nn.Module):
    """Bag of embeddings and two linear layers."""

    def __init__(self, vocabulary: int, width: int, classes: int) -> None:
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocabulary, width)
        self.hidden = nn.Linear(width, width)
        self.auxiliary = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor, use_auxiliary: bool = True) -> torch.Tensor:
        x = torch.relu(self.hidden(self.embedding(tokens)))
        if use_auxiliary:
            x = x + self.auxiliary(x)
        return self.head(x)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=5)
    parser.add_argument("--log-ranks", choices=["first", "all"], default="first")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a collective may take")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds of simulated compute a step")
    parser.add_argument("--checkpoint-every", type=int, default=0)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"))
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--freeze-auxiliary", action="store_true")
    parser.add_argument("--check-loss", action="store_true")
    parser.add_argument("--one-epoch", action="store_true", help="stop when this rank's shard is read")
    return parser.parse_args()


def set_up_logging(rank: int, ranks: str) -> None:
    level = logging.INFO if ranks == "all" or rank == 0 else logging.WARNING
    logging.basicConfig(stream=sys.stdout, level=level, format=f"%(asctime)s [rank {rank}] %(levelname)s %(name)s: %(message)s")


def load_checkpoint(path: Path, model: nn.Module) -> int:
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(state["model"])
    return int(state["step"])


def save_checkpoint(folder: Path, model: nn.Module, step: int) -> None:
    path = folder / f"step-{step:06d}.pt"
    torch.save({"model": model.state_dict(), "step": step}, path)
    with open(folder / "latest.json", "w") as latest:
        json.dump({"step": step, "path": str(path)}, latest)
    log.info("saved checkpoint %s", path)


def batches(loader: DataLoader) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    while True:
        yield from loader


def train(arguments: argparse.Namespace, rank: int, world_size: int) -> None:
    meta = json.loads((arguments.data / "meta.json").read_text())
    dataset = TicketDataset(arguments.data, rank, meta["classes"])
    loader = DataLoader(dataset, batch_size=arguments.batch_size, num_workers=arguments.workers, drop_last=True)
    model = Classifier(VOCABULARY, arguments.width, len(meta["classes"]))
    first_step = 1
    if arguments.resume:
        first_step = load_checkpoint(arguments.resume, model) + 1
        log.info("resumed from %s at step %d", arguments.resume, first_step)
    replica = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(replica.parameters(), lr=arguments.lr)
    criterion = nn.CrossEntropyLoss()
    log.info("world size %d, %d rows in this shard, %d parameters", world_size, len(dataset), sum(p.numel() for p in model.parameters()))

    stream = iter(loader) if arguments.one_epoch else batches(loader)
    for step in range(first_step, arguments.steps + 1):
        started = time.perf_counter()
        disturbance.before_step(rank, step)
        batch = next(stream, None)
        if batch is None:
            log.info("shard exhausted after %d steps", step - 1)
            break
        tokens, labels = batch
        time.sleep(arguments.pause)
        optimizer.zero_grad()
        loss = criterion(replica(tokens, not arguments.freeze_auxiliary), labels)
        loss.backward()
        optimizer.step()
        disturbance.after_step(rank, step)
        if arguments.check_loss and not math.isfinite(loss.item()):
            raise FloatingPointError(f"loss is {loss.item()} at step {step}")
        if step % arguments.log_every == 0:
            log.info("step: %d  loss: %.4f  lr: %.2e  step_time: %.3fs", step, loss.item(), arguments.lr, time.perf_counter() - started)
        if arguments.checkpoint_every and step % arguments.checkpoint_every == 0 and rank == 0:
            save_checkpoint(arguments.checkpoints, model, step)
    log.info("training finished")


def main() -> None:
    arguments = parse_arguments()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    set_up_logging(rank, arguments.log_ranks)
    torch.manual_seed(1234)
    dist.init_process_group("gloo", timeout=timedelta(seconds=arguments.timeout))
    train(arguments, rank, world_size)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
