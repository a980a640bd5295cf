"""What a fault of the laboratory is: how its job is started and harmed, and the truth. Does not know how a job is run or judged."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Truth:
    """The right answer, known because the fault was injected.

    `initiating_ranks` are global ranks: `()` means every rank alike, `None` that the log cannot tell.
    `acceptable_ranks` are further right answers.
    `determinable` is false where the log alone cannot show the cause: the right report is not *established* and names a missing fact.
    `evidence_contains` are texts of lines that decide, `collateral_contains` of lines that look like the cause and are only downstream.
    """

    cause: str
    acceptable: tuple[str, ...]
    initiating_ranks: tuple[int, ...] | None
    acceptable_ranks: tuple[tuple[int, ...] | None, ...]
    determinable: bool
    world_size: int
    evidence_contains: tuple[str, ...]
    collateral_contains: tuple[str, ...]
    notes: str

    @property
    def healthy(self) -> bool:
        """Whether the right report has no incident of severity error."""
        return self.cause == "healthy"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form that is stored beside a recorded log."""
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Truth:
        """The truth from its JSON form."""
        return cls(**{name: _frozen(value) for name, value in data.items()})


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


GLOO_CLOSED = "Connection closed by peer"
GLOO_RESET = "Connection reset by peer"
GLOO_TIMED_OUT = "ms for recv operation to complete"
GLOO_TIMED_OUT_SENDING = "ms for send operation to complete"
GLOO_FAILED = (GLOO_CLOSED, GLOO_RESET, GLOO_TIMED_OUT, GLOO_TIMED_OUT_SENDING)
TERMINATED = "(SIGTERM)"
CLOSING = "closing signal SIGTERM"
DOWNSTREAM = (*GLOO_FAILED, TERMINATED, CLOSING)


@dataclass(frozen=True)
class Fault:
    """One fault in one layout: everything needed to run it and to judge a diagnosis of it.

    `layout` names a function of `layouts`; `arguments` go to the job, `launcher` to torchrun, `environment` to every process of the job
    (`{node}` in a value is the number of the node).
    `repeatable` is false where the log depends on a race, so that the recording is kept and a live run may differ.
    `disturbance` is the plan of `jobs/disturbance.py`; `prepare` changes the job folder (data, checkpoints) before the start.
    `first_run` are the arguments of an earlier run of train.py on one rank whose checkpoints the job finds; `prepare` comes after it.
    `cut_after_s` sends `cut_signal` to the launchers after that many seconds, as a time limit or a person would.
    `occupy_port` has another program listen on the rendezvous port first. `absent_ranks` are never started where there is
    no agent. With two nodes, `nodes` are the ones that start,
    `kill_node_at` is a node that dies with all its ranks and after how many seconds, `master` the address that every node is told.
    """

    name: str
    layout: str
    world_size: int
    cause: str
    initiating_ranks: tuple[int, ...] | None
    acceptable: tuple[str, ...] = ()
    acceptable_ranks: tuple[tuple[int, ...] | None, ...] = ()
    determinable: bool = True
    evidence: tuple[str, ...] = ()
    collateral: tuple[str, ...] = DOWNSTREAM
    notes: str = ""
    repeatable: bool = True
    script: str = "train.py"
    arguments: tuple[str, ...] = ()
    launcher: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    disturbance: Mapping[str, Any] | None = None
    prepare: Callable[[Path], None] | None = None
    first_run: tuple[str, ...] = ()
    cut_after_s: float | None = None
    cut_signal: int = signal.SIGTERM
    occupy_port: bool = False
    absent_ranks: tuple[int, ...] = ()
    nodes: tuple[int, ...] = (0, 1)
    kill_node_at: tuple[int, float] | None = None
    master: str = "127.0.0.1"

    @property
    def truth(self) -> Truth:
        """The right answer for a log of this fault."""
        return Truth(
            cause=self.cause,
            acceptable=self.acceptable,
            initiating_ranks=self.initiating_ranks,
            acceptable_ranks=self.acceptable_ranks,
            determinable=self.determinable,
            world_size=self.world_size,
            evidence_contains=self.evidence,
            collateral_contains=self.collateral,
            notes=self.notes,
        )
