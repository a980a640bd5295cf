"""Hints while writing: contradictions, obsolete names, settings that come too late; each with edits that settle it."""

from __future__ import annotations

import pytest

from firstfault.launch import apply_edits
from firstfault.launch.lint import LintHint, fix_all_edits, lint

POD = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: a\n    env:\n"


def only(text: str, path: str = "run.sh", **known: object) -> LintHint:
    [hint] = lint(text, path, **known)  # type: ignore[arg-type]
    return hint


def settled(text: str, path: str = "run.sh", **known: object) -> str:
    hint = only(text, path, **known)
    after = apply_edits(text, hint.edits)
    assert lint(after, path, **known) == []  # type: ignore[arg-type]
    return after


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("run.sh", "export NCCL_ASYNC_ERROR_HANDLING=1\ntorchrun a.py\n", "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\ntorchrun a.py\n"),
        ("a.py", 'import os\nos.environ["NCCL_BLOCKING_WAIT"] = "1"\n', 'import os\nos.environ["TORCH_NCCL_BLOCKING_WAIT"] = "1"\n'),
        ("Dockerfile", "FROM a\nENV NCCL_DESYNC_DEBUG=1\n", "FROM a\nENV TORCH_NCCL_DESYNC_DEBUG=1\n"),
        (".env", "NCCL_ASYNC_ERROR_HANDLING=3\n", "TORCH_NCCL_ASYNC_ERROR_HANDLING=3\n"),
        (
            "compose.yaml",
            "services:\n  a:\n    environment:\n      - NCCL_ASYNC_ERROR_HANDLING=1\n",
            "services:\n  a:\n    environment:\n      - TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n",
        ),
        (
            "job.yaml",
            f"{POD}    - name: NCCL_BLOCKING_WAIT\n      value: '0'\n",
            f"{POD}    - name: TORCH_NCCL_BLOCKING_WAIT\n      value: '0'\n",
        ),
        (
            ".vscode/launch.json",
            '{"configurations": [{"program": "a.py", "env": {"NCCL_BLOCKING_WAIT": "0"}}]}',
            '{"configurations": [{"program": "a.py", "env": {"TORCH_NCCL_BLOCKING_WAIT": "0"}}]}',
        ),
        (
            "Makefile",
            "export NCCL_BLOCKING_WAIT := 0\na:\n\ttorchrun a.py\n",
            "export TORCH_NCCL_BLOCKING_WAIT := 0\na:\n\ttorchrun a.py\n",
        ),
    ],
)
def test_an_old_name_is_renamed_in_every_kind_of_file(path: str, before: str, after: str) -> None:
    hint = only(before, path)
    assert hint.code == "obsolete-setting" and hint.obsolete and hint.safe
    assert settled(before, path) == after


def test_all_mentions_in_a_script_are_renamed_but_not_comments() -> None:
    before = "# NCCL_BLOCKING_WAIT is old\nNCCL_BLOCKING_WAIT=0\nexport NCCL_BLOCKING_WAIT\nmpirun -x NCCL_BLOCKING_WAIT python a.py\n"
    after = settled(before)
    assert after.count("TORCH_NCCL_BLOCKING_WAIT") == 3 and "# NCCL_BLOCKING_WAIT is old" in after


def test_a_rename_of_torch_2_8_needs_the_version() -> None:
    text = "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000\ntorchrun a.py\n"
    assert lint(text, "run.sh") == []
    assert lint(text, "run.sh", torch_version="2.7.0") == []
    assert "TORCH_FR_BUFFER_SIZE" in settled(text, torch_version="2.8.0")


def test_the_hint_stands_on_the_name() -> None:
    hint = only('echo "🚀"; export NCCL_BLOCKING_WAIT=0\ntorchrun a.py\n')
    assert (hint.start_line, hint.start_col, hint.end_col) == (0, 17, 35)


def test_both_names_of_a_renamed_variable() -> None:
    text = "export NCCL_BLOCKING_WAIT=0\nexport TORCH_NCCL_BLOCKING_WAIT=0\ntorchrun a.py\n"
    assert only(text).code == "both-names"
    assert settled(text) == "export TORCH_NCCL_BLOCKING_WAIT=0\ntorchrun a.py\n"


def test_different_values_of_both_names_are_not_settled_unasked() -> None:
    text = "export PYTORCH_CUDA_ALLOC_CONF=a:1\nexport PYTORCH_ALLOC_CONF=b:2\ntorchrun a.py\n"
    hint = only(text)
    assert "PYTORCH_CUDA_ALLOC_CONF wins" in hint.message and not hint.safe
    assert fix_all_edits(text, "run.sh") == []


def test_a_fabric_setting_beside_a_disabled_fabric() -> None:
    text = "export NCCL_IB_DISABLE=1\nexport NCCL_IB_HCA=mlx5\ntorchrun a.py\n"
    assert only(text).code == "useless-setting"
    assert settled(text) == "export NCCL_IB_DISABLE=1\ntorchrun a.py\n"


def test_a_fabric_that_is_disabled_only_in_a_branch_is_no_contradiction() -> None:
    assert lint('if [ "$X" ]; then\n  export NCCL_IB_DISABLE=1\nfi\nexport NCCL_IB_HCA=mlx5\ntorchrun a.py\n', "run.sh") == []


def test_a_subsystem_without_the_level() -> None:
    text = "export NCCL_DEBUG_SUBSYS=INIT,NET\ntorchrun a.py\n"
    assert only(text).code == "needs-other-setting"
    assert "export NCCL_DEBUG=INFO\n" in settled(text)


def test_blocking_wait_beside_asynchronous_handling() -> None:
    hint = only("export TORCH_NCCL_BLOCKING_WAIT=1\nexport TORCH_NCCL_ASYNC_ERROR_HANDLING=1\ntorchrun a.py\n")
    assert hint.code == "contradicting-settings" and not hint.safe


def test_a_variable_that_is_set_after_the_launch_is_moved() -> None:
    text = "#!/bin/bash\ntorchrun a.py\nexport NCCL_DEBUG=INFO\necho done\n"
    assert only(text).code == "set-after-launch"
    assert settled(text) == "#!/bin/bash\nexport NCCL_DEBUG=INFO\ntorchrun a.py\necho done\n"


def test_a_variable_between_two_launches_is_not_too_late() -> None:
    assert lint("torchrun a.py\nexport NCCL_DEBUG=INFO\ntorchrun b.py\n", "run.sh") == []
    assert lint("torchrun a.py\nexport NCCL_DEBUG=INFO\ntorchrun b.py 2>&1 | tee log\n", "run.sh") == []


@pytest.mark.parametrize(
    "check",
    ["srun python -c 'import torch; print(torch.__version__)'", """srun -N 2 bash -c 'python3 -c "import torch, socket"'"""],
)
def test_a_check_of_the_nodes_starts_no_training(check: str) -> None:
    assert lint(f"{check}\nexport NCCL_DEBUG=INFO\ntorchrun a.py | tee log\n", "run.sh") == []
    assert only(f"{check}\ntorchrun a.py\nexport NCCL_DEBUG=INFO\n").code == "set-after-launch"


def test_a_launch_behind_a_check_in_the_same_command_is_one() -> None:
    assert only("srun bash -c 'python -c \"import torch\" && torchrun a.py'\nexport NCCL_DEBUG=INFO\n").code == "set-after-launch"


def test_a_value_that_is_set_again_after_the_launch_is_not_too_late() -> None:
    assert lint("export NCCL_DEBUG=INFO\ntorchrun a.py\nexport NCCL_DEBUG=WARN\n", "run.sh") == []


def test_lines_at_which_deepspeed_fails() -> None:
    text = "NCCL_IB_HCA=mlx5\n\n# fabric\nA=1\n"
    hints = lint(text, ".deepspeed_env")
    assert [h.code for h in hints] == ["deepspeed-env-line", "deepspeed-env-line"]
    assert apply_edits(text, [e for h in hints for e in h.edits]) == "NCCL_IB_HCA=mlx5\nA=1\n"


def test_a_timeout_below_the_checkpoint_time() -> None:
    text = "from datetime import timedelta\nimport torch.distributed as dist\n\n"
    text += 'dist.init_process_group("nccl", timeout=timedelta(minutes=10))\n'
    assert lint(text, "a.py") == [] and lint(text, "a.py", checkpoint_s=300) == []
    hint = only(text, "a.py", checkpoint_s=845.0)
    assert hint.code == "timeout-below-checkpoint" and "took 845 s" in hint.message
    assert "timedelta(minutes=29)" in settled(text, "a.py", checkpoint_s=845.0)


@pytest.mark.parametrize(
    ("short", "raised"),
    [
        ("torchrun pretrain_gpt.py --num-layers 4 --distributed-timeout-minutes 10 \\\n  --lr 1\n", "--distributed-timeout-minutes 29 "),
        ("ARGS=(\n  --num-layers 4\n  --distributed-timeout-minutes=10\n)\ntorchrun pretrain_gpt.py ${ARGS[@]}\n", "-minutes=29\n"),
        ("torchrun train.py --do_train --ddp_timeout 600\n", "--ddp_timeout 1740\n"),
        ("export DEEPSPEED_TIMEOUT=10\ndeepspeed train.py\n", "export DEEPSPEED_TIMEOUT=29\n"),
    ],
)
def test_a_timeout_of_a_command_below_the_checkpoint_time(short: str, raised: str) -> None:
    assert lint(short, "run.sh") == [] and lint(short, "run.sh", checkpoint_s=300) == []
    hint = only(short, "run.sh", checkpoint_s=845.0)
    assert (hint.code, hint.title) == ("timeout-below-checkpoint", "Raise it to 29 min")
    assert "600 s" in hint.message and "845 s" in hint.message
    assert raised in settled(short, "run.sh", checkpoint_s=845.0)


def test_fix_all_applies_every_safe_hint_once() -> None:
    text = (
        "export NCCL_ASYNC_ERROR_HANDLING=1\nexport NCCL_IB_DISABLE=1\nexport NCCL_IB_HCA=mlx5\nexport NCCL_IB_TIMEOUT=22\n"
        "torchrun a.py\nexport NCCL_DEBUG=INFO\n"
    )
    after = apply_edits(text, fix_all_edits(text, "run.sh"))
    assert after == "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\nexport NCCL_IB_DISABLE=1\ntorchrun a.py\nexport NCCL_DEBUG=INFO\n"
    assert fix_all_edits(after, "run.sh") == []


@pytest.mark.parametrize(
    "text", ["export NCCL_DEBUG=INFO\ntorchrun a.py\n", "if x; then\nNCCL_BLOCKING_WAIT=1\n", "# NCCL_BLOCKING_WAIT=1\ntorchrun a.py\n"]
)
def test_what_is_in_order_or_does_not_parse_has_no_hint(text: str) -> None:
    assert lint(text, "run.sh") == []


def test_a_file_of_no_known_kind_has_no_hint() -> None:
    assert lint("NCCL_BLOCKING_WAIT=1\n", "notes.md") == []
