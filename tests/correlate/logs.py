"""Builds the lines that real programs print, so that a test states only what matters to it."""

from __future__ import annotations


def join(*parts):
    """Lines, or pieces of several, as one log."""
    return "\n".join(parts) + "\n"


def stamp(second):
    """A glog time `second` seconds after 10:00 on 2 November."""
    second += 36_000
    return f"1102 {int(second) // 3600:02d}:{int(second) // 60 % 60:02d}:{int(second) % 60:02d}.{int(second % 1 * 1e9):09d}"


def timeout(rank, second, seq=42, op="ALLREDUCE", numel=1024, timeout_ms=600_000, ran_ms=None, group="PG ID 0 PG GUID 0(default_pg) Rank {rank}"):
    """A watchdog line of torch 2.5 and newer."""
    ran = timeout_ms + 60 if ran_ms is None else ran_ms
    where = group.format(rank=rank)
    return (
        f"[rank{rank}]:[E{stamp(second)} ProcessGroupNCCL.cpp:632] [{where}] Watchdog caught collective operation timeout: "
        f"WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={numel}, NumelOut={numel}, Timeout(ms)={timeout_ms}) ran for {ran} milliseconds before timing out."
    )


def status(rank, second, enqueued, completed, stuck=42, group="default_pg"):
    """A status line that follows a watchdog line."""
    return (
        f"[rank{rank}]:[E{stamp(second)} ProcessGroupNCCL.cpp:2271] [PG ID 0 PG GUID 0({group}) Rank {rank}]  failure detected by watchdog at "
        f"work sequence id: {stuck} PG status: last enqueued work: {enqueued}, last completed work: {completed}"
    )


def dump_signal(rank, second, enqueued, completed, detector=1):
    """What a rank prints that another rank told to dump its flight recorder."""
    return (
        f"[rank{rank}]:[E{stamp(second)} ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Received a dump signal due to a "
        f"collective timeout from  rank {detector} and we will try our best to dump the debug info. Last enqueued NCCL work: {enqueued}, "
        f"last completed NCCL work: {completed}.This is most likely caused by incorrect usages of collectives"
    )


def traceback(error, prefix="", file="/job/train.py", line=42, code="loss = step(batch)"):
    """A traceback of one frame."""
    rows = ["Traceback (most recent call last):", f'  File "{file}", line {line}, in main', f"    {code}", error]
    return "\n".join(prefix + row for row in rows)


def gloo_closed(rank):
    """What a survivor prints when its peer is gone."""
    return traceback(
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.3]:41234",
        prefix=f"[rank{rank}]: ",
        code="work.wait()",
    )


def exit_entry(index, rank, local_rank, code, pid, host="gpu-01", time="2026-11-02_10:20:00", said="To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"):
    """One entry of torchrun's summary."""
    return "\n".join(
        [
            f"[{index}]:",
            f"  time      : {time}",
            f"  host      : {host}",
            f"  rank      : {rank} (local_rank: {local_rank})",
            f"  exitcode  : {code} (pid: {pid})",
            "  error_file: <N/A>",
            f"  traceback : {said}",
        ]
    )


def summary(root, *others):
    """torchrun's closing summary."""
    bar = "=" * 60
    thin = "-" * 60
    body = "\n".join(others) if others else "  <NO_OTHER_FAILURES>"
    return f"{bar}\ntrain.py FAILED\n{thin}\nFailures:\n{body}\n{thin}\nRoot Cause (first observed failure):\n{root}\n{bar}"


def sigterms(*pids, second=1200):
    """The agent stops the survivors."""
    return "\n".join(f"W{stamp(second)} 900 torch/distributed/elastic/multiprocessing/api.py:900] Sending process {p} closing signal SIGTERM" for p in pids)


def failed(code, local_rank, pid, second=1201):
    """The agent's line on the first exit that it noticed."""
    return f"E{stamp(second)} 900 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {code}) local_rank: {local_rank} (pid: {pid}) of binary: /usr/bin/python"


def steps(first, last, ranks=(0,), second=0.0, each=1.0):
    """Progress lines of the given ranks."""
    out = []
    for i, step in enumerate(range(first, last + 1)):
        at = 36_000 + second + i * each
        clock = f"2026-11-02 {int(at) // 3600:02d}:{int(at) // 60 % 60:02d}:{int(at) % 60:02d},{int(at % 1 * 1000):03d}"
        out += [f"[rank{r}]: {clock} - root - INFO - step: {step}  loss: 2.31  tps: 5,012" for r in ranks]
    return "\n".join(out)


def nccl_init(rank, size, host, pid, device, bus):
    """The line that maps a process to its rank, device and bus id."""
    return f"{host}:{pid}:{pid + 50} [{device}] NCCL INFO ncclCommInitRank comm 0x7f0{rank} rank {rank} nranks {size} cudaDev {device} nvmlDev {device} busId {bus} commId 0x1 - Init COMPLETE"
