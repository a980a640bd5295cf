"""A Slurm step that srun ended itself because one task had failed, against one that was cancelled from outside."""

from .check import check
from .logs import join

EXIT = "srun: error: gpu-a1: task 6: Exited with exit code 1"
SAYS = "srun: launch/slurm: _step_signal: Terminating StepId=771.0"
ENDED = "slurmstepd: error: *** STEP 771.0 ON gpu-a1 CANCELLED AT 2025-03-04T05:06:07 ***"
KILLED = ["srun: error: gpu-a1: tasks 1,3: Killed", "srun: error: gpu-a2: task 8: Killed"]


def test_a_task_that_exited_before_srun_ended_the_step_came_first():
    log = join(EXIT, SAYS, ENDED, *KILLED)
    check(log, "worker-exit-unexplained", [6], verdict="undetermined", evidence="task 6", collateral=["CANCELLED AT", "task 8"])


def test_a_step_that_srun_did_not_end_was_cancelled():
    check(join(ENDED, *KILLED), "job-cancelled", [])


def test_a_step_of_another_number_was_cancelled():
    check(join(SAYS.replace("771.0", "770.0"), ENDED, *KILLED), "job-cancelled", [])


def test_what_tells_whose_exit_it_was_says_more_than_what_does_not():
    log = join(
        "LAUNCH INFO 2025-03-04 05:06:07,100 Pod failed",
        "LAUNCH ERROR 2025-03-04 05:06:07,100 Container failed !!!",
        "Container rank 2 status failed cmd ['/usr/bin/python3', '-u', 'train.py'] code -6 log log/workerlog.2",
    )
    check(log, "process-aborted", [2], evidence="Container rank 2")
