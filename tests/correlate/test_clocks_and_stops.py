"""What clocks of several hosts and the launcher's list of stopped processes tell."""

from firstfault.correlate.launchers import read_launchers
from firstfault.correlate.reading import Reading
from firstfault.diagnose import diagnose
from firstfault.knowledge.library import load_library
from firstfault.observe import observe, scanner_for
from firstfault.read.reader import read_chunks

from .check import check
from .logs import exit_entry, nccl_init, sigterms, stamp, summary, traceback


def test_the_process_that_was_not_stopped_had_ended_before():
    log = "\n".join(
        [
            *(nccl_init(r, 4, "gpu-01", 100 + r, r, f"{16 + 16 * r:x}000") for r in range(4)),
            traceback("KeyError: 'label'"),
            sigterms(100, 101, 103),
        ]
    )
    check(log, "python-exception", [2])


def test_a_list_of_stopped_processes_that_are_not_known_names_nobody():
    log = "\n".join(["world_size: 4", traceback("KeyError: 'label'", file="/job/torch_train.py"), sigterms(100, 101, 103)])
    check(log, "python-exception", None)


def write_node(folder, name, ranks, ahead_s, fault):
    rows = []
    for step in range(1, 8):
        at = 36_000 + step * 10 + ahead_s
        clock = f"2026-11-02 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d},000"
        rows += [f"[rank{r}]: {clock} - INFO - step: {step}  loss: 2.31" for r in ranks]
    (folder / f"{name}.log").write_text("\n".join([*rows, *fault]) + "\n")


def test_clocks_of_two_hosts_are_compared_by_the_steps_they_both_print(tmp_path):
    write_node(tmp_path, "node01", (0, 1), 0, ["[rank0]: KeyError: 'x'"])
    write_node(tmp_path, "node02", (2, 3), 90, [])
    limits = diagnose([tmp_path]).report.limits
    assert any("clocks of node01 and node02 differ by 90.0 s" in limit for limit in limits), limits


def test_clocks_that_agree_are_not_spoken_of(tmp_path):
    write_node(tmp_path, "node01", (0, 1), 0, [])
    write_node(tmp_path, "node02", (2, 3), 0, [])
    assert not any("clocks" in limit for limit in diagnose([tmp_path]).report.limits)


def launchers_of(log):
    library = load_library()
    scanner = scanner_for(library)
    return read_launchers(Reading([observe(library, scanner, read_chunks(scanner, [log.encode()], "x"), 0)]))


def test_a_sigtermed_entry_that_quotes_a_traceback_had_failed_before():
    log = summary(
        exit_entry(0, 3, 3, -15, 103, said="Traceback (most recent call last):"),
        exit_entry(1, 1, 1, -15, 101, said="Signal 15 (SIGTERM) received by PID 101"),
    )
    assert {e.rank for e in launchers_of(log).own_failures()} == {3}


def test_a_process_that_sigterm_could_not_end_was_the_stuck_one():
    log = "\n".join(
        [
            *(nccl_init(r, 4, "gpu-01", 100 + r, r, f"{16 + 16 * r:x}000") for r in range(4)),
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 60000ms for recv operation to complete",
            f"W{stamp(90)} 900 torch/distributed/elastic/multiprocessing/api.py:900] Unable to shutdown process 102 via 15, forcefully exiting via 9",
        ]
    )
    check(log, "collective-timeout", [2], verdict="undetermined")


def test_files_named_after_slurm_tasks_tell_the_rank_where_the_content_does_not(tmp_path):
    for task in range(4):
        fault = traceback("KeyError: 'label'", file="/job/torch_train.py") if task == 2 else "waiting"
        (tmp_path / f"slurm-81_{task}.out").write_text(f"torch 2.9 starts, world_size: 4\n{fault}\n")
    incident = diagnose([tmp_path]).report.incidents[0]
    assert (incident.failure, incident.initiating.ranks) == ("python-exception", (2,))
