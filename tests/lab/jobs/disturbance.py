"""Harms the process it runs in, at the step, rank and attempt that LAB_DISTURBANCE names. Does not know what the job computes.

LAB_DISTURBANCE is a JSON object: {"kind": "kill", "ranks": [2], "step": 12, "attempts": [0]}; without it nothing happens.
Everything here ends without a Python traceback of its own, so that a log never shows the laboratory.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import threading
import time
from multiprocessing import active_children
from typing import Any

PLAN: dict[str, Any] = json.loads(os.environ.get("LAB_DISTURBANCE", "{}"))


def _due(rank: int, step: int, when: str) -> bool:
    if not PLAN or rank not in PLAN["ranks"] or PLAN.get("when", "before") != when:
        return False
    if int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) not in PLAN.get("attempts", [0]):
        return False
    return step >= PLAN["step"] if PLAN.get("repeat") else step == PLAN["step"]


def skips(rank: int, step: int) -> bool:
    """Whether the plan has this rank leave out a collective at this step; the job asks where a real one would have a wrong condition."""
    return PLAN.get("kind") == "skip" and _due(rank, step, "before")


def _act() -> None:
    kind = PLAN["kind"]
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif kind == "segfault":
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "crash-in-copy":
        threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGSEGV)).start()
    elif kind == "abort":
        os.abort()
    elif kind == "bus":
        os.kill(os.getpid(), signal.SIGBUS)
    elif kind == "illegal":
        os.kill(os.getpid(), signal.SIGILL)
    elif kind == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif kind == "sleep":
        time.sleep(PLAN["seconds"])
    elif kind == "exit":
        os._exit(PLAN["code"])
    elif kind == "limit-files":
        resource.setrlimit(resource.RLIMIT_NOFILE, (PLAN["files"], PLAN["files"]))
    elif kind == "limit-memory":
        used_bytes = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used_bytes + (PLAN["mb"] << 20),) * 2)
    elif kind == "kill-loader":
        active_children()[0].kill()
    elif kind == "kill-loader-soon":
        threading.Timer(0.1, active_children()[0].kill).start()
    else:
        raise SystemExit(f"unknown disturbance {kind}")


def before_step(rank: int, step: int) -> None:
    if PLAN.get("kind") != "skip" and _due(rank, step, "before"):
        _act()


def after_step(rank: int, step: int) -> None:
    if _due(rank, step, "after"):
        _act()
