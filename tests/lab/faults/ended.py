"""Jobs that are ended from outside while all is well with them. Does not hold jobs that hung before."""

from __future__ import annotations

import signal

from tests.lab.fault import CLOSING, Fault

ENDLESS = ("--log-ranks", "all", "--steps", "100000", "--log-every", "40")

FAULTS = [
    Fault(
        name="cancelled-while-training",
        layout="combined",
        world_size=4,
        cause="job-cancelled",
        acceptable=("job-preempted", "job-time-limit"),
        initiating_ranks=(),
        evidence=("Received 15 death signal", "got signal: 15"),
        collateral=(CLOSING,),
        notes="Progress goes on until the launcher is told to end.",
        arguments=ENDLESS,
        cut_after_s=20.0,
    ),
    Fault(
        name="interrupted-by-hand",
        layout="tee",
        world_size=2,
        cause="job-cancelled",
        initiating_ranks=(),
        acceptable_ranks=(None,),
        evidence=("Received 2 death signal", "got signal: 2", "KeyboardInterrupt"),
        collateral=(CLOSING, "closing signal SIGINT"),
        notes="SIGINT to the launcher, as Ctrl-C sends it.",
        arguments=ENDLESS,
        cut_after_s=20.0,
        cut_signal=signal.SIGINT,
    ),
]
