"""Jobs that were appended to one file: the last one is judged, although nothing announces it."""

from .check import check
from .logs import exit_entry, failed, join, steps, summary, traceback

MODULES = join("Loading python/3.11.4", "Loading requirement: cuda/12.4", "Loading cudnn/9.1.0 for cuda/12.4").rstrip()


def test_the_last_run_counts_where_the_module_lines_come_again():
    first = traceback("RuntimeError: The size of tensor a (9) must match the size of tensor b (7) at non-singleton dimension 2")
    log = join(MODULES, first, MODULES, traceback("KeyError: 'pixel_values'"))
    check(log, "python-exception", evidence="pixel_values")


def test_a_run_that_printed_nothing_but_its_module_lines_does_not_count():
    log = join(MODULES, traceback("KeyError: 'pixel_values'"), MODULES)
    check(log, "python-exception", evidence="pixel_values")


def test_a_run_that_ended_in_silence_stands_between_two_that_failed():
    log = join(
        MODULES, traceback("ValueError: too many values to unpack (expected 2)"), MODULES, MODULES,
        traceback("TypeError: 'NoneType' object is not iterable"), MODULES, traceback("KeyError: 'pixel_values'"),
    )  # fmt: skip
    check(log, "python-exception", evidence="pixel_values")


def test_first_lines_that_a_slower_rank_repeats_begin_no_job():
    banner = "Model card: tiny-encoder with 12 layers\nTrainable parameters: 86,415,592 of 86,415,592"
    log = join(
        banner, traceback("RuntimeError: CUDA error: invalid device ordinal"), banner, steps(1, 1), failed(1, 1, 4101),
        summary(exit_entry(0, 1, 1, 1, 4101)),
    )  # fmt: skip
    check(log, "invalid-device-ordinal", [1])


def test_the_ranks_of_one_job_that_fail_alike_are_no_runs():
    banner = "Model card: tiny-encoder with 12 layers\nTrainable parameters: 86,415,592 of 86,415,592"
    log = join(banner, banner, banner, banner, *(traceback("KeyError: 'labels'", f"[rank{r}]: ") for r in range(4)))
    check(log, "python-exception", (0, 1, 2, 3))


def test_halves_of_wrapped_failures_at_the_start_of_an_excerpt_begin_no_job():
    half = [
        f"[rank{r}]:[E1102 10:14:07.16083{r}720 ProcessGroupNCCL.cpp:629] [Rank {r}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpTy\n"
        f"pe=BROADCAST, NumelIn=64, NumelOut=64, Timeout(ms)=900000) ran for 90001{r} milliseconds before timing out."
        for r in (2, 3, 5, 6)
    ]  # fmt: skip
    check(join(*half), "collective-timeout", verdict="undetermined", evidence="Watchdog caught collective operation timeout")


def test_a_slurm_job_behind_anothers_cancellation_is_the_one_to_judge():
    log = join(
        traceback("ImportError: cannot import name 'Trainer' from 'engine'"),
        "slurmstepd: error: *** JOB 4801 ON gpu07 CANCELLED AT 2026-11-02T10:00:00 ***",
        steps(1, 3), "slurmstepd: error: *** JOB 4802 ON gpu09 CANCELLED AT 2026-11-02T12:00:00 DUE TO TIME LIMIT ***",
    )  # fmt: skip
    check(log, "job-time-limit", [], evidence="JOB 4802")


def test_the_notices_of_one_slurm_job_are_one_end():
    log = join(
        steps(1, 3), "slurmstepd: error: *** STEP 4801.0 ON gpu07 CANCELLED AT 2026-11-02T10:00:00 DUE TO TIME LIMIT ***",
        "slurmstepd: error: *** JOB 4801 ON gpu07 CANCELLED AT 2026-11-02T10:00:00 DUE TO TIME LIMIT ***",
    )  # fmt: skip
    check(log, "job-time-limit", [])


def test_the_second_lsf_report_counts():
    def report(*end):
        usage = ("Resource usage summary:", "    CPU time : 25.8 sec.", "", "The output (if any) is above this job summary.", "")
        return join("-" * 60, "", *end, "", *usage)

    killed = report("TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.", "Exited with exit code 137.")
    log = report("Exited with exit code 139.") + killed
    check(log, "host-out-of-memory", evidence="TERM_MEMLIMIT")


def entry(line, error):
    return join("Traceback (most recent call last):", f'  File "finetune.py", line {line}, in <module>', "    main()", error).rstrip()


def test_a_script_that_calls_from_another_line_was_edited_in_between():
    first = entry(184, "NameError: name 'load' is not defined")
    log = join(first, first, entry(196, "KeyError: 'prompt'"))
    check(log, "python-exception", evidence="KeyError")


def test_a_script_that_ran_before_and_no_longer_compiles_was_edited_in_between():
    broken = join('  File "finetune.py", line 40', "    rate=2e-5", "    ^", "SyntaxError: invalid syntax").rstrip()
    check(join(entry(184, "KeyError: 'prompt'"), broken), "python-exception", evidence="SyntaxError")


def test_a_script_that_runs_after_it_could_not_be_compiled_was_corrected_in_between():
    broken = '  File "train.py", line 41\n    rank=rank,\n    ^\nSyntaxError: invalid syntax'
    fixed = "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    if 'RANK' in os.environ:\nNameError: name 'os' is not defined"
    check(join(broken, broken, fixed, fixed), "python-exception", evidence="NameError")
REFUSED = "usage: tune.py [-h] [--out OUT]\ntune.py: error: the following arguments are required: --out"


def test_arguments_refused_behind_a_finished_training_are_another_start():
    trained = join(steps(0, 3), "Training completed. Do not forget to share your model", "{'train_runtime': 61.2, 'epoch': 3.0}").rstrip()
    check(join(trained, REFUSED), "config-invalid", evidence="required: --out")
    check(join(trained, "usage: tune.py [-h] [--out OUT]"), None)


BAR = "Scoring: 100%|##########| {0}/300 [05:12<00:00,  1.04s/it]"
KILLED = "tools/score.sh: line 18: 40177 Killed                  python score.py --set ${SET}"


def test_a_script_that_worked_to_the_end_behind_a_killed_command_got_past_it():
    check(join(BAR.format(26), KILLED, BAR.format(300), "accuracy 0.51"), None)
    check(join(BAR.format(26), KILLED), "process-killed")


def test_a_bar_that_goes_on_behind_a_killed_command_is_no_other_run():
    check(join(BAR.format(26), KILLED, BAR.format(31)), "process-killed")
REPORT = "\n".join(("Sender: LSF System <lsfadmin@n7>", "Subject: Job {0}: <t> in cluster <c> {1}", "", "{2}", "", "The output (if any) is above this job summary."))


def test_an_lsf_job_that_ended_well_behind_one_that_did_not_is_what_counts():
    log = join(
        "Killed", REPORT.format(4410, "Exited", "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137."),
        "epoch 40 saved", REPORT.format(4411, "Done", "Successfully completed."),
    )  # fmt: skip
    check(log, None)


def test_an_lsf_job_that_failed_behind_one_that_ended_well_is_what_counts():
    log = join(
        REPORT.format(4410, "Done", "Successfully completed."),
        REPORT.format(4411, "Exited", "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137."),
    )
    check(log, "host-out-of-memory", evidence="TERM_MEMLIMIT")


def test_where_lsf_reports_before_the_output_the_next_report_begins_the_next_job():
    report = REPORT.replace("is above this job summary.", "follows:")
    log = join(
        report.format(4410, "Done", "Successfully completed."), "epoch 40 saved",
        report.format(4411, "Exited", "Exited with exit code 1."), traceback("KeyError: 'pixel_values'"),
    )  # fmt: skip
    check(log, "python-exception", evidence="pixel_values")


HELD = "012 (4410.000.000) 2026-03-02 10:00:00 Job was held.\n\tError from slot1@n7: Docker job has gone over memory limit of 8055 Mb"
AGAIN = "001 (4410.000.000) 2026-03-02 10:20:00 Job executing on host: <10.2.0.9:9618>"


def test_a_job_that_htcondor_ran_again_is_judged_by_its_last_run():
    ended = "005 (4410.000.000) 2026-03-02 12:00:00 Job terminated.\n\t(1) Normal termination (return value {})"
    check(join(HELD, AGAIN, ended.format(0)), None)
    check(join(HELD, AGAIN, ended.format(3)), "worker-exit-unexplained", verdict="undetermined", evidence="return value 3")


def test_a_job_that_htcondor_holds_stays_failed_where_another_one_runs():
    check(join(HELD, AGAIN.replace("4410", "4411")), "host-out-of-memory", evidence="memory limit")
