"""Writes the log of a healthy job in the style of a framework, with any other lines at its start, in its middle and at its end.

Knows how training jobs print when all is well, and nothing of FirstFault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

RANKS = 4
STEPS = 60


def _clock(step: int) -> str:
    second = 36_000 + 2 * step
    return f"2026-03-04 {second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def _loss(step: int, rank: int = 0) -> float:
    return 2.0 + 6.0 / (1 + step / 20) + ((step * 7 + rank * 3) % 11) / 100


def _torchtitan(step: int) -> Iterator[str]:
    for rank in range(RANKS):
        yield (
            f"[rank{rank}]:[titan] {_clock(step)},{step:03d} - root - INFO - step: {step:2d}  loss: {_loss(step):.4f}  grad_norm:  1.1"
            f"  memory: 41.20GiB(52.05%)  tps: 7,{400 + step}  tflops: 271.00  mfu: 27.40%"
        )


def _megatron(step: int) -> Iterator[str]:
    yield (
        f" [{_clock(step)}] iteration {step:8d}/   60000 | consumed samples: {step * 256:12d} | elapsed time per iteration (ms): 2013.4 |"
        f" learning rate: 1.5E-05 | global batch size:   256 | lm loss: {_loss(step):.6E} | loss scale: 1.0 | grad norm: 0.912 |"
        " number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def _transformers(step: int) -> Iterator[str]:
    done = 100 * step // STEPS
    yield f"{done:3d}%|{'█' * (done // 10):<10}| {step}/{STEPS} [{step * 2 // 60:02d}:{step * 2 % 60:02d}<01:20,  2.01s/it]"
    if step % 5 == 0:
        yield f"{{'loss': {_loss(step):.4f}, 'grad_norm': 0.81, 'learning_rate': 1.9e-05, 'epoch': {step / STEPS:.2f}}}"


def _deepspeed(step: int) -> Iterator[str]:
    yield f"[{_clock(step)},{step:03d}] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]"
    yield f"[{_clock(step)},{step:03d}] [INFO] [timer.py:260:stop] epoch=0/micro_step={step}/global_step={step}, CurrSamplesPerSec=31.2"
    yield f"steps: {step} loss: {_loss(step):.4f} iter time (s): 2.013 samples/sec: 31.2"


def _slurm(step: int) -> Iterator[str]:
    for task in range(RANKS):
        yield f"{task}: {_clock(step)} | INFO | trainer | epoch 1 | step {step}/{STEPS} | loss {_loss(step, task):.3f} | 1.98 s/step"


def _detectron(step: int) -> Iterator[str]:
    yield (
        f"[03/04 10:{step:02d}:02] d2.utils.events INFO:  eta: 0:41:12  iter: {step * 20}  total_loss: {_loss(step):.3f}"
        f"  time: 0.4102  data_time: 0.0121  lr: 0.02  max_mem: 7124M"
    )


def _lightning(step: int) -> Iterator[str]:
    loss = _loss(step)
    yield f"\rEpoch 0: {100 * step // STEPS:3d}%|█████     | {step}/{STEPS} [00:{step % 60:02d}<00:30,  1.9it/s, train_loss={loss:.3f}]"
    if step % 10 == 0:
        yield f"Epoch 0, global step {step}: 'val_loss' reached {loss:.5f} (best {loss:.5f}), saving model to 'ckpt/best.ckpt'"


def _nanogpt(step: int) -> Iterator[str]:
    yield f"step:{step}/{STEPS} train_loss:{_loss(step):.4f} train_time:{step * 43}ms step_avg:43.52ms"


def _mmengine(step: int) -> Iterator[str]:
    yield (
        f"03/04 10:{step:02d}:02 - mmengine - INFO - Epoch(train)  [2][{step * 50:4d}/3000]  lr: 2.0000e-02  eta: 0:39:15  time: 0.3578"
        f"  data_time: 0.0017  memory: 2389  loss: {_loss(step):.4f}  loss_cls: {_loss(step) / 2:.4f}"
    )


def _fairseq(step: int) -> Iterator[str]:
    yield (
        f"{_clock(step)} | INFO | train_inner | epoch 001:   {step * 100:4d} / 6100 loss={_loss(step):.3f}, nll_loss=6.7, ppl=104.2,"
        f" wps=31004, ups=4.31, wpb=7193.4, bsz=221.2, num_updates={step * 100}, lr=1.2e-05, gnorm=1.131, train_wall=23, wall=40"
    )


def _mlperf(step: int) -> Iterator[str]:
    meta = f'{{"file": "train.py", "lineno": 88, "epoch_num": {step}}}'
    yield f':::MLLOG {{"namespace": "", "time_ms": {1_700_000_000_000 + step}, "event_type": "INTERVAL_START", "key": "epoch_start", "value": null, "metadata": {meta}}}'


def _horovod(step: int) -> Iterator[str]:
    yield f"[0]<stdout>:Iter #{step}: {120 + step % 7}.4 img/sec per GPU"


STYLES: dict[str, Callable[[int], Iterator[str]]] = {
    "torchtitan": _torchtitan,
    "megatron": _megatron,
    "transformers": _transformers,
    "deepspeed": _deepspeed,
    "slurm": _slurm,
    "mlperf": _mlperf,
    "horovod": _horovod,
    "detectron": _detectron,
    "lightning": _lightning,
    "nanogpt": _nanogpt,
    "mmengine": _mmengine,
    "fairseq": _fairseq,
}


def healthy_log(
    style: str, *, start: Sequence[str] = (), middle: Sequence[str] = (), end: Sequence[str] = (), finished: bool = True
) -> str:
    """A job that begins, trains and, where `finished`, ends well; `end` stands behind its last words."""
    lines = ["+ torchrun --nproc-per-node 4 train.py --config base.yaml", "INFO: world_size 4, seed 17, compiling the model", *start]
    for step in range(1, STEPS + 1):
        if step == STEPS // 2:
            lines += middle
        lines += STYLES[style](step)
    if finished:
        lines += [f"{_clock(STEPS + 1)} INFO saved checkpoint of step {STEPS} to /ckpt/run-3", "Training completed."]
    return "\n".join([*lines, *end]) + "\n"
