"""The edits the editor offers first: NCCL_DEBUG in a batch script, the collective timeout in Python."""

from firstfault.launch import Wanted, apply_edits, edits_for, inverse_edits, remove_edits

DEBUG = Wanted("env", "NCCL_DEBUG", "INFO")


def test_an_export_goes_above_the_comment_of_the_first_launch() -> None:
    """The sbatch directives stay at the top and the comment stays with its command."""
    before = "#!/bin/bash\n#SBATCH -N 2\n\n# Start\nsrun torchrun \\\n  train.py\n"
    edits = edits_for(DEBUG, before, "job.sbatch")
    after = apply_edits(before, edits)
    assert after == "#!/bin/bash\n#SBATCH -N 2\n\nexport NCCL_DEBUG=INFO\n# Start\nsrun torchrun \\\n  train.py\n"
    assert edits_for(DEBUG, after, "job.sbatch") == []
    assert apply_edits(after, inverse_edits(before, edits)) == before
    assert apply_edits(after, remove_edits(DEBUG, after, "job.sbatch")) == before


def test_the_timeout_brings_its_import() -> None:
    before = "import torch.distributed as dist\n\ndist.init_process_group('nccl')\n"
    after = apply_edits(before, edits_for(Wanted("timeout", "init_process_group", "1h"), before, "train.py"))
    assert after == "from datetime import timedelta\nimport torch.distributed as dist\n\ndist.init_process_group('nccl', timeout=timedelta(minutes=60))\n"
