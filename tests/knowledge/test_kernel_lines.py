"""Lines of the kernel and the drivers are recognised as the right kind, or ignored for a reason that stands here."""

import pytest

from firstfault.knowledge.library import load_library
from firstfault.knowledge.match import match_example

LIBRARY = load_library()

# How the same message reaches a log: dmesg, dmesg -T, dmesg -x --time-format=iso, journald, syslog, Talos, nothing.
PREFIXES = (
    "",
    "[98112.402117] ",
    "[Tue Mar  3 04:18:22 2026] ",
    "kern  :warn  : 2026-03-03T04:18:22,117402+00:00 ",
    "Mar 03 04:18:22 gpu-17 kernel: ",
    "gpu-17: kern:    warning: [2026-03-03T04:18:22.117402Z]: ",
)

RECOGNISED = [
    # NVIDIA: Xid
    ("NVRM: Xid (PCI:0000:4e:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "gpu-fell-off-bus"),
    ("NVRM: Xid (PCI:0000:4e:00): 79, pid=40121, GPU has fallen off the bus.", "gpu-fell-off-bus"),
    ("NVRM: GPU 0000:4e:00.0: GPU has fallen off the bus.", "gpu-fell-off-bus"),
    ("NVRM: GPU at PCI:0000:4e:00: GPU-2f6a7c11-90ab-4d1e-8b7e-5f3c1a2b4d6e", None),
    ("NVRM: fallen off the bus and is not responding to commands.", "gpu-fell-off-bus"),
    ("NVRM: Xid (PCI:0000:c1:00): 48, pid=51007, name=python3, DBE (Double Bit Error) ECC Error", "gpu-ecc-error"),
    ("NVRM: Xid (PCI:0000:c1:00): 63, Row Remapper: New row (0x00000000148ab000) marked for remapping, reset gpu to activate.", "gpu-ecc-error"),
    ("NVRM: Xid (PCI:0000:c1:00): 64, Row Remapper Error: (0x00000000148ab000) - All reserved rows are being used", "gpu-ecc-error"),
    ("NVRM: Xid (PCI:0000:c1:00): 94, pid=51007, name=pt_main_thread, Contained: SM (0x1). RST: No, D-RST: No", "gpu-ecc-error"),
    ("NVRM: Xid (PCI:0000:c1:00): 95, pid='<unknown>', name=<unknown>, Uncontained: FBHUB. RST: Yes, D-RST: No", "gpu-ecc-error"),
    ("NVRM: Xid (PCI:0008:01:00): 140, pid='<unknown>', name=<unknown>, An uncorrectable ECC error detected", "gpu-ecc-error"),
    ("NVRM: Xid (PCI:0000:1b:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 7(0x10000, 0x0, 0x0)", "gpu-nvlink-error"),
    ("NVRM: Xid (PCI:0008:01:00): 145, pid=61172, name=ray::Trainer, RLW_RXPIPE Nonfatal XC0 i0 Link 04 (0x04051cc2 0x00000004)", "gpu-nvlink-error"),
    ("NVRM: Xid (PCI:0019:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 11 (0x004465c6 0x00000000 0x00000000)", "gpu-nvlink-error"),
    ("NVRM: Xid (PCI:0000:1b:00): 119, pid=7741, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU2 GSP!", "gpu-gsp-timeout"),
    ("NVRM: Xid (PCI:0000:1b:00): 120, pid=7741, name=python3, GSP task exception: 1", "gpu-gsp-timeout"),
    ("NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "gpu-reset-required"),
    ("NVRM: Xid (PCI:0000:e0:00): 31, pid=9914, name=python, Ch 00000013, intr 00000000. MMU Fault: ENGINE GRAPHICS", "cuda-illegal-memory-access"),
    ("NVRM: Xid (PCI:0000:e0:00): 13, pid=9914, name=python, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address", "cuda-illegal-memory-access"),
    ("NVRM: Xid (PCI:0000:e0:00): 43, pid=9914, name=python, Ch 00000013", "gpu-xid-other"),
    ("NVRM: Xid (PCI:0000:e0:00): 45, pid=9914, name=python, Ch 0000001b", "gpu-xid-other"),
    ("NVRM: Xid (PCI:0000:e0:00): 109, pid=9914, name=python, Ch 00000013, errorString CTX SWITCH TIMEOUT, Info 0x3c046", "gpu-xid-other"),
    # NVIDIA: NVSwitch and peer memory
    ("nvidia-nvswitch2: SXid (PCI:0000:a7:00.0): 20034, Fatal, Link 12 LTSSM Fault Up", "gpu-nvlink-error"),
    ("nvidia-nvswitch0: SXid (PCI:0000:a5:00.0): 12028, Non-fatal, Link 40 egress non-posted PRIV error", "gpu-nvlink-error"),
    ("nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing", "nccl-memory-registration-failed"),
    # InfiniBand and RoCE adapters
    ("mlx5_core 0000:9a:00.0: mlx5_pcie_event:301:(pid 4410): Detected insufficient power on the PCIe slot (25W).", "nccl-ib-fault"),
    ("mlx5_core 0000:9a:00.0: Port module event[error]: module 1, Cable error, High Temperature", "nccl-ib-fault"),
    ("mlx5_core 0000:9a:00.0 ib4: Link down", "nccl-ib-fault"),
    ("mlx5_cmd_out_err:838:(pid 4410): ACCESS_REG(0x805) op_mod(0x1) failed, status bad resource(0x5), syndrome (0x305684), err(-22)", "nccl-ib-fault"),
    # NCCL
    ("pt_main_thread[18231]: segfault at 7f10c4a00000 ip 00007f13907a1996 sp 00007f1329dd7c30 error 4 in libnccl.so.2[7f1390600000+d3d3000]", "process-segfault"),
    # out of memory
    ("python3 invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0", "host-out-of-memory"),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=job_77,mems_allowed=0-1,oom_memcg=/slurm/job_77,task=python3,pid=8841,uid=1004", "host-out-of-memory"),
    ("Memory cgroup out of memory: Killed process 8841 (python3) total-vm:84112340kB, anon-rss:61231044kB, file-rss:9120kB", "host-out-of-memory"),
    ("Out of memory: Killed process 8841 (pt_main_thread) total-vm:84112340kB, anon-rss:61231044kB", "host-out-of-memory"),
    ("Task in /slurm/uid_1004/job_77 killed as a result of limit of /slurm/uid_1004/job_77", "host-out-of-memory"),
    # storage
    ("nfs: server storage-2 not responding, still trying", "filesystem-fault"),
    ("nfs: server 10.40.0.9 not responding, timed out", "filesystem-fault"),
    ("nfs4_reclaim_open_state: Lock reclaim failed!", "filesystem-fault"),
    ("EXT4-fs (nvme2n1p1): Remounting filesystem read-only", "filesystem-fault"),
    ("Buffer I/O error on dev nvme2n1, logical block 91822, lost async page write", "filesystem-fault"),
    ("nvme nvme3: I/O tag 12 (200c) opcode 0x2 (Admin Cmd) QID 0 timeout, reset controller", "filesystem-fault"),
    ("block nvme1n1: no available path - failing I/O", "filesystem-fault"),
    ("LustreError: 11-0: scratch-OST0012-osc-ffff9c01: operation ost_read to node 10.40.1.4@o2ib failed: rc = -5", "filesystem-fault"),
    # the host itself
    ("watchdog: BUG: soft lockup - CPU#11 stuck for 26s! [python3:8841]", "node-failure"),
    ("VFS: file-max limit 1600000 reached", "too-many-open-files"),
]  # fmt: skip

IGNORED = [
    ("NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build", "the driver starts"),
    ("nvidia-nvlink: Nvlink Core is being initialized, major device number 236", "the driver starts"),
    ("NVRM: GPU 0000:4e:00.0: RmInitAdapter succeeded", "it worked"),
    ("mlx5_core 0000:9a:00.0 ib4: Link up", "the link came back"),
    ("nfs: server storage-2 OK", "the server answers again"),
    ("md: raid1 personality registered for level 1", "a module was loaded"),
    ("nvme nvme0: pci function 0000:01:00.0", "a device was found"),
    ("EXT4-fs (nvme2n1p1): re-mounted. Opts: (null)", "a mount option changed"),
    ("some text that names an xid 79 and libnccl.so in passing", "prose"),
    ("GET /objects?X-Amz-Credential=ABC&xid=79&sig=1f HTTP/1.1", "letters in an address"),
    ("oom_score_adj set to -997 for pid 8841", "a setting, no kill"),
]


@pytest.mark.parametrize(("line", "failure"), RECOGNISED, ids=lambda v: (v or "nothing")[:60])
@pytest.mark.parametrize("prefix", PREFIXES, ids=lambda p: p[:12] or "bare")
def test_a_kernel_line_is_of_its_kind_behind_any_prefix(prefix, line, failure):
    found = {f.failure for f in match_example(LIBRARY, [prefix + line]) if LIBRARY.page(f.failure).role.value != "context"}
    assert found == ({failure} if failure else set())


@pytest.mark.parametrize(("line", "reason"), IGNORED, ids=[reason for _, reason in IGNORED])
def test_a_kernel_line_that_is_no_failure_is_ignored(line, reason):
    for prefix in PREFIXES:
        assert match_example(LIBRARY, [prefix + line]) == [], reason


@pytest.mark.parametrize("code", range(1, 173))
def test_every_xid_has_a_page_of_the_gpu_layer(code):
    found = match_example(LIBRARY, [f"[771.10] NVRM: Xid (PCI:0000:4e:00): {code}, pid=8841, name=python3, Ch 00000008"])
    assert [f.captures.get("xid") for f in found] == [str(code)]
    assert found[0].captures["bus_id"] == "0000:4e:00"
    assert LIBRARY.page(found[0].failure).layer == "gpu"


HARDWARE = (46, 48, 62, 64, 74, 79, 94, 95, 109, 110, 119, 120, 136, 140, 143, 155, 158)
APPLICATION = (13, 31, 43, 45)
NOTHING = (14, 37, 93, 106, 107, 152, 153)


@pytest.mark.parametrize(("codes", "strengths"), [(HARDWARE, {"direct"}), (APPLICATION, {"probable", "symptom"}), (NOTHING, {"context"})])
def test_the_strength_of_an_xid_follows_what_it_means(codes, strengths):
    """A fault of the hardware stands for itself, one of the application shows an effect, one to be ignored establishes nothing."""
    for code in codes:
        found = match_example(LIBRARY, [f"NVRM: Xid (PCI:0000:4e:00): {code}, pid=8841, name=python3, Ch 00000008"])
        assert {f.strength for f in found} <= strengths, code
