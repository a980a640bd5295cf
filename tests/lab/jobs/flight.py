"""Writes the flight recorder of this rank LAB_FLIGHT_AT_S seconds after the ranks have met, and ends the rank. Knows no fault."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import torch


def _write(rank: int) -> None:
    folder = Path("flight")
    folder.mkdir(exist_ok=True)
    if os.environ.get("LAB_FLIGHT_FORM") == "json":
        (folder / f"nccl_trace_rank_{rank}.json").write_bytes(torch._C._distributed_c10d._dump_fr_trace_json())
    else:
        (folder / f"nccl_trace_rank_{rank}").write_bytes(torch._C._distributed_c10d._dump_fr_trace())
    time.sleep(2)  # The peers write at about the same time; a rank that left earlier would break their connections first.
    os._exit(0)


def start(rank: int) -> None:
    """Starts the clock, where LAB_FLIGHT_AT_S is set. The dump is written while the main thread waits in a collective."""
    if "LAB_FLIGHT_AT_S" in os.environ:
        timer = threading.Timer(float(os.environ["LAB_FLIGHT_AT_S"]), _write, (rank,))
        timer.daemon = True
        timer.start()
