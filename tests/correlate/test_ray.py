"""What Ray says of actors that died, and who is to blame then."""

import pytest

from .check import check
from .logs import join


def died(name, pid=5102):
    return join(
        "ray.exceptions.RayTaskError(ActorDiedError): ray::Runner.run() (pid=4001, ip=10.0.0.9, repr=<main.Runner object at 0x7f00>)",
        '  File "/job/trainer.py", line 90, in fit',
        "    batch = self.workers.generate(batch)",
        "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        "\tclass_name: create_colocated_worker_cls.<locals>.WorkerDict",
        "\tactor_id: 5066c201b724a39369",
        f"\tpid: {pid}",
        f"\tname: {name}",
        "\tnamespace: b8860f81-d334",
        "\tip: 10.0.0.9",
        "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR",
    )


def test_a_dead_actors_name_tells_its_rank():
    check(died("q1ZxWorkerDict_0:3"), "engine-died", [3], verdict="undetermined", evidence="ActorDiedError: The actor died")


def test_the_place_on_another_node_is_no_rank():
    check(died("q1ZxWorkerDict_1:3"), "engine-died", verdict="undetermined")


def test_a_dead_actor_of_which_only_the_wrapper_is_left():
    check(died("critic").split("\n")[0] + "\n", "engine-died", None, verdict="undetermined")


def test_an_actor_whose_name_has_no_place_has_no_rank():
    check(died("critic"), "engine-died", verdict="undetermined")


def reported(*snippets, head=""):
    """Ray Train's report of worker errors: each snippet is a heading, an exception and, optionally, the line of code."""
    lines = ["step 3 loss 2.31", "ray.train.WorkerGroupError: Training failed due to worker errors:"]
    for heading, exception in snippets:
        lines += [heading, "Traceback (most recent call last):", '  File "/home/lee/loop.py", line 71, in loop', "    step(batch)", exception]
    return "\n".join(head + line for line in lines) + "\n"


@pytest.mark.parametrize("head", ["", "(TrainController pid=88) "])
@pytest.mark.parametrize("heading", ["[Rank 5]", "[Rank 5 Error Snippet]:"])
def test_the_report_of_worker_errors_says_whose_each_is(head, heading):
    log = reported((heading, "KeyError: 'labels'"), head=head)
    check(log, "python-exception", [5], evidence="KeyError: 'labels'")


def test_a_report_may_speak_of_several_ranks_at_once():
    check(reported(("[Rank 1,4,6 Error Snippet]:", "KeyError: 'labels'")), "python-exception", [1, 4, 6], evidence="labels")


@pytest.mark.parametrize("head", ["", "(TrainController pid=88) "])
def test_each_heading_of_a_report_holds_until_the_next(head):
    peer = "RuntimeError: [../gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.5]:3011"
    log = reported(("[Rank 2]", peer), ("[Rank 7]", "KeyError: 'labels'"), head=head)
    check(log, "python-exception", [7], evidence="KeyError: 'labels'")


def test_a_report_cut_at_its_start_still_says_whose():
    log = "\n".join(
        [
            "ray.train.WorkerGroupError: Training failed due to worker errors:",
            "[Rank 3 Error Snippet]:",
            '  File "/opt/venv/lib/python3.11/site-packages/ray/train/torch/config.py", line 35, in __enter__',
            "    torch.cuda.set_device(device)",
            "torch.AcceleratorError: CUDA error: invalid device ordinal",
        ]
    )
    check(log + "\n", "invalid-device-ordinal", [3], evidence="invalid device ordinal")


RAISED = [
    "Traceback (most recent call last):",
    '  File "/opt/verl/workers/actor.py", line 7, in train',
    "    out = model(batch)",
    "TypeError: forward() got an unexpected keyword argument 'packed'",
]


def test_what_ray_counts_instead_of_showing_it_again_was_printed_by_others():
    first = join(*("(TrainWorker pid=412) " + x for x in RAISED))
    check(first, "python-exception", None, evidence="packed")
    check(first + "(TrainWorker pid=413) " + RAISED[-1] + " [repeated 7x across cluster]\n", "python-exception", [], evidence="packed")


def test_other_words_that_were_repeated_are_nobodys_failure():
    log = join(*("(TrainWorker pid=412) " + x for x in RAISED), "(TrainWorker pid=413)   warnings.warn( [repeated 7x across cluster]")
    check(log, "python-exception", None, evidence="packed")


def test_the_name_of_an_actor_may_hold_its_rank():
    called = "ray.exceptions.RayTaskError(TypeError): ray::lm_policy-0-5:PolicyWorker.train() (pid=113, ip=10.0.0.2, actor_id=4e, repr=PolicyWorker[rank=5])"
    check(join(called, *RAISED[1:]), "python-exception", [5], evidence="packed")


def test_a_rank_that_ray_shows_for_several_is_not_the_only_one():
    shown = [f"(TrainWorker[rank=2] pid=412) {x}" for x in RAISED]
    check(join(*shown), "python-exception", [2])
    check(join(*shown[:-1], shown[-1] + " [repeated 6x across cluster]"), "python-exception", [])
