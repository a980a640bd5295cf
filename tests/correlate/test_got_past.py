"""What proves that a job got past a failure: its own words, later steps of its kind of trainer, answers of a server."""

from __future__ import annotations

import pytest

from .check import check
from .logs import traceback

OOM = "RuntimeError: CUDA out of memory. Tried to allocate 1.20 GiB (GPU 1; 31.75 GiB total capacity; 29.10 GiB already allocated)"
TRACEBACK = "Traceback (most recent call last):\n"


def test_a_batch_that_the_trainer_says_it_skips_is_got_past_with_one_later_step():
    log = f"""| epoch 003:  1211 / 8000 loss=4.211, num_updates=25211, lr=0.0002
| WARNING: OOM: Ran out of memory with exception: {OOM[14:]}
| WARNING: attempting to recover from OOM in forward/backward pass
| epoch 003:  1221 / 8000 loss=4.198, num_updates=25221, lr=0.0002
"""
    check(log, None)


def test_a_batch_that_was_to_be_skipped_is_blamed_when_no_step_follows():
    log = f"""| epoch 003:  1211 / 8000 loss=4.211, num_updates=25211, lr=0.0002
| WARNING: attempting to recover from OOM in forward/backward pass
{TRACEBACK}  File "/opt/nmt/trainer.py", line 88, in train_step
    loss.backward()
{OOM}
"""
    check(log, "cuda-out-of-memory")


def test_a_failure_that_nobody_says_was_caught_needs_more_than_one_later_step():
    log = f"""step 10 loss: 3.20
{TRACEBACK}  File "/opt/nmt/trainer.py", line 88, in train_step
    loss.backward()
{OOM}
step 11 loss: 3.18
"""
    check(log, "cuda-out-of-memory")


def test_steps_of_json_trainers_prove_progress():
    record = '2026-03-04 10:0{0}:12 | INFO | train_inner | {{"epoch": 1, "loss": "{1}.2", "num_updates": "{0}0"}}'
    steps = "\n".join(record.format(i, 9 - i) for i in range(1, 5))
    check(f"2026-03-04 10:00:02 | WARNING | trainer | {OOM}\n{steps}\n", None)


def test_the_events_of_an_mlperf_log_prove_progress():
    events = "\n".join(
        f':::MLLOG {{"namespace": "", "time_ms": 16836411{i}0318, "event_type": "INTERVAL_START", "key": "epoch_start", "value": null, '
        f'"metadata": {{"file": "train.py", "lineno": 88, "epoch_num": {i}}}}}'
        for i in range(1, 5)
    )
    check(f"[W socket.cpp:601] [c10d] The client socket has failed to connect to [node-7]:32933 (errno: 22 - Invalid argument).\n{events}\n", None)


def test_the_rest_of_an_elastic_job_goes_on_without_a_peer():
    lost = "[2026-03-04 10:47:05.325138: E horovod/common/operations.cc:546] Horovod background loop uncaught exception:"
    log = f"""[0]<stdout>:Iter #0: 121.1 img/sec per GPU
[2]<stderr>:{lost} [gloo/transport/tcp/pair.cc:566] Read error [10.0.0.4]:21925: Connection reset by peer
[0]<stdout>:Iter #1: 119.2 img/sec per GPU
[0]<stdout>:Iter #2: 120.2 img/sec per GPU
[0]<stdout>:Iter #3: 120.9 img/sec per GPU
"""
    check(log, None)


def test_a_thread_that_only_feeds_a_queue_does_not_end_the_job():
    log = f"""step 10 loss: 3.20
{TRACEBACK}  File "/usr/lib/python3.10/multiprocessing/queues.py", line 244, in _feed
    send_bytes(obj)
  File "/usr/lib/python3.10/multiprocessing/connection.py", line 368, in _send
    n = write(self._handle, buf)
BrokenPipeError: [Errno 32] Broken pipe
step 20 loss: 3.11
"""
    check(log, None)


def test_a_queue_that_the_training_itself_waits_for_does_end_it():
    log = f"""step 10 loss: 3.20
{TRACEBACK}  File "/opt/nmt/train.py", line 31, in <module>
    main()
  File "/usr/lib/python3.10/multiprocessing/connection.py", line 368, in _send
    n = write(self._handle, buf)
BrokenPipeError: [Errno 32] Broken pipe
step 20 loss: 3.11
"""
    check(log, "python-exception")


def test_a_metrics_service_that_breaks_does_not_end_the_job():
    log = f"""step 10 loss: 3.20
COMET ERROR: Streaming error
{TRACEBACK}  File "/usr/lib/python3/dist-packages/comet_ml/comet.py", line 117, in _loop
    self.ws_connection.send(messages)
  File "/usr/lib/python3/dist-packages/comet_ml/connection.py", line 384, in wait_for_connection
    raise ValueError(msg)
ValueError: Could not connect to server after multiple tries.
step 20 loss: 3.11
"""
    check(log, None)


REQUEST = f"""INFO:     10.0.0.3:51264 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error
ERROR:    Exception in ASGI application
{TRACEBACK}  File "/opt/venv/lib/python3.12/site-packages/uvicorn/protocols/http/httptools_impl.py", line 401, in run_asgi
    result = await app(
  File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/chat_utils.py", line 381, in render
    raise_exception(message)
jinja2.exceptions.TemplateError: Conversation roles must alternate
"""
METRICS = "INFO 03-04 12:00:11 metrics.py:345] Avg prompt throughput: 90.4 tokens/s, Avg generation throughput: {} tokens/s, Running: 5 reqs"


def test_one_bad_request_is_got_past_when_the_server_generates_and_answers():
    check(REQUEST + METRICS.format("298.8") + '\nINFO:     10.0.0.3:51270 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n', None)


def test_a_request_behind_which_nothing_is_generated_is_blamed():
    check(REQUEST + (METRICS.format("0.0") + "\n") * 4, "python-exception")


def test_a_job_that_was_requeued_and_took_up_its_checkpoint_is_running():
    bar = "Epoch 10:  93%|█████████▎| {}/20000 [05:43<25:20,  0.90it/s, v_num=3, train_loss=3.4]\n"
    log = bar.format(18601) + """[rank: 0] Received SIGUSR1: 10
Handling auto-requeue signal: 10
Requeing job 5511...
Restored all states from the checkpoint at /scratch/run/hpc_ckpt_1.ckpt
""" + bar.format(18602)  # fmt: skip
    check(log, None)


def test_devices_that_differ_are_no_ranks():
    line = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, {} and {}!\n"
    check("".join(line.format(a, b) for a, b in (("cuda:0", "cpu"), ("cuda:1", "cpu"), ("cuda:2", "cpu"))), "device-mismatch")


TRACKER = """Traceback (most recent call last):
  File "/opt/venv/lib/python3.10/site-packages/wandb/sdk/interface/router_sock.py", line 28, in _read_message
    resp = self._sock_client.read_server_response(timeout=1)
wandb.sdk.lib.sock_client.SockClientClosedError
"""


def test_a_thread_of_a_metrics_client_ends_nothing_even_where_nothing_follows():
    check("2026-03-02 10:11:32,709 WARNING MsgRouterThr:3607 [router.py:message_loop():77] message_loop has been closed\n" + TRACKER, None)


def test_a_metrics_client_that_the_script_calls_does_end_it():
    called = """
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/run/train.py", line 12, in <module>
    wandb.init(project="x")
  File "/opt/venv/lib/python3.10/site-packages/wandb/sdk/wandb_init.py", line 1180, in init
    raise CommError(message)
wandb.errors.errors.CommError: Error communicating with wandb process
"""
    check("step 10 loss: 3.20\n" + TRACKER + called, "python-exception", evidence="wandb")


VARIANT = """[rank{0}]:  File "/opt/venv/lib/python3.12/site-packages/torch/_inductor/runtime/triton_heuristics.py", line 608, in _make_launchers
[rank{0}]:    raise RuntimeError(f"No valid triton configs. {{type(exc).__name__}}: {{exc}}")
[rank{0}]:RuntimeError: No valid triton configs. OutOfMemoryError: out of resource: triton_mm Required: 360448 Hardware limit:232448
"""
ASIDE = "[rank{0}]:Runtime error during autotuning: \n[rank{0}]:No valid triton configs.\n[rank{0}]:Ignoring this choice.\n"


def test_a_variant_that_the_tuner_sets_aside_is_no_failure():
    check(VARIANT.format(0) + ASIDE.format(0), None)


def test_a_variant_of_another_rank_is_not_set_aside_with_it():
    check(VARIANT.format(1) + ASIDE.format(0), "python-exception", [1])


def test_a_peer_that_nccl_saw_leave_before_a_normal_end_had_ended_itself():
    left = "node-7:310:402 [1] include/socket.h:409 NCCL WARN Net : Connection closed by remote peer"
    steps = ["Epoch 3 step 40 loss 1.21", "Epoch 3 step 60 loss 1.19"]
    done = "Training completed. Total time 2:03:04"
    check("\n".join([*steps, left, done, ""]), None)
    check("\n".join([*steps, left, ""]), "nccl-remote-error", verdict="undetermined")
    killed = "srun: error: node-8: task 2: Killed"
    check("\n".join([*steps, left, done, killed, ""]), "process-killed")


DAMAGED = "image file is truncated (7 bytes not processed)"


@pytest.mark.parametrize(
    "line",
    [
        f"train: WARNING ⚠️ /data/a/0007.jpg: ignoring corrupt image/label: {DAMAGED}",
        f"2031-02-03,04:05:06 | WARNING | Handling webdataset error (OSError('{DAMAGED}')). Ignoring.",
        f"could not decode /data/a/0007.jpg: {DAMAGED}, skipping this sample",
    ],
)
def test_an_item_of_data_that_the_program_says_it_does_without_ends_nothing(line):
    check(line + "\nstarting epoch 1\n", None)


def test_a_word_about_going_on_inside_an_exception_is_none():
    log = f"""{TRACEBACK}  File "/opt/job/reader.py", line 12, in load
    raise OSError(message)
OSError: {DAMAGED}, skipping this sample is off
"""
    check(log, "data-corrupt")


def test_ticks_prove_progress():
    tick = "tick {0}     kimg {0}.0      time 13m 32s      sec/tick 224.1   sec/kimg 55.93   maintenance 0.1    cpumem 4.30"
    log = f"""{TRACEBACK}  File "/opt/gan/ops.py", line 48, in _init
    plugin = get_plugin("act_plugin")
RuntimeError: Error building extension 'act_plugin'
"""
    check(log, "extension-build-failed")
    check(log + "".join(tick.format(i) + "\n" for i in range(4)), None)


def test_what_a_logger_only_warns_of_is_got_past_with_one_later_step():
    warned = "2031-02-03 04:05:06,345 WARNING read /data/a.wav: Error opening '/data/a.wav': File contains data in an unknown format.\n"
    batch = "2031-02-03 04:05:{1},138 DEBUG TRAIN Batch 0/{0} loss 1.383334 loss_att 1.299984 lr 0.00005078 rank 0\n"
    check(batch.format(100, "01") + warned + batch.format(200, "31"), None)
    check(batch.format(100, "01") + warned, "data-corrupt")


ENDED = "{'train_runtime': 412.5, 'train_loss': 1.24, 'epoch': 3.0}"


def test_a_whole_timeout_behind_the_end_of_training_is_no_noise_of_its_end():
    waited = (
        "[E ProcessGroupNCCL.cpp:828] [Rank 0] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=2778, OpType=_ALLGATHER_BASE, Timeout(ms)=1800000) ran for 1801649 milliseconds before timing out."
    )
    check("\n".join([*STEPS, ENDED, waited, ""]), "collective-timeout", verdict="undetermined")


def test_an_exception_that_ends_the_program_behind_the_end_of_training_is_its_failure():
    full = traceback("OSError: [Errno 28] No space left on device: '/out/final/model.safetensors'")
    check("\n".join([*STEPS, ENDED, full, ""]), "disk-full")


def test_an_exception_of_a_thread_behind_the_end_of_training_ends_nothing():
    thread = (
        "Exception in thread Thread-4 (poll):\nTraceback (most recent call last):\n"
        '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n    self.run()\n'
        '  File "/opt/run/monitor.py", line 41, in poll\n    handle.read()\nValueError: I/O operation on closed file'
    )
    check("\n".join([*STEPS, ENDED, thread, ""]), None)


STEPS = ["Epoch 3 step 40 loss 1.21", "Epoch 3 step 60 loss 1.19", "Epoch 3 step 80 loss 1.17"]
def test_a_large_block_that_the_driver_refused_is_no_failure_of_a_program_that_ended_well():
    log = """2026-03-02 17:14:05.465694: E tensorflow/stream_executor/cuda/cuda_driver.cc:936] \
failed to allocate 4.00G (4294967296 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY
test accuracy0.9886

Process finished with exit code 0
"""
    check(log, None)
WARNED = "node-a:4711:4790 [0] misc/nvmlwrap.cc:100 NCCL WARN nvmlInit_v2() failed: Driver/library version mismatch\n"
CAME_UP = "node-a:4711:{0} [0] NCCL INFO comm 0x8b0 rank 0 nranks 1 cudaDev 0 busId ca000 commId 0x287f - Init COMPLETE\n"


def test_what_nccl_warns_of_and_does_without_ends_nothing():
    check(WARNED + CAME_UP.format(4790), None)


def test_a_communicator_that_another_thread_made_excuses_no_warning():
    check(WARNED + CAME_UP.format(4801), "cuda-driver-mismatch")
    check(CAME_UP.format(4790) + WARNED, "cuda-driver-mismatch")
