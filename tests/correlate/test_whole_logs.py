"""What long logs of whole jobs show: notes that ended nothing, earlier runs that failed, and jobs of one process."""

from __future__ import annotations

from .check import check
from .logs import join, traceback

TRACEBACK = "Traceback (most recent call last):"
JOB = "[2031-08-02 07:20:01,144] [INFO] [real_accelerator.py:110:get_accelerator] Setting ds_accelerator to cuda (auto detect)"
CACHE = join(
    "08/02/2031 07:21:55 - ERROR - wordsplit - Dump cache file failed.",
    TRACEBACK,
    '  File "/opt/env/lib/python3.11/site-packages/wordsplit/__init__.py", line 120, in initialize',
    "    _replace(temporary, cache)",
    "PermissionError: [Errno 1] Operation not permitted: '/tmp/tmpx1' -> '/tmp/wordsplit.cache'",
).rstrip()
PREDICTED = join(
    "***** predict metrics *****", "  predict_rouge-1 =    61.20", "  predict_runtime            = 0:42:11.30", "  predict_steps_per_second   =      0.060"
).rstrip()  # fmt: skip


def test_what_a_program_logs_as_information_did_not_stop_it():
    log = join(
        JOB,
        "INFO:root:Encountered exception when loading checkpoint Error(s) in loading state_dict for Encoder:",
        '	Missing key(s) in state_dict: "blocks.0.norm1.weight", "blocks.0.norm1.bias".',
        "INFO:root:starting from scratch",
    )
    check(log, None)


def test_the_same_words_of_an_exception_did():
    log = traceback('RuntimeError: Error(s) in loading state_dict for Encoder:\n	Missing key(s) in state_dict: "blocks.0.norm1.weight".')
    check(log, "checkpoint-incompatible")


def test_a_traceback_counts_although_whoever_passes_it_on_calls_it_information():
    error = traceback("RuntimeError: The size of tensor a (9) must match the size of tensor b (7) at non-singleton dimension 2")
    check(join(*(f"2031-02-03 04:05:06,345 - INFO - {x}" for x in (JOB, *error.split("\n")))), "tensor-shape-mismatch")


def test_a_loss_that_is_nan_is_logged_as_information_too():
    log = join(*(f"INFO:root:[1, {i:5d}/ 2562] - class loss (total): nan - [lr: 1.0e-04] (512.0 ms)" for i in range(0, 200, 50)))
    check(log, "loss-nan")


def test_what_a_package_caught_itself_is_no_failure_of_a_run_that_predicted():
    check(join(JOB, "  0%|          | 0/227 [00:00<?, ?it/s]", CACHE, "100%|##########| 227/227 [42:04<00:00, 11.12s/it]", PREDICTED), None)


def test_what_a_package_raised_from_the_users_call_is():
    log = join(
        JOB, TRACEBACK, '  File "/job/predict.py", line 12, in <module>', "    wordsplit.load()",
        '  File "/opt/env/lib/python3.11/site-packages/wordsplit/__init__.py", line 120, in initialize', "    _replace(temporary, cache)",
        "PermissionError: [Errno 1] Operation not permitted: '/tmp/tmpx1' -> '/tmp/wordsplit.cache'",
    )  # fmt: skip
    check(log, "python-exception")


def test_pictures_that_a_loader_reported_and_replaced_are_no_failure_of_a_job_that_ended_well():
    log = join(
        "Error with cannot identify image file '/data/food/0142.jpg'",
        *(f"[2031-05-06 20:27:4{i},075] [INFO] [launch.py:347:main] Process 392752{i} exits successfully." for i in range(4)),
    )
    check(log, None)


def test_the_same_picture_is_blamed_where_the_job_ended_badly():
    log = join(
        traceback("PIL.UnidentifiedImageError: cannot identify image file '/data/food/0142.jpg'"),
        "[2031-05-06 20:27:45,075] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 3927522",
        "[2031-05-06 20:27:45,075] [ERROR] [launch.py:321:sigkill_handler] ['python', 'train.py', '--local_rank=3'] exits with return code = 1",
    )
    check(log, "data-corrupt")


NVML = "n7:4101:4140 [0] misc/nvmlwrap.cc:100 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch"
COMPLETE = "n7:4101:4140 [0] NCCL INFO comm 0x8b017a0 rank 0 nranks 1 cudaDev 0 busId ca000 commId 0x77 - Init COMPLETE"


def test_a_warning_of_nccl_before_the_first_communicator_came_up_was_got_past():
    check(join("", NVML, "n7:4101:4140 [0] NCCL INFO Using network Socket", COMPLETE), None)


def test_a_warning_of_nccl_that_no_communicator_follows_counts():
    check(join("", NVML, "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error"), "cuda-driver-mismatch")


def test_a_warning_of_nccl_behind_a_communicator_that_works_counts():
    fault = "n7:4101:4145 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<4711> with error 12, opcode 0, len 0, vendor err 129"
    check(join(COMPLETE, "", fault, COMPLETE.replace("0x77", "0x78")), "nccl-ib-fault")


def test_the_last_of_two_runs_is_judged_where_only_a_bar_shows_that_it_worked():
    start = join("current_task: alpha", "/data/models/tiny-distilled").rstrip()
    log = join(
        start, traceback("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB."),
        start, " 12%|#2        | 36/300 [03:17<24:10,  5.49s/it]", " 14%|#4        | 42/300 [03:50<23:37,  5.49s/it]",
    )  # fmt: skip
    check(log, None)


def test_runs_that_follow_the_last_one_of_a_launcher_begin_where_their_first_lines_come_again():
    start = join("Loading the index with wide vectors", "Settings of deeper-cluster were read").rstrip()
    bad = traceback("RuntimeError: The size of tensor a (9) must match the size of tensor b (7) at non-singleton dimension 2")
    log = join(
        JOB, start, bad, "srun: error: n7: task 0: Exited with exit code 1", start, bad, start, traceback("KeyError: 'epoch'"), start,
        "avg. test_loss 0.873 avg. Accuracy@1 79.423 - avg. Accuracy@5 95.321",
    )  # fmt: skip
    check(log, None)


def test_a_command_line_that_was_refused_behind_the_normal_end_of_another_run_counts():
    log = join("{'train_runtime': 4416.09, 'train_loss': 0.73, 'epoch': 3.0}", "usage: trainer [-h] [--stage {pt,sft}]", "               [--output_dir OUTPUT_DIR]",
               "trainer: error: the following arguments are required: --output_dir")  # fmt: skip
    check(log, "config-invalid", evidence="--output_dir")


def test_a_launcher_that_was_stopped_itself_names_no_cause():
    log = join(
        *(f"{{'loss': 1.{i}066, 'learning_rate': 1.87e-05, 'epoch': 0.19}}" for i in range(5)),
        "[2031-04-17 09:44:32,867] [INFO] [launch.py:315:sigkill_handler] Killing subprocess 18135",
        "[2031-04-17 09:44:36,551] [INFO] [launch.py:324:sigkill_handler] Main process received SIGTERM, exiting",
    )
    check(log, "job-cancelled", [], verdict="undetermined")


def test_an_exception_of_the_only_process_is_that_of_rank_0():
    check(join("INFO:root:Initialized (rank/world-size) 0/1", traceback("KeyError: 'epoch'")), "python-exception", [0])
    check(join("INFO:root:Initialized (rank/world-size) 0/4", traceback("KeyError: 'epoch'")), "python-exception", None)


def test_a_part_of_the_job_with_one_process_does_not_tell_who_of_many_it_was():
    workers = [f"(Worker pid={p}) world_size=1 rank=0 backend=nccl" for p in (811, 812)]
    check(join(*workers, traceback("KeyError: 'epoch'")), "python-exception", None)


def test_a_limit_of_time_is_about_no_rank_even_where_there_is_only_one():
    log = join("world_size: 1", "slurmstepd: error: *** JOB 4801 ON gpu07 CANCELLED AT 2031-11-04T07:28:53 DUE TO TIME LIMIT ***")
    check(log, "job-time-limit", [])


def test_a_client_that_records_metrics_and_cannot_say_goodbye_ends_nothing():
    log = join(
        JOB, "2031-11-30 17:04:09,411 ERROR   MainThread:2226097 [wandb_run.py:_atexit_cleanup():2490] Problem finishing run", TRACEBACK,
        '  File "/opt/env/lib/python3.10/site-packages/wandb/sdk/wandb_run.py", line 2481, in _atexit_cleanup', "    self._on_finish()",
        '  File "/opt/env/lib/python3.10/concurrent/futures/_base.py", line 403, in __get_result', "    raise self._exception",
        '  File "/opt/env/lib/python3.10/site-packages/wandb/sdk/mailbox/mailbox.py", line 76, in require_response', "    raise MailboxClosedError()",
        "wandb.sdk.mailbox.mailbox.MailboxClosedError",
    )  # fmt: skip
    check(log, None)


def test_the_bars_of_an_evaluation_prove_that_the_job_went_on():
    bars = (f"Evaluation  [{i:4d}/2007]  eta: 0:00:04    time: 6.2983  data: 0.0942  max mem: 17334" for i in range(10, 60, 10))
    log = join(f"WARNING: {'CUDA out of memory. Tried to allocate 64.00 MiB.'} A smaller chunk is used.", *bars)
    check(log, None)


def test_the_last_command_of_a_sweep_is_the_one_to_judge():
    command = "Running: /opt/env/bin/torchrun --standalone --nproc_per_node=1 -m scripts.train --depth 4"
    filler = tuple(f"layer {i} is built" for i in range(70))
    log = join(
        command, *filler, traceback("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB.", "[rank0]: "),
        command, *filler, traceback("AttributeError: 'Router' object has no attribute 'weight'", "[rank0]: "),
    )  # fmt: skip
    check(log, "python-exception", [0], evidence="Router")


def steps_until(minute):
    return [f"[2031-04-28 15:{m:02d}:10,000] [INFO] step: {m} loss: 2.{m:02d} world_size: 8" for m in range(minute)]


def test_a_job_that_goes_on_without_steps_stands_still():
    later = [f"[2031-04-28 {h:02d}:00:00,000] [INFO] node gpu07 is healthy" for h in range(16, 20)]
    check(join(*steps_until(30), *later), "silent-hang", verdict="undetermined")


def test_what_was_appended_months_later_does_not_show_that_a_job_stood_still():
    check(join(*steps_until(30), "[2031-07-30 12:21:10,000] [INFO] node gpu07 is healthy"), None)
