"""Checkpoints that are absent, cut or of another model. Does not hold failures of saving."""

from __future__ import annotations

from pathlib import Path

from tests.lab.fault import Fault

FIRST_RUN = ("--steps", "10", "--checkpoint-every", "10", "--pause", "0")
RESUME = ("--log-ranks", "all", "--steps", "30", "--timeout", "20", "--resume", "checkpoints/step-000010.pt")
EXITS = ("exitcode  : ", "(exitcode: 1)", "closing signal", "Connection closed by peer", "Connection reset by peer")
PATIENT = ("--monitor-interval", "2")


def cut_checkpoint(folder: Path) -> None:
    """Leaves the first half of the checkpoint."""
    path = folder / "checkpoints" / "step-000010.pt"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


FAULTS = [
    Fault(
        name="checkpoint-missing",
        layout="combined",
        world_size=4,
        cause="data-missing",
        acceptable=("checkpoint-corrupt", "config-invalid", "python-exception"),
        initiating_ranks=(),
        evidence=("FileNotFoundError: [Errno 2] No such file or directory: 'checkpoints/step-000010.pt'",),
        collateral=EXITS,
        arguments=RESUME,
        launcher=PATIENT,
    ),
    Fault(
        name="checkpoint-truncated",
        layout="combined",
        world_size=4,
        cause="checkpoint-corrupt",
        initiating_ranks=(),
        evidence=("PytorchStreamReader failed reading zip archive",),
        collateral=EXITS,
        arguments=RESUME,
        launcher=PATIENT,
        first_run=FIRST_RUN,
        prepare=cut_checkpoint,
    ),
    Fault(
        name="checkpoint-of-other-width",
        layout="tee",
        world_size=2,
        cause="checkpoint-incompatible",
        initiating_ranks=(),
        evidence=("size mismatch for embedding.weight", "Error(s) in loading state_dict for Classifier"),
        collateral=EXITS,
        arguments=(*RESUME, "--width", "96"),
        launcher=PATIENT,
        first_run=FIRST_RUN,
    ),
    Fault(
        name="checkpoint-without-norm",
        layout="combined",
        world_size=2,
        cause="checkpoint-incompatible",
        initiating_ranks=(),
        evidence=("Missing key(s) in state_dict", "Error(s) in loading state_dict for Classifier"),
        collateral=EXITS,
        arguments=(*RESUME, "--normalise"),
        launcher=PATIENT,
        first_run=FIRST_RUN,
    ),
]
