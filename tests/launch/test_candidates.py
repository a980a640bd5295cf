"""Which launch files are offered for a log, and in which order."""

from __future__ import annotations

import os
from pathlib import Path

from firstfault.launch.candidates import LaunchFile, LogHints, find_candidates, hints_from_log, launch_files

SBATCH = LaunchFile("jobs/pretrain.sbatch", "#!/bin/bash\n#SBATCH --job-name=llm7b\nsrun torchrun train_llm.py\n", 100.0)
OTHER = LaunchFile("jobs/eval.sh", "#!/bin/bash\ntorchrun evaluate.py\n", 900.0)
TRAIN = LaunchFile("src/train_llm.py", 'import torch\ndist.init_process_group("nccl")\nif __name__ == "__main__":\n    main()\n', 50.0)
NOTES = LaunchFile("README.md", "torchrun train_llm.py\n", 999.0)
PLAIN = LaunchFile("clean.sh", "rm -rf out\n", 999.0)
FILES = [NOTES, PLAIN, OTHER, TRAIN, SBATCH]


def paths(hints: LogHints | None = None) -> list[str]:
    return [c.path for c in launch_files(FILES, hints)]


def test_without_hints_what_launches_comes_first() -> None:
    assert paths() == ["jobs/pretrain.sbatch", "jobs/eval.sh", "src/train_llm.py"]


def test_the_script_that_starts_what_the_log_names_comes_first_then_the_file_itself() -> None:
    found = launch_files(FILES, LogHints(scripts=("/home/u/src/train_llm.py",)))
    assert [c.path for c in found][:2] == ["jobs/pretrain.sbatch", "src/train_llm.py"]
    assert "the log names" in found[0].reasons[-1]


def test_a_job_name_counts() -> None:
    assert paths(LogHints(job_name="llm7b"))[0] == "jobs/pretrain.sbatch"


def test_of_equals_the_most_recently_changed_comes_first() -> None:
    a, b = (LaunchFile(f"{n}.sh", "torchrun x.py\n", t) for n, t in (("a", 1.0), ("b", 2.0)))
    assert [c.path for c in launch_files([a, b])] == ["b.sh", "a.sh"]


def test_a_script_that_does_not_parse_is_still_found() -> None:
    assert [c.path for c in launch_files([LaunchFile("a.sh", "if true; then\ntorchrun x.py\n")])] == ["a.sh"]


def test_nothing_found_is_an_empty_list() -> None:
    assert launch_files([NOTES, PLAIN]) == []


def test_hints_come_from_command_lines_tracebacks_and_summaries() -> None:
    log = (
        "+ srun torchrun --nnodes 2 train_llm.py --config base.yaml\n"
        '  File "/scratch/src/train_llm.py", line 88, in <module>\n'
        '  File "/usr/lib/python3.11/site-packages/torch/nn/module.py", line 1, in <module>\n'
        "finetune.py FAILED\n"
        "SLURM_JOB_NAME=llm7b\n"
    )
    hints = hints_from_log(log)
    assert hints.scripts == ("train_llm.py", "finetune.py", "/scratch/src/train_llm.py")
    assert hints.job_name == "llm7b"
    assert hints.launchers[:2] == ("srun", "torchrun")


def test_a_log_without_a_launch_gives_no_hints() -> None:
    assert hints_from_log("GET /index.html 200\nmain.py is mentioned here\n") == LogHints()


def test_the_walk_skips_environments_and_reads_vscode(tmp_path: Path) -> None:
    for name, text in {
        "run.sh": "torchrun a.py\n",
        "jobs/big.sbatch": "#!/bin/bash\n#SBATCH -N 2\nsrun python a.py\n",
        ".venv/bin/x.sh": "torchrun a.py\n",
        "node_modules/p/run.sh": "torchrun a.py\n",
        ".git/hooks/run.sh": "torchrun a.py\n",
        ".vscode/launch.json": '{"configurations": [{"program": "a.py", "env": {"NCCL_DEBUG": "INFO"}}]}\n',
        "Dockerfile": "FROM pytorch\nCMD torchrun a.py\n",
        "data/run.sh": "torchrun a.py\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = [os.path.relpath(c.path, tmp_path).replace("\\", "/") for c in find_candidates(str(tmp_path))]
    assert found == ["jobs/big.sbatch", "run.sh", "Dockerfile", ".vscode/launch.json"]


def test_a_folder_that_is_not_there_has_no_candidates(tmp_path: Path) -> None:
    assert find_candidates(str(tmp_path / "missing")) == []
