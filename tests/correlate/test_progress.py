"""The progress lines of training frameworks, and lines that only look like one."""

import pytest

from firstfault.correlate.progress import read_step
from firstfault.model import Line, Origin

from .check import check


def step_of(text):
    return read_step(Line(0, 1, text, text, range(len(text)), Origin()), None)


@pytest.mark.parametrize(
    ("text", "step", "total", "seconds"),
    [
        ("Epoch [3][50/962]\tlr: 1.0e-02, eta: 1:02:03, time: 0.645, data_time: 0.08, loss: 1.65", 50, 962, 0.645),
        ("mmseg - INFO - Iter [900/20000]\tlr: 4.8e-03, eta: 2:18:37, time: 0.427, data_time: 0.004, loss: 1.82", 900, 20000, 0.427),
        ("mmengine - INFO - Epoch(train)  [1][ 500/2931]  lr: 2.0e-02  eta: 0:39:15  time: 0.0578  loss: 1.31", 500, 2931, 0.0578),
        ("mmengine - INFO - Iter(train) [   50/80000]  base_lr: 1.0e-02  eta: 8:01:02  time: 0.3401  loss: 1.90", 50, 80000, 0.3401),
        ("Epoch: [0]  [3260/4572]  eta: 0:02:24  lr: 0.0001  loss: 1.2 (1.3)  time: 0.11  data: 0.01", 3260, 4572, 0.11),
        ("Train: data epoch: [1]  [ 185/3000]  eta: 0:22:16  lr: 3e-5  loss: 2.74  time: 0.4907  data: 0.0", 185, 3000, 0.4907),
        ("Epoch: [0][  10/5005]\tTime  0.512 ( 1.4)\tData  0.001 ( 0.8)\tLoss 6.98e+00 (7.0e+00)", 10, 5005, 0.512),
        ("INFO Train: [0/300][10/1251]\teta 0:21:10 lr 0.000001\ttime 0.6123 (1.02)\tloss 6.9 (6.9)", 10, 1251, 0.6123),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.113642", 640, 60000, None),
        ("{'loss': '0.512', 'learning_rate': '1e-05', 'global_step/max_steps': '5/300', 'percentage': '1.67%'}", 5, 300, None),
        ("[epoch=1][batch=12/4800]:", 12, 4800, None),
        ("========================= Step 12/100 =========================", 12, 100, None),
        ("INFO Step 12 | Time: 5.21s | Reward: 0.4100 | Throughput: 1200.1 tokens/s", 12, None, 5.21),
        ("rollout.py:430 - perf 3: {'perf/rollout_time': 120.0, 'perf/tokens_per_gpu_per_sec': 50.0}", 3, None, None),
        ("| INFO | train_inner | epoch 001:    100 / 1234 loss=9.1, ppl=413, ups=4.3, num_updates=102, wall=40", 102, None, None),
        ("Epoch: 0, Step: 10, Rank: 0, loss = 1.21", 10, None, None),
        ("Step    12 | Loss: 11.0838 | Time: 1.626s | Tokens/s: 630", 12, None, None),
        ("train   Epoch   0:   12%|██▉   | 12/100 [00:31<03:51,  2.63s/ba, loss/train/total=2.3]", 12, 100, 2.63),
    ],
)
def test_a_training_step_is_read(text, step, total, seconds):
    got = step_of(text)
    assert got is not None and not got.bar, got
    assert (got.step, got.total, got.seconds) == (step, total, seconds)


def test_a_bar_without_a_loss_is_a_sign_of_life_only():
    got = step_of("Epoch 3/9 ━━━━━━╺━━━━━ 2314/3351 0:24:57 • 0:11:03 1.56it/s")
    assert got is not None and got.bar and got.step == 2314


@pytest.mark.parametrize(
    "text",
    [
        "Step 2: install the driver",
        "mmengine - INFO - Epoch(val) [10][5/5]    coco/bbox_mAP: 0.31  data_time: 0.2  time: 0.3",
        "Epoch 3/9 finished",
    ],
)
def test_what_only_looks_like_a_step_is_none(text):
    assert step_of(text) is None


def test_how_many_steps_there_are_to_be_is_no_step():
    start = "02/03/2031 10:00:17 - INFO - __main__ -   {} = {}"
    bar = "Steps: 100%|##########| 100/100 [30:10<00:00, 10.91s/it]"
    heads = [start.format("Total optimization steps", 100), start.format("Gradient Accumulation steps", 4)]
    check("\n".join([*heads, bar, "02/03/2031 10:31:09 - INFO - __main__ - configuration saved"]) + "\n", None)
