"""Tracebacks that name nothing but a library: whether it is one that only such jobs use."""

import pytest

from .check import check


def raised_in(path, head="", name="KeyError: 'seq_len'"):
    lines = ["Traceback (most recent call last):", f'  File "{path}", line 71, in call', "    table[name]", name]
    return "\n".join(head + line for line in lines) + "\n"


@pytest.mark.parametrize(
    "path",
    [
        "/usr/lib/python3.10/site-packages/trl/trainer/sft.py",
        "/usr/lib/python3.10/site-packages/peft/tuners/lora/layer.py",
        "/usr/lib/python3.10/site-packages/lmdeploy/serve/engine.py",
        "/usr/lib/python3.10/site-packages/swift/llm/argument.py",
        "/usr/lib/python3.10/site-packages/swift/cli/rlhf.py",
        "/usr/lib/python3.12/dist-packages/ray/_private/worker.py",
        "/usr/lib/python3.12/dist-packages/ray/train/v2/session.py",
        "/opt/nemo_rl/algorithms/grpo.py",
        "/opt/skyrl_train/generators/base.py",
        "/usr/lib/python3.11/site-packages/flax/core/scope.py",
        "/usr/lib/python3.11/site-packages/orbax/checkpoint/handlers.py",
        "/usr/lib/python3.11/site-packages/optax/_src/base.py",
        "/usr/lib/python3.10/site-packages/habana_frameworks/core.py",
        "/usr/lib/python3.8/site-packages/oneflow/nn/module.py",
    ],
)
def test_an_exception_in_a_library_of_such_jobs_counts(path):
    check(raised_in(path), "python-exception", evidence="seq_len")


@pytest.mark.parametrize("head", ["(RayTrainWorker pid=3912, ip=10.0.4.7) ", "(WorkerDict pid=3912) ", "(TrainController pid=88) "])
def test_an_exception_of_an_actor_that_trains_counts(head):
    check(raised_in("/home/lee/loop.py", head), "python-exception", evidence="seq_len")


@pytest.mark.parametrize("place", ["TP1", "DP1 TP1 EP1"])
def test_an_exception_of_a_process_that_is_called_after_its_place_counts(place):
    check(raised_in("/opt/app/managers/loop.py", f"[2025-05-02 12:00:44 {place}] "), "python-exception", [1], evidence="seq_len")


@pytest.mark.parametrize(
    "path",
    [
        "/usr/lib/python3/dist-packages/swift/cli/ringbuilder.py",
        "/usr/lib/python3/dist-packages/control/x.py",
        "/home/ray/app/views.py",
        "/srv/xray/train/index.py",
    ],
)
def test_an_exception_in_another_program_is_none_of_our_business(path):
    check(raised_in(path), None)


def test_a_label_that_is_no_place_says_nothing():
    check(raised_in("/opt/app/managers/loop.py", "(worker pid=812) "), None)


@pytest.mark.parametrize("head", ["|CCL_INFO| process launcher: hydra\n", "DMLC_ROLE=worker DMLC_NUM_SERVER=2\n", "jax_platforms: tpu\n"])
def test_an_exception_beneath_the_words_of_another_stack_counts(head):
    check(head + raised_in("/home/lee/loop.py"), "python-exception", evidence="seq_len")
