"""Writes realistic logs of any size for benchmarks: a combined log of many ranks, or one file a rank.

The same arguments give the same bytes. Knows how training jobs print, and nothing of FirstFault.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

FAULTY_RANK = 37
_GPUS = 8
_START_S = 1_790_000_000


def _clock(seconds: float) -> str:
    """A time as logging prints it: `2026-09-21 14:13:20,512`."""
    import datetime as dt

    moment = dt.datetime.fromtimestamp(_START_S + seconds, dt.timezone.utc)
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}"


def _head(rank: int, ranks: int) -> Iterator[str]:
    """What one rank prints before its first step: NCCL's account of the network, channels and communicators."""
    node, gpu, pid = f"gpu-node-{rank // _GPUS:03d}", rank % _GPUS, 40_000 + rank
    nccl = f"{node}:{pid}:{pid + 900} [{gpu}] NCCL INFO"
    yield f"{node}:{pid}:{pid} [{gpu}] NCCL INFO Bootstrap: Using eth0:10.4.{rank // 250}.{rank % 250 + 1}<0>"
    yield f"{nccl} NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.4.0.{gpu}<0>"
    yield f"{nccl} Using network IB"
    place = f"rank {rank} nranks {ranks} cudaDev {gpu} nvmlDev {gpu} busId {gpu + 1}a000 commId 0x7c1e4b"
    yield f"{nccl} comm 0x{0x55D0_0000_0000 + rank * 4096:x} {place} - Init START"
    yield f"{nccl} Setting affinity for GPU {gpu} to ffffffff,00000000"
    for channel in range(8):
        yield f"{nccl} Channel {channel:02d}/0 : {rank}[{gpu}] -> {(rank + 1) % ranks}[{(gpu + 1) % _GPUS}] via P2P/CUMEM/read"
    yield f"{nccl} Connected all rings"
    yield f"{nccl} threadThresholds 8/8/64 | 512/8/64 | 512 | 512"
    yield f"{nccl} comm 0x{0x55D0_0000_0000 + rank * 4096:x} {place} - Init COMPLETE"


def _step(rank: int, step: int, at_s: float, loss: float, milliseconds: float) -> str:
    return (
        f"{_clock(at_s)} INFO trainer: step {step}/900000 loss: {loss:.4f} lr: 2.950e-04 grad_norm: {0.4 + loss / 9:.3f}"
        f" step time: {milliseconds:.1f} ms tokens/s: {8192000 / milliseconds:.0f} mem: 61.2 GB"
    )


def _bar(step: int, total: int) -> str:
    """A progress bar that was redrawn a few times over itself."""
    shown = []
    for i in range(max(0, step - 3), step + 1):
        done = 20 * i // total
        times = f"{i // 60:02d}:{i % 60:02d}<{(total - i) // 60:02d}:00,  1.02it/s"
        shown.append(f"Epoch 0: {100 * i // total:3d}%|{'█' * done}{' ' * (20 - done)}| {i}/{total} [{times}]")
    return "\r".join(shown)


def _now_and_then(rank: int, step: int, chance: random.Random) -> Iterator[str]:
    """Lines between the steps, most of them harmless."""
    if step % 50 == 0 and rank == 0:
        yield f"INFO checkpoint: saved /ckpt/run-7/step-{step} in {chance.uniform(8, 20):.1f} s"
    if step % 40 == 0:
        yield f"INFO data: shard {chance.randrange(4096)} opened, {chance.randrange(10_000)} samples in the shuffle buffer"
    if step % 97 == rank % 97:
        yield f"WARNING allocator: {chance.randrange(1, 4)} retries since the last report, reserved {chance.uniform(60, 70):.1f} GB"
    if step % 400 == 0:
        gpu = rank % _GPUS
        place = f"gpu-node-{rank // _GPUS:03d}:{40_000 + rank}:{41_000 + rank} [{gpu}]"
        yield f"{place} NCCL INFO Channel 03/1 : {rank}[{gpu}] -> {rank ^ 1}[{gpu ^ 1}] via P2P/CUMEM/read"


def _end(rank: int, ranks: int, step: int, at_s: float, faulty: int) -> Iterator[str]:
    """How one rank ends: the faulty one in its data, the others in a collective that it never entered."""
    if rank == faulty:
        yield "Traceback (most recent call last):"
        yield '  File "/job/train.py", line 212, in <module>'
        yield "    main()"
        yield '  File "/job/train.py", line 188, in main'
        yield "    batch = next(batches)"
        yield '  File "/job/data/packing.py", line 77, in __next__'
        yield '    return self.index[sample["uid"]]'
        yield "KeyError: 'uid'"
        return
    work = f"WorkNCCL(SeqNum={4 * step + 3}, OpType=ALLREDUCE, NumelIn=4194304, NumelOut=4194304, Timeout(ms)=600000)"
    ran = f"ran for {600_000 + rank * 7} milliseconds before timing out."
    caught = f"[Rank {rank}] Watchdog caught collective operation timeout: {work} {ran}"
    yield f"E{_glog(at_s + 600)} {40_000 + rank} ProcessGroupNCCL.cpp:632] {caught}"
    yield (
        f"E{_glog(at_s + 601)} {40_000 + rank} ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] "
        f"Process group watchdog thread terminated with exception: {caught}"
    )


def _glog(at_s: float) -> str:
    import datetime as dt

    moment = dt.datetime.fromtimestamp(_START_S + at_s, dt.timezone.utc)
    return f"{moment:%m%d %H:%M:%S}.{moment.microsecond:06d}"


def _marked(rank: int, texts: Iterator[str], mark: bool) -> list[str]:
    return [f"[default{rank % _GPUS}]:[rank{rank}]: {text}" if mark else text for text in texts]


def _steps(ranks: range, size: int, chance: random.Random, mark: bool) -> Iterator[tuple[list[str], int, float]]:
    """The steps of the ranks in pieces until about `size` bytes were written, each with the step and the time it ends at."""
    step, at_s, written = 0, 60.0, 0
    while written < size:
        step += 1
        at_s += 0.98
        piece: list[str] = []
        for rank in ranks:
            milliseconds = 975 + chance.random() * 12
            loss = 2 + 6 / (1 + step / 900) + chance.random() / 20
            piece += _marked(rank, iter((_step(rank, step, at_s, loss, milliseconds), *_now_and_then(rank, step, chance))), mark)
        if ranks[0] == 0 and step % 5 == 0:
            piece += _marked(0, iter((_bar(step % 900, 900),)), mark)
        written += sum(map(len, piece)) + len(piece)
        yield piece, step, at_s


def write_combined(path: Path, size: int, ranks: int = 64) -> None:
    """One log of about `size` bytes in which all ranks of a job write; one of them fails near the end."""
    step, at_s = 0, 0.0
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for rank in range(ranks):
            out.write("".join(f"{text}\n" for text in _marked(rank, _head(rank, ranks), True)))
        for piece, step, at_s in _steps(range(ranks), size, random.Random(7), True):  # noqa: B007  the last ones are used
            out.write("".join(f"{text}\n" for text in piece))
        for rank in range(ranks):
            out.write("".join(f"{text}\n" for text in _marked(rank, _end(rank, ranks, step, at_s, FAULTY_RANK % ranks), True)))


def write_rank_files(folder: Path, files: int, size: int) -> None:
    """One log of about `size` bytes for every rank of a job; one of them fails near its end.

    The steps of every eighth rank are the same bytes, since ten gigabytes are not written line by line.
    """
    folder.mkdir(parents=True, exist_ok=True)
    steps: list[tuple[bytes, int, float]] = []
    for variant in range(min(_GPUS, files)):
        texts: list[str] = []
        step, at_s = 0, 0.0
        for piece, step, at_s in _steps(range(variant, variant + 1), size, random.Random(variant), False):  # noqa: B007
            texts += piece
        steps.append(("".join(f"{text}\n" for text in texts).encode(), step, at_s))
    for rank in range(files):
        body, step, at_s = steps[rank % len(steps)]
        head = "".join(f"{text}\n" for text in _head(rank, files))
        end = "".join(f"{text}\n" for text in _end(rank, files, step, at_s, FAULTY_RANK % files))
        (folder / f"rank_{rank}.log").write_bytes(head.encode() + body + end.encode())
