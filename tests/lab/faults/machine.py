"""Errors of the machine: disk, file handles, memory, helper processes. Does not hold ranks that are only killed."""

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
        prepare=full_disk_at("checkpoints/step-000020.json"),
    ),
    Fault(
        name="disk-full-in-torch-save",
        layout="tee",
        world_size=2,
        cause="disk-full",
        acceptable=("filesystem-fault",),
        initiating_ranks=(0,),
        determinable=False,
        evidence=("unexpected pos", "iostream error"),
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
        notes="The traceback has no source lines: Python could not open the source either.",
        arguments=(*ALL_RANKS, "--batch-size", "4"),
        prepare=add_attachments,
        disturbance={"kind": "limit-files", "files": 64, "ranks": [2], "step": 5},
    ),
    Fault(
        name="memory-error-rank2",
        layout="combined",
        world_size=4,
        cause="host-out-of-memory",
        initiating_ranks=(2,),
        evidence=("MemoryError",),
        arguments=(*ALL_RANKS, "--cache-mb", "16"),
        disturbance={"kind": "limit-memory", "mb": 400, "ranks": [2], "step": 4},
    ),
    Fault(
        name="allocator-out-of-memory-rank1",
        layout="tee",
        world_size=2,
        cause="host-out-of-memory",
        initiating_ranks=(1,),
        evidence=("DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory"),
        arguments=(*ALL_RANKS, "--similarity-rows", "9000"),
        disturbance={"kind": "limit-memory", "mb": 200, "ranks": [1], "step": 12},
    ),
    Fault(
        name="loader-worker-killed-rank1",
        layout="combined",
        world_size=2,
        cause="dataloader-worker-crash",
        acceptable=("process-killed", "host-out-of-memory"),
        initiating_ranks=(1,),
        evidence=("DataLoader worker (pid",),
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
        evidence=("ConnectionResetError: [Errno 104]", "in rebuild_storage_fd", "fd = df.detach()", "with _resource_sharer.get_connection"),
        notes="The reader asks the dead worker for a file handle before it hears of the death; no rank's connection was reset.",
        repeatable=False,
        arguments=(*ALL_RANKS, "--workers", "2", "--batch-size", "2"),
        disturbance={"kind": "kill-loader", "ranks": [1], "step": 15},
    ),
]
