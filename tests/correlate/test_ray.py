"""What Ray says of actors that died, and who is to blame then."""

from .check import check


def join(*parts):
    return "\n".join(parts) + "\n"


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


def test_an_actor_whose_name_has_no_place_has_no_rank():
    check(died("critic"), "engine-died", verdict="undetermined")
