"""Writes the data of the laboratory's jobs, and the damage that some faults do to it. The same bytes every time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

CLASSES = ("billing", "delivery", "login", "refund")
VOCABULARY = 512
ROWS = 64


def write_data(folder: Path, ranks: int) -> None:
    """A shard of support tickets for each rank under `folder`/data, its validation rows, and meta.json with the names of the classes."""
    data = folder / "data"
    data.mkdir()
    (data / "meta.json").write_text(json.dumps({"classes": CLASSES}))
    source = random.Random(7)
    for rank in range(ranks):
        rows = [{"tokens": [source.randrange(VOCABULARY) for _ in range(12)], "category": source.choice(CLASSES)} for _ in range(ROWS)]
        shard(folder, rank).write_text("".join(json.dumps(row) + "\n" for row in rows))
        validation(folder, rank).write_text("".join(json.dumps(row) + "\n" for row in rows[:16]))


def validation(folder: Path, rank: int) -> Path:
    """The validation rows of a rank."""
    return folder / "data" / f"validation-{rank:05d}.jsonl"


def shard(folder: Path, rank: int) -> Path:
    """The shard of a rank."""
    return folder / "data" / f"shard-{rank:05d}.jsonl"


def change_row(rank: int, number: int, change: Callable[[str], str]) -> Callable[[Path], None]:
    """A preparation that changes one row (counted from 0) of one rank's shard."""

    def prepare(folder: Path) -> None:
        rows = shard(folder, rank).read_text().splitlines()
        rows[number] = change(rows[number])
        shard(folder, rank).write_text("\n".join(rows) + "\n")

    return prepare


def keep_rows(rank: int, count: int) -> Callable[[Path], None]:
    """A preparation that leaves only the first rows of one rank's shard."""

    def prepare(folder: Path) -> None:
        rows = shard(folder, rank).read_text().splitlines()
        shard(folder, rank).write_text("\n".join(rows[:count]) + "\n")

    return prepare


def remove_shard(rank: int) -> Callable[[Path], None]:
    """A preparation that deletes one rank's shard."""

    def prepare(folder: Path) -> None:
        shard(folder, rank).unlink()

    return prepare


def add_attachments(folder: Path) -> None:
    """Gives every row of every shard a small file of its own."""
    attachments = folder / "data" / "attachments"
    attachments.mkdir()
    for path in sorted((folder / "data").glob("shard-*.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for number, row in enumerate(rows):
            row["attachment"] = f"attachments/{path.stem}-{number:04d}.bin"
            (folder / "data" / row["attachment"]).write_bytes(b"PDF")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def full_disk_at(name: str) -> Callable[[Path], None]:
    """A preparation after which writing to `name` in the job folder finds no space left."""

    def prepare(folder: Path) -> None:
        (folder / name).symlink_to("/dev/full")

    return prepare


def keep_validation(rank: int, keep: Callable[[str], bool]) -> Callable[[Path], None]:
    """A preparation that leaves only some of one rank's validation rows."""

    def prepare(folder: Path) -> None:
        rows = validation(folder, rank).read_text().splitlines()
        validation(folder, rank).write_text("".join(row + "\n" for row in rows if keep(row)))

    return prepare


def change_meta(**values: object) -> Callable[[Path], None]:
    """A preparation that changes meta.json."""

    def prepare(folder: Path) -> None:
        path = folder / "data" / "meta.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return prepare
