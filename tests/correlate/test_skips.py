"""Updates that a trainer throws away because gradients are NaN: one is harmless, all are not."""

from .check import check


def skip(second):
    return f"[node4] 2022-02-02 02:22:{second:02d},222 (trainer:520) WARNING: The grad norm is nan. Skipping updating the model."


def step(second, loss=3.1):
    return f"[node4] 2022-02-02 02:22:{second:02d},300 (trainer:700) INFO: 3epoch:train:{second}-{second}batch: loss={loss}, train_time=0.6"


def test_updates_that_are_all_skipped_are_a_loss_that_became_nan():
    log = "\n".join(x for n in range(12) for x in (skip(n), step(n)))
    check(log, "loss-nan", verdict="probable", evidence="Skipping updating")


def test_a_few_skipped_updates_at_the_start_are_normal():
    log = "\n".join([skip(1), skip(2), skip(3), *(step(n) for n in range(4, 30))])
    check(log, None)


def test_skipped_updates_far_apart_are_normal():
    log = "\n".join(x for n in range(12) for x in (skip(n), *(step(n, 3.1 - n / 100) for _ in range(5))))
    check(log, None)
