"""What MPI libraries, file servers, links, drivers and devices report, and which rank each of them names."""

from .check import check
from .logs import join

MPICH = "MPICH ERROR [Rank {}] [job id 4410.0] [Mon Mar  2 10:00:00 2026] [n{}] - Abort(70891919) (rank {} in comm 0): {}"
STACK = "Fatal error in PMPI_Gatherv: Other MPI error, error stack:"
PROTECTION = "MPIDI_OFI_handle_cq_error(1312): OFI poll failed (ofi_events.c:1314:MPIDI_OFI_handle_cq_error:Input/output error - local protection error)"


def test_the_stack_behind_an_mpi_error_is_of_the_rank_that_the_error_names():
    log = join(
        MPICH.format(21, 7, 21, STACK), "MPIR_CRAY_Gatherv(353).........: ", PROTECTION,
        MPICH.format(5, 7, 5, STACK), PROTECTION, "n7: rank 21 exited with code 255", "n2: rank 0 died from signal 15",
    )  # fmt: skip
    check(log, "nccl-ib-fault", [5, 21], evidence="OFI poll failed", collateral=["exited with code 255"])


def test_the_one_rank_that_mpi_ended_printed_what_its_transport_said_before():
    log = join(
        "[1772445600.440695] [n7:11838:0] ib_md.c:325 UCX  ERROR ibv_reg_mr(address=0xab, length=26400, access=0xf) failed: Cannot allocate memory",
        MPICH.format(153, 7, 153, "Fatal error in PMPI_Isend: Other MPI error, error stack:"),
    )
    check(log, "nccl-memory-registration-failed", [153], evidence="ibv_reg_mr")


def test_mpi_names_the_rank_in_the_world_and_that_in_a_communicator_is_another():
    reason = "Fatal error in PMPI_Recv: Other MPI error, error stack:"
    check(f"Abort(1) on node 3 (rank 0 in comm 1140850688): {reason}", "process-aborted", [3], verdict="undetermined")
    check(f"Abort(1) (rank 0 in comm 1140850688): {reason}", "process-aborted", None, verdict="undetermined")


def test_a_node_of_skypilot_is_no_rank():
    log = join(
        "(head, rank=0, pid=4410) step 1", "(worker1, rank=1, pid=4510, ip=10.2.0.9) [rank11]: Traceback (most recent call last):",
        '(worker1, rank=1, pid=4510, ip=10.2.0.9) [rank11]:   File "/srv/train.py", line 4, in <module>',
        "(worker1, rank=1, pid=4510, ip=10.2.0.9) [rank11]: ValueError: no shard of split 'val'",
        "ERROR: Job 2 failed with return code list: [137, 1]",
    )  # fmt: skip
    check(log, "python-exception", [11], evidence="ValueError")


def test_a_file_server_that_answers_again_soon_is_no_failure():
    check(join("[Mon Mar  2 10:00:00 2026] nfs: server filer7 not responding, still trying", "[Mon Mar  2 10:00:04 2026] nfs: server filer7 OK"), None)


def test_a_file_server_that_was_away_for_long_stays_a_failure():
    log = join("[Mon Mar  2 10:00:00 2026] nfs: server filer7 not responding, still trying", "[Mon Mar  2 10:40:00 2026] nfs: server filer7 OK")
    check(log, "filesystem-fault", evidence="not responding")


def test_that_another_file_server_answers_says_nothing():
    log = join("[ 4410.100000] nfs: server filer7 not responding, still trying", "[ 4411.100000] nfs: server filer8 OK")
    check(log, "filesystem-fault", evidence="not responding")


def test_the_driver_says_why_a_device_is_busy():
    log = join(
        "RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
        "[Mon Mar  2 10:00:00 2026] NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) "
        "returned from status @ kernel_channel.c:90",
    )
    check(log, "gpu-reset-required", evidence="Reset required")


DOWN, UP = "[   41.100000] mlx5_core 0000:18:00.0 ens7np0: Link down", "[   43.200000] mlx5_core 0000:18:00.0 ens7np0: Link up"


def test_a_link_that_comes_up_again_is_no_failure():
    check(join(DOWN, UP), None)


def test_a_link_that_another_one_outlives_stays_down():
    check(join(DOWN, UP.replace("18:00", "3b:00")), "nccl-ib-fault", evidence="Link down")


def test_a_link_that_was_away_for_a_moment_counts_where_the_network_failed_for_a_rank():
    lost = "[rank3]: RuntimeError: [/src/gloo/transport/tcp/pair.cc:525] Connection closed by peer [10.2.0.9]:4410"
    check(join(DOWN, UP, lost), "nccl-ib-fault", evidence="Link down")


def test_what_a_switch_survived_is_no_failure():
    log = join(
        "[   38.178720] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
        "[   38.180708] nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
    )
    check(log, None)
STEPS = join(*(f"2026-03-02T10:0{n}:00 INFO step: {n}0  loss: 2.{9 - n}  tps: 4100" for n in range(1, 9)))
REPLACED = (
    "[2026-03-02 10:00:08,459] [INFO] [reporter.py:68:report] [2026-03-02, 10:00:08][warn][train-edljob-worker-7][status_update]"
    '[Running to Failed][{"from_state": "Running", "to_state": "Failed", "node": "train-edljob-worker-7", "exit reason": "Deleted"}]'
)
NO_QUORUM = "torchft::lighthouse: 2026-03-02T10:00:55.422+00:00 - INFO start: No quorum, only have 1 participants, need 2"
NO_PING = "ping RPC timeout from x1203c6s4b0n0.hostmgmt after 120s"


def test_a_node_that_pals_no_longer_hears_failed():
    check(STEPS + join(NO_PING), "node-failure", None, verdict="probable")


def test_a_worker_that_was_replaced_is_got_past():
    check(join(REPLACED) + STEPS, None)
    check(STEPS + join(REPLACED), "worker-exit-unexplained", None, verdict="undetermined")


def test_a_quorum_that_came_late_is_got_past():
    check(join(NO_QUORUM, NO_QUORUM) + STEPS, None)
    check(join(NO_QUORUM, NO_QUORUM), "rendezvous-timeout", verdict="undetermined")
def hydra(rank: int, end: str) -> str:
    bar = "=" * 83
    title = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"
    return join(bar, title, f"=   RANK {rank} PID {7000 + rank} RUNNING AT gpu-0{rank // 2}", f"=   {end}", bar)


KILLED = "KILLED BY SIGNAL: 9 (Killed)"


def test_of_intel_mpis_report_the_rank_that_was_not_merely_killed_began():
    log = join(hydra(0, KILLED), hydra(1, KILLED), hydra(2, "KILLED BY SIGNAL: 11 (Segmentation fault)"), hydra(3, KILLED))
    check(log, "process-segfault", [2], evidence="SIGNAL: 11")


def test_ranks_that_intel_mpi_only_killed_do_not_sign_the_fault_of_another():
    log = join("CUDA Error: an illegal memory access was encountered", hydra(0, KILLED), hydra(1, KILLED), hydra(2, KILLED))
    check(log, "cuda-illegal-memory-access", None)


def test_a_program_that_hydra_cannot_start_is_a_configuration():
    log = join(
        "[0] [proxy:0:0@gpu-01] HYD_spawn (../libhydra/spawn/intel/hydra_spawn.c:128): "
        "execvp error on file /opt/job/bin/train (No such file or directory)",
        hydra(0, KILLED),
    )
    check(log, "config-invalid", [], evidence="execvp")


def test_a_report_of_the_device_under_mindspores_heading_says_what_the_exception_hands_on():
    log = join(
        "Traceback (most recent call last):",
        '  File "/opt/job/train.py", line 61, in main',
        "    init()",
        '  File "/opt/venv/lib/python3.9/site-packages/mindspore/communication/management.py", line 161, in init',
        "    init_hccl()",
        "RuntimeError: Ascend collective communication initialization failed.",
        "",
        "----------------------------------------------------",
        "- Ascend Error Message:",
        "----------------------------------------------------",
        "EI0004: The ranktable or rank is invalid,Reason:[The number of servers is not consistent]. "
        "Please check the configured ranktable. [/opt/job/hccl.json]",
    )
    check(log, "config-invalid", [], evidence="EI0004")


def test_what_ran_on_the_stream_is_told_by_the_device_and_not_by_the_code_of_the_call():
    log = join(
        "RuntimeError: NPU function error: aclrtSynchronizeStreamWithTimeout, error code is 507011",
        "EE9999: The error from device(chipId:5, dieId:0), serial number is 4, event wait timeout occurred during task execution, "
        "stream_id:31, sq_id:31, task_id:402, event_id=12, timeout=1980s.",
        "        synchronize stream failed, runtime result = 507011[FUNC:ReportCallError][FILE:log_inner.cpp][LINE:161]",
    )
    check(log, "collective-timeout", None, verdict="undetermined", evidence="event wait timeout")


def test_a_failed_condition_of_oneccl_comes_before_the_engine_that_died_of_it():
    log = join(
        "2026:03:02-10:00:00:(4410) |CCL_ERROR| comm_selector.cpp:57 create_comm_impl: condition ccl::global_data::get().ze_data failed",
        "(EngineCore_0 pid=4410) ERROR 03-02 10:00:00 [core.py:684] EngineCore failed to start.",
    )
    check(log, "nccl-internal-error", None, verdict="undetermined", evidence="CCL_ERROR")


def test_a_node_whose_shepherd_died_comes_before_the_ranks_that_the_launcher_ended():
    log = join(
        "step 12 loss 2.41",
        "x3104c5s4b0n0.hsn.example: shepherd died from signal 9",
        "x3101c1s6b0n0.hsn.example: rank 14 died from signal 15",
    )
    incident = check(log, "node-failure", None, verdict="probable", evidence="shepherd died")
    assert "x3104c5s4b0n0.hsn.example" in incident.summary


def test_a_length_that_does_not_fit_in_the_bootstrap_leaves_the_reason_open():
    log = join(
        "gpu-02:4827:6900 [4] bootstrap.cc:77 NCCL WARN Message truncated : received 1024 bytes instead of 256",
        "gpu-02:4827:6900 [4] NCCL INFO bootstrap.cc:554 -> 3",
        "gpu-02:4827:6900 [4] NCCL INFO group.cc:64 -> 3 [Async thread]",
    )
    check(log, "nccl-internal-error", None, verdict="undetermined")
