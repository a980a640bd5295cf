"""Errors of the machine: disk, file handles, memory, helper processes, ports. Does not hold ranks that are only killed."""

from __future__ import annotations

from tests.lab.data import add_attachments, full_disk_at
from tests.lab.fault import Fault

ALL_RANKS = ("--log-ranks", "all", "--steps", "40", "--timeout", "20")
SAVING = ("--steps", "40", "--timeout", "20", "--checkpoint-every", "10")

FAULTS = [
    Fault(
        name="disk-full-rank0",
        layout="combined",
        world_size=4,
        cause="disk-full",
        initiating_ranks=(0,),
        evidence=("OSError: [Errno 28] No space left on device",),
        arguments=SAVING,
        prepare=full_disk_at("checkpoints/latest.json"),
    ),
    Fault(
        name="disk-full-in-torch-save",
        layout="tee",
        world_size=2,
        cause="disk-full",
        acceptable=("filesystem-fault",),
        initiating_ranks=(0,),
        determinable=False,
        evidence=("unexpected pos", "file write failed", "No space left on device"),
        notes="torch.save reports a short write, not the error number of the system.",
        arguments=SAVING,
        prepare=full_disk_at("checkpoints/step-000020.pt"),
    ),
    Fault(
        name="open-files-rank2",
        layout="combined",
        world_size=4,
        cause="too-many-open-files",
        initiating_ranks=(2,),
        evidence=("OSError: [Errno 24] Too many open files",),
        arguments=(*ALL_RANKS, "--batch-size", "4"),
        prepare=add_attachments,
        disturbance={"kind": "limit-files", "files": 64, "ranks": [2], "step": 5},
    ),
    Fault(
        name="loader-worker-killed-rank1",
        layout="combined",
        world_size=2,
        cause="dataloader-worker-crash",
        acceptable=("process-killed", "host-out-of-memory"),
        initiating_ranks=(1,),
        evidence=("DataLoader worker (pid", "is killed by signal: Killed"),
        arguments=(*ALL_RANKS, "--workers", "2", "--batch-size", "2", "--pause", "0.3", "--steps", "20"),
        disturbance={"kind": "kill-loader-soon", "ranks": [1], "step": 15},
    ),
    Fault(
        name="loader-worker-gone-rank1",
        layout="combined",
        world_size=2,
        cause="dataloader-worker-crash",
        acceptable=("process-killed", "host-out-of-memory"),
        initiating_ranks=(1,),
        evidence=("ConnectionResetError: [Errno 104]", "in rebuild_storage_fd", "fd = df.detach()", "with _resource_sharer.get_connection", "is killed by signal"),
        notes="The reader asks the dead worker for a file handle before it hears of the death; the error says reset, but no rank's connection was.",
        arguments=(*ALL_RANKS, "--workers", "2", "--batch-size", "2"),
        disturbance={"kind": "kill-loader", "ranks": [1], "step": 15},
    ),
    Fault(
        name="port-in-use-agent",
        layout="combined",
        world_size=4,
        cause="port-in-use",
        initiating_ranks=None,
        acceptable_ranks=((), (0,)),
        evidence=("EADDRINUSE", "address already in use", "Address already in use"),
        collateral=(),
        notes="The launcher itself cannot listen; no rank was started.",
        arguments=ALL_RANKS,
        occupy_port=True,
    ),
]
