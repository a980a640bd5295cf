"""Exceptions whose names no page knows, at the end of a traceback."""

import pytest

from .check import check
from .logs import join

HEAD = [
    "step 1 loss 2.31",
    "step 2 loss 2.20",
    "Traceback (most recent call last):",
    '  File "/srv/app/train.py", line 71, in <module>',
    "    main()",
    '  File "/opt/venv/lib/python3.12/site-packages/torch/hub.py", line 12, in load',
    "    return fetch(url)",
]


@pytest.mark.parametrize(
    "last",
    [
        "socket.gaierror: [Errno -2] Name or service not known",
        "subprocess.TimeoutExpired: Command '['nvidia-smi']' timed out after 5 seconds",
        "http.client.RemoteDisconnected: Remote end closed connection without response",
        "pynvml.NVMLError_NotSupported: Not Supported",
        "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:",
        "struct.error: unpack requires a buffer of 8 bytes",
        "cv2.error: OpenCV(4.9.0) /io/imgproc.cpp:12: error: (-5:Bad argument) in function 'warpAffine'",
        "TypeError",
    ],
)
def test_whatever_ends_a_traceback_is_an_exception(last):
    check(join(*HEAD, last), "python-exception", evidence=last)


def test_a_number_behind_the_name_is_no_measure_at_the_end_of_a_traceback():
    check(join(*HEAD, "AssertionError: 79.59 not less than or equal to 45.9"), "python-exception", evidence="79.59")


@pytest.mark.parametrize("last", ["Epoch: 3", "INFO: saved", "model.Linear.weight: 0.31", "UserWarning: the sampler is slow"])
def test_what_another_process_prints_behind_a_frame_is_none(last):
    check(join(*HEAD, last), None)


def test_the_page_of_a_known_exception_is_asked_first():
    check(join(*HEAD, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."), "cuda-out-of-memory")


WRAPPED = [
    "Traceback (most recent call last):",
    '  File "/opt/venv/lib/python3.12/site-packages/datasets/builder.py", line 1598, in _prepare_split_single',
    '    raise DatasetGenerationError("An error occurred while generating the dataset") from e',
    "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset",
]


@pytest.mark.parametrize(
    ("cause", "failure"),
    [
        ("OSError: [Errno 28] No space left on device", "disk-full"),
        ("pyarrow.lib.ArrowInvalid: JSON parse error: Missing a closing quotation mark in string. in row 14", "data-corrupt"),
        ("KeyError: 'messages'", "python-exception"),
    ],
)
def test_a_wrapper_gives_way_to_what_it_wraps(cause, failure):
    link = "The above exception was the direct cause of the following exception:"
    check(join(*HEAD, cause, "", link, "", *WRAPPED), failure, evidence=cause)


def test_a_wrapper_whose_cause_is_cut_off_is_all_that_is_known():
    check(join("step 1 loss 2.31", *WRAPPED), "python-exception", evidence="DatasetGenerationError: An")


def test_what_a_hook_logs_of_an_exception_that_nobody_caught_ends_a_job():
    log = join(
        "[2031-02-03 04:05:06] INFO     [job.train:816, rank=0] [step=75/7393] loss=2.31",
        "[2031-02-03 04:09:41] CRITICAL [job.util:158, rank=2] Uncaught LoaderThreadError: reader 4 gave up",
    )
    check(log, "python-exception", [2], verdict="probable", evidence="LoaderThreadError")


def test_a_decoder_that_fails_inside_the_reader_of_a_configuration_found_a_broken_configuration():
    frames = [
        "Traceback (most recent call last):",
        '  File "/opt/venv/lib/python3.12/site-packages/accelerate/utils/deepspeed.py", line 71, in __init__',
        "    config = json.load(f)",
        '  File "/usr/lib/python3.12/json/decoder.py", line 355, in raw_decode',
        '    raise JSONDecodeError("Expecting value", s, err.value) from None',
        "json.decoder.JSONDecodeError: Expecting value: line 4 column 9 (char 61)",
    ]
    log = join(*(f"[rank{r}]: {x}" for r in range(2) for x in frames))
    check(log, "config-invalid", [], evidence="JSONDecodeError")


def test_a_bar_that_has_no_loss_yet_gives_way_to_the_exception_before_it():
    bar = "Epoch 0:  97%|#########6| 97/100 [00:24<00:01,  4.00it/s, loss=nan, v_num=1]"
    check(join(*HEAD, "IndexError: index 64 is out of bounds for dimension 0 with size 64", bar), "python-exception", evidence="IndexError")
    check(join(bar), "loss-nan", verdict="probable")


QUOTING = "ray.exceptions.RayTaskError(RuntimeError): ray::TrainDriver.fit() (pid=4711, ip=10.0.0.9, actor_id=5f0c"


def test_what_a_task_error_quotes_may_be_cut_off():
    check(join(*HEAD, QUOTING), "python-exception", None, evidence="RayTaskError(RuntimeError)")


def test_a_task_error_gives_way_to_what_it_quotes():
    quoted = ['  File "/job/actor.py", line 12, in fit', "    run(batch)", "RuntimeError: weights of stage 3 are gone"]
    incident = check(join(*HEAD, QUOTING + ")", *quoted), "python-exception", evidence="stage 3")
    assert not any("RayTaskError" in e.text for e in incident.evidence if e.role == "initiating")


def test_what_a_check_of_arguments_raises_is_a_refused_configuration():
    check_of = '  File "/opt/job/trainer/arguments.py", line 512, in validate_args'
    log = join("Traceback (most recent call last):", check_of, "    assert not args.eval", "AssertionError: --eval needs a set")
    check(log, "config-invalid", evidence="--eval needs a set")
    check(log.replace("AssertionError: --eval needs a set", "ModuleNotFoundError: No module named 'lm_eval'"), "python-import-error")


def test_a_trainer_that_validates_while_it_trains_checks_no_arguments():
    log = join("Traceback (most recent call last):", '  File "/opt/job/trainer.py", line 512, in _validate', "    f()", "KeyError: 'x'")
    check(log, "python-exception", evidence="KeyError")
