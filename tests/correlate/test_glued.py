"""Processes that write into each other's lines: prefixes and names that stand behind what another one had not finished."""

from .check import check
from .logs import exit_entry, failed, join, status, summary, timeout


def test_a_prefix_behind_an_unfinished_progress_bar_says_whose_timeout_it_is():
    bar = " 31%|███▏      | 12/40 [00:31<01:10,  2.51s/it]"
    log = join(bar + timeout(1, 700), status(1, 700, 42, 41), timeout(0, 701), status(0, 701, 42, 41))
    check(log, "collective-timeout", verdict="undetermined", evidence="[rank1]")


def test_the_last_prefix_before_a_message_is_its_own():
    line = "loading fused kernels[rank0]: done[rank2]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 2 has 1.00 GiB"
    check(join("step 1", line), "cuda-out-of-memory", [2])


GLUED = [
    "[rank0]: step 1 loss 2.31",
    "Traceback (most recent call last):",
    '  File "/job/run.py", line 31, in <module>',
    "Traceback (most recent call last):",
    '  File "/job/run.py", line 31, in <module>',
    "    main()main()",
    "",
    '  File "/job/run.py", line 12, in main',
    '  File "/job/run.py", line 12, in main',
    "        tune(model)tune(model)",
    "",
]


def test_a_name_that_stands_twice_in_a_row_was_printed_by_two_processes():
    log = join(*GLUED, "NameErrorNameError: : name 'tune' is not definedname 'tune' is not defined")
    check(log, "python-exception", [], evidence="NameErrorNameError")


def test_one_name_alone_was_printed_by_one_process():
    check(join(*GLUED[:3], "    main()", "NameError: name 'tune' is not defined"), "python-exception", None)


def test_carets_of_others_between_the_words_make_no_other_message():
    log = join(
        "Traceback (most recent call last):",
        '  File "/job/train.py", line 8, in <module>',
        "    with open(path) as file:",
        "^^^FileNotFoundError^^: ^^    [Errno 2] No such file or directory: '/conf/run.yaml'^^",
        "FileNotFoundError :  [Errno 2] No such file or directory: '/conf/run.yaml' ",
        "^^FileNotFoundError^: ^[Errno 2] No such file or directory: '/conf/run.yaml'^",
        failed(1, 0, 510),
        summary(exit_entry(0, 0, 0, 1, 510), exit_entry(1, 1, 1, 1, 511), exit_entry(2, 2, 2, 1, 512)),
    )
    check(log, "data-missing", [])


def test_a_message_that_compares_devices_names_no_rank():
    error = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:{} and cpu!"
    frame = ["Traceback (most recent call last):", '  File "/job/model.py", line 20, in forward']
    check(join(*(x for d in range(4) for x in (*frame, error.format(d)))), "device-mismatch")


def test_frames_of_several_processes_without_a_heading_are_several_tracebacks():
    frames = ['  File "/job/run.py", line 6, in d', "    c()", '  File "/job/run.py", line 5, in c', "    torch.ones()"]
    log = join("[rank0]: step 1 loss 2.31", *frames, "TypeError: ones() needs a size", "", *frames, "TypeError: ones() needs a size")
    check(log, "python-exception", [])


KEY = ['  File "/job/begin.py", line 31, in rank_of', "    return int(os.environ[name])", '  File "/usr/lib/python3.12/os.py", line 714, in __getitem__']
ENDS = ["    raise KeyError(key) from None", "KeyError: 'JOB_RANK'"]


def test_a_traceback_that_begins_inside_another_is_of_a_second_process():
    head = "Traceback (most recent call last):"
    log = join("step 1 loss 2.31", head, *KEY, head, *KEY, *ENDS, *ENDS, failed(1, 0, 411))
    check(log, "python-exception", [], evidence="JOB_RANK")


def test_tracebacks_behind_each_other_are_of_the_one_process_that_failed():
    head = "Traceback (most recent call last):"
    log = join("step 1 loss 2.31", head, *KEY, *ENDS, head, *KEY, *ENDS, failed(1, 0, 411))
    check(log, "python-exception", [0], evidence="JOB_RANK")
