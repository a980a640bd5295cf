"""Trains a small classifier with DistributedDataParallel on Gloo: the ordinary job. Knows no fault: `disturbance` acts between steps."""

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

import disturbance
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

VOCABULARY = 512
log = logging.getLogger("train")


class TicketDataset(Dataset):
    """Support tickets of one rank's shard, one JSON object a line."""

    def __init__(self, folder: Path, rank: int, classes: list[str], replace_bad_rows: bool) -> None:
        self.folder = folder
        self.replace_bad_rows = replace_bad_rows
        self.attachments: list[BinaryIO] = []
        self.cache = bytearray()
        self.rows = (folder / f"shard-{rank:05d}.jsonl").read_text().splitlines()
        self.class_index = {name: i for i, name in enumerate(classes)}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int, float]:
        row = json.loads(self.rows[index])
        assert max(row["tokens"]) < VOCABULARY, f"token {max(row['tokens'])} in row {index} is outside of the vocabulary"
        if "attachment" in row:
            self.attachments.append(open(self.folder / row["attachment"], "rb"))
        tokens = torch.tensor(row["tokens"], dtype=torch.long)
        try:
            return tokens, self.class_index[row["category"]], row.get("weight", 1.0)
        except KeyError:
            if not self.replace_bad_rows:
                raise
            log.exception("row %d has an unknown category, it counts with weight 0", index)
            return tokens, 0, 0.0

    def grow_cache(self, megabytes: int) -> None:
        self.cache = bytearray(len(self.cache) + (megabytes << 20))


class Classifier(nn.Module):
    """Bag of embeddings and two linear layers."""

    def __init__(self, vocabulary: int, width: int, classes: int, normalise: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width) if normalise else nn.Identity()
        self.embedding = nn.EmbeddingBag(vocabulary, width)
        self.hidden = nn.Linear(width, width)
        self.auxiliary = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens: torch.Tensor, use_auxiliary: bool = True) -> torch.Tensor:
        x = torch.relu(self.hidden(self.norm(self.embedding(tokens))))
        if use_auxiliary:
            x = x + self.auxiliary(x)
        return self.head(x)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="train.py")
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--normalise", action="store_true")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--optimizer", default="SGD")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--log-every", type=int, default=5)
    parser.add_argument("--log-ranks", choices=["first", "all"], default="first")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a collective may take")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds of simulated compute a step")
    parser.add_argument("--checkpoint-every", type=int, default=0)
    parser.add_argument("--checkpoints", type=Path, default=Path("checkpoints"))
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--freeze-auxiliary", action="store_true")
    parser.add_argument("--find-unused-parameters", action="store_true")
    parser.add_argument("--report-s", type=float, default=0.0, help="seconds that writing the report takes")
    parser.add_argument("--check-loss", action="store_true")
    parser.add_argument("--one-epoch", action="store_true", help="stop when this rank's shard is read")
    parser.add_argument("--cache-mb", type=int, default=0, help="memory to add to the row cache every step")
    parser.add_argument("--similarity-rows", type=int, default=0, help="rows to compare with each other every 10 steps")
    parser.add_argument("--skip-bad-rows", action="store_true")
    parser.add_argument("--replace-bad-rows", action="store_true")
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
    with open(path.with_suffix(".json"), "w") as description:
        json.dump({"step": step, "parameters": sum(p.numel() for p in model.parameters())}, description)
    log.info("saved checkpoint %s", path)


def latest_checkpoint(folder: Path) -> Path | None:
    complete = sorted(path for path in folder.glob("step-*.json") if path.is_file())
    return complete[-1].with_suffix(".pt") if complete else None


def batches(loader: DataLoader) -> Iterator[list[torch.Tensor]]:
    while True:
        yield from loader


def next_batch(stream: Iterator[list[torch.Tensor]], skip_bad_rows: bool) -> list[torch.Tensor] | None:
    while True:
        try:
            return next(stream, None)
        except KeyError:
            if not skip_bad_rows:
                raise
            log.exception("skipping a batch with a bad row")


def train(arguments: argparse.Namespace, rank: int, world_size: int) -> None:
    meta = json.loads((arguments.data / "meta.json").read_text())
    dataset = TicketDataset(arguments.data, rank, meta["classes"], arguments.replace_bad_rows)
    loader = DataLoader(dataset, batch_size=arguments.batch_size, num_workers=arguments.workers, drop_last=True)
    model = Classifier(VOCABULARY, meta.get("width", {}).get(str(rank), arguments.width), len(meta["classes"]), arguments.normalise)
    first_step = 1
    resume = arguments.resume or latest_checkpoint(arguments.checkpoints)
    if resume:
        first_step = load_checkpoint(resume, model) + 1
        log.info("resumed from %s at step %d", resume, first_step)
    replica = DistributedDataParallel(model, find_unused_parameters=arguments.find_unused_parameters)
    optimizer = getattr(torch.optim, arguments.optimizer)(replica.parameters(), lr=arguments.lr)
    criterion = nn.CrossEntropyLoss(reduction="none")
    log.info("world size %d, %d rows in this shard, %d parameters", world_size, len(dataset), sum(p.numel() for p in model.parameters()))

    stream = iter(loader) if arguments.one_epoch else batches(loader)
    for step in range(first_step, arguments.steps + 1):
        started = time.perf_counter()
        disturbance.before_step(rank, step)
        batch = next_batch(stream, arguments.skip_bad_rows)
        if batch is None:
            log.info("shard exhausted after %d steps", step - 1)
            break
        tokens, labels, weights = batch
        if arguments.similarity_rows and step % 10 == 0:
            log.info("similarity buffer of %d rows", compare(arguments.similarity_rows).shape[0])
        if arguments.cache_mb:
            dataset.grow_cache(arguments.cache_mb)
        time.sleep(arguments.pause)
        optimizer.zero_grad()
        loss = (criterion(replica(tokens, not arguments.freeze_auxiliary), labels) * weights).mean()
        computed = time.perf_counter()
        loss.backward()
        optimizer.step()
        disturbance.after_step(rank, step)
        if arguments.check_loss and not math.isfinite(loss.item()):
            raise FloatingPointError(f"loss is {loss.item()} at step {step}")
        if step % arguments.log_every == 0:
            report(step, loss.item(), arguments.lr, computed - started, time.perf_counter() - started)
        if arguments.checkpoint_every and step % arguments.checkpoint_every == 0 and rank == 0:
            save_checkpoint(arguments.checkpoints, model, step)
    if arguments.report_s:
        log.info("writing the report")
        time.sleep(arguments.report_s)
    log.info("training finished")


def compare(rows: int) -> torch.Tensor:
    return torch.empty(rows, rows)


def report(step: int, loss: float, lr: float, compute_s: float, step_s: float) -> None:
    log.info("step: %d  loss: %.4f  lr: %.2e  compute: %.3fs  step_time: %.3fs", step, loss, lr, compute_s, step_s)


def meet(rank: int, world_size: int, timeout: timedelta) -> None:
    backend, attempt = os.environ.get("BACKEND", "gloo"), os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    if attempt == "0" or "REUSE_STORE" in os.environ:
        dist.init_process_group(backend, timeout=timeout)
    else:  # The agent's store still holds the addresses of the attempt before; a prefix keeps them apart.
        address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = dist.TCPStore(address, port, world_size, is_master=False, timeout=timeout)
        dist.init_process_group(
            backend, store=dist.PrefixStore(f"attempt-{attempt}", store), rank=rank, world_size=world_size, timeout=timeout
        )


def main() -> None:
    arguments = parse_arguments()
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    set_up_logging(rank, arguments.log_ranks)
    torch.manual_seed(1234)
    meet(rank, world_size, timedelta(seconds=arguments.timeout))
    train(arguments, rank, world_size)
    dist.destroy_process_group()


if __name__ == "__main__":
    (record(main) if "RECORD_ERRORS" in os.environ else main)()
