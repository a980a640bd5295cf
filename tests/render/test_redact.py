"""Redaction: nothing sensitive survives, equal things get equal masks, and what a diagnosis needs stays."""

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstfault.diagnose import diagnose
from firstfault.knowledge.library import load_library
from firstfault.model import Evidence, Incident, Initiating, InputSummary, Job, Report, TimelineEntry, Verdict
from firstfault.render.markdown import report_markdown
from firstfault.render.redact import redact, redact_text
from firstfault.report import to_json

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = load_library()
SAMPLES = sorted((ROOT / "samples").glob("*.log"))
RECORDED = [ROOT / "tests" / "lab" / "recorded" / n for n in ("keyerror-rank3-two-nodes", "master-unresolvable", "sigkill-rank1-files")]


def one(text, mask):
    """The text masked, which must hold `mask`."""
    out = redact_text(text)
    assert mask in out, out
    return out


@pytest.mark.parametrize(
    ("secret", "line", "mask"),
    [
        ("hf_QwErTyUiOpAsDfGhJkLz", "HF_TOKEN=hf_QwErTyUiOpAsDfGhJkLz", "HF_TOKEN=token-1"),
        ("AKIAQWERTYUIOPASDFGH", "key AKIAQWERTYUIOPASDFGH is not valid", "key token-1 is not valid"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "cloning with ghp_0123456789abcdefghijABCDEFGHIJ012345", "token-1"),
        ("github_pat_11ABCDEFG0abcdefghijkl_xyz", "'github_pat_11ABCDEFG0abcdefghijkl_xyz'", "'token-1'"),
        ("9f8e7d6c5b4a39281706f5e4d3c2b1a098765432", "wandb key 9f8e7d6c5b4a39281706f5e4d3c2b1a098765432", "hex-1"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmVk", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmVk", "Bearer token-1"),
        ("hunter2", '"password": "hunter2"', '"password": "token-1"'),
        ("wJalrXUtnFEMI/K7MDENG", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG", "= token-1"),
        ("s3cr3t", "pip install https://bob:s3cr3t@pypi.acme.lan/simple/x", "https://token-1@host-1/simple/x"),
        ("X-Amz-Signature=ab12", "GET https://data.s3.amazonaws.com/x.tar?X-Amz-Signature=ab12", "x.tar?token-1"),
        ("10.4.7.19", "Connection closed by peer [10.4.7.19]:48866", "[ip-1]:48866"),
        ("fe80::9a03:9bff:fe2c:11d0", "Using eth0:fe80::9a03:9bff:fe2c:11d0%eth0<0>", "Using eth0:"),
        ("98:03:9b:2c:11:d0", "link/ether 98:03:9b:2c:11:d0 brd", "link/ether mac-1 brd"),
        ("mira.kovac@example.com", "mail mira.kovac@example.com for help", "mail email-1 for help"),
        ("3f2b7c10-8d4e-4f6a-9b1c-0a1b2c3d4e5f", "GPU-3f2b7c10-8d4e-4f6a-9b1c-0a1b2c3d4e5f", "GPU-uuid-1"),
        ("mira", 'File "/home/mira/secret-llm/code/train.py", line 42', 'File "/home/user-1/dir-1/code/train.py", line 42'),
        ("secret-llm", 'File "/home/mira/secret-llm/code/train.py", line 42', "dir-1"),
        ("Mira Kovac", r"C:\Users\Mira Kovac\proj\train.py", r"C:\Users\user-1\dir-1\train.py"),
        ("mira", "wandb: Currently logged in as: mira (acme)", "logged in as: user-1"),
        ("mira", "ssh mira@bastion", "ssh user-1@host-1"),
        ("bastion", "ssh mira@bastion", "ssh user-1@host-1"),
        ("rack7", "rack7:4121:4377 [3] NCCL INFO Bootstrap", "host-1:4121:4377 [3] NCCL INFO"),
        ("node77", "The IPv6 network addresses of (node77, 36285) cannot be retrieved", "(host-1, 36285)"),
        ("olymp", "  host      : olymp", "  host      : host-1"),
        ("tesla3", "srun: error: tesla3: task 3: Killed", "srun: error: host-1: task 3"),
        ("ip-10-4-7-19.ec2.internal", "on ip-10-4-7-19.ec2.internal", "on host-1"),
        ("headbox", "MASTER_ADDR=headbox", "MASTER_ADDR=host-1"),
        ("gpu3.rz.uni-example.de", "tcp://gpu3.rz.uni-example.de:29500", "tcp://host-1:29500"),
    ],
)  # fmt: skip
def test_each_kind_is_masked(secret, line, mask):
    assert secret in line
    assert secret not in one(line, mask)


@pytest.mark.parametrize(
    "line",
    [
        "[rank3]: KeyError: 'warranty'",
        "E1201 04:29:27.832000 13080 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 3",
        "[rank5]:[E1201 04:28:24.118 ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=42)",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 6.50 GiB. GPU 2 has a total capacity of 79.10 GiB",
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=4121, GPU has fallen off the bus.",
        "terminate called after throwing an instance of 'c10::DistBackendError'",
        "listening on 127.0.0.1:29500, ::1 and 0.0.0.0, localhost:6006",
        "pad_token = '<pad>', max_token: 512, tokenizer_class: LlamaTokenizer, password=None",
        "nvcc fatal: Unsupported gpu architecture 'compute_120'; NCCL version 2.21.5+cuda12.4; threading.local(); torch.nn.parallel",
        "see https://docs.pytorch.org/docs/stable/distributed.html#x and https://huggingface.co/org/model/resolve/main/config.json",
        "export NCCL_SOCKET_IFNAME=eth0   # on node 3 of 8, node_rank=1, worker 2",
        "step: 417 loss: 2.4410 lr: 3.00e-04 time 04:29:26,719 at 2026-12-01T04:29:26.719",
        '  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl',
        "0x7f3c2c1d7897, std::bad_alloc, at::native::copy_, ddp::Reducer",
    ],
)
def test_what_a_diagnosis_needs_stays(line):
    assert redact_text(line) == line


def test_one_thing_has_one_mask_whatever_its_spelling():
    text = "node07.cluster.lan sees 10.0.0.5; NODE07 sees 10.0.0.6; node07 again 10.0.0.5; node08"
    assert redact_text(text) == "host-1 sees ip-1; host-1 sees ip-2; host-1 again ip-1; host-2"


def test_a_name_told_once_is_masked_wherever_it_stands():
    out = redact_text('File "/home/mira/x/train.py"\nkilled by mira on /lustre/proj/mira/run; mirage is another word')
    assert "by user-1 on /lustre/proj/user-1/run; mirage is" in out


def test_a_genuine_name_that_looks_like_a_mask_keeps_its_number_to_itself():
    assert redact_text("host-1:41:43 [0] x\nnode07:41:43 [0] x") == "host-1:41:43 [0] x\nhost-2:41:43 [0] x"


def test_two_files_stay_two_files():
    out = redact_text("/home/mira/a/rank0.log and /home/mira/b/rank0.log, /home/mira/run/attempt_0/3/stderr.log")
    assert out == "/home/user-1/dir-1/rank0.log and /home/user-1/dir-2/rank0.log, /home/user-1/run/attempt_0/3/stderr.log"


SEPARATORS = st.sampled_from([" ", "\n", "'", '"', " (", ") ", ", ", "; ", "=", " [", "] ", "<", "> "])
WORDS = st.sampled_from(["rank 3", "Connection closed", "step 10", "line 42", "Traceback", "KeyError", "exit code -9", "Xid 79"])
LOWER = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=9)
ALNUM = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def keys(prefix, size, alphabet=ALNUM):
    return st.text(alphabet, min_size=size, max_size=size).map(lambda body: prefix + body)


USERS = LOWER.map(lambda w: "zq" + w)
OCTET = st.integers(1, 254)
SECRETS = {
    "ip": st.tuples(st.integers(1, 126), OCTET, OCTET, OCTET).map(lambda o: ".".join(map(str, o))),
    "ip6": st.lists(st.integers(0x1000, 0xFFFF), min_size=7, max_size=7).map(lambda p: "fd00:" + ":".join(f"{x:x}" for x in p)),
    "email": st.tuples(USERS, LOWER).map(lambda p: f"{p[0]}@{p[1]}.org"),
    "hf": keys("hf_", 34),
    "aws": keys("AKIA", 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"),
    "github": keys("ghp_", 36),
    "jwt": st.tuples(keys("eyJ", 12), keys("eyJ", 20), keys("", 16)).map(".".join),
    "uuid": st.uuids().map(str),
    "wandb": st.text("0123456789abcdef", min_size=38, max_size=38).map(lambda b: "a1" + b),
    "host": st.integers(1, 99999).map(lambda n: f"node{n}"),
    "fqdn": st.tuples(LOWER, st.integers(1, 99), LOWER).map(lambda p: f"{p[0]}{p[1]}.{p[2]}.internal"),
    "home": st.tuples(USERS, LOWER).map(lambda p: f"/home/{p[0]}/zz{p[1]}/train.py"),
}
PIECES = st.sampled_from(sorted(SECRETS)).flatmap(lambda kind: SECRETS[kind].map(lambda s: (kind, s)))


def sensitive_parts(kind, secret):
    return secret.split("/")[2:4] if kind == "home" else [secret]


@given(st.lists(st.tuples(WORDS, SEPARATORS, PIECES, SEPARATORS), min_size=1, max_size=8))
@settings(max_examples=300, deadline=None)
def test_nothing_sensitive_survives_among_other_words(pieces):
    text = "".join(f" {word}{before}{secret}{after}" for word, before, (_, secret), after in pieces)
    out = redact_text(text)
    for word, _, (kind, secret), _ in pieces:
        assert word in out
        for part in sensitive_parts(kind, secret):
            assert part.lower() not in out.lower(), out


@given(st.lists(PIECES, min_size=1, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_masks_are_consistent_and_stable(pieces, random):
    """Every occurrence of a thing has the same mask, different things have different masks, and masking twice changes nothing."""
    line = [s for _, s in pieces] * 3
    random.shuffle(line)
    out = redact_text(" ; ".join(line)).split(" ; ")
    seen = {}
    for secret, mask in zip(line, out, strict=True):
        assert seen.setdefault(secret, mask) == mask
    assert len(set(seen.values())) == len(set(line))
    again = " ; ".join(out)
    assert redact_text(again) == again


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_masked_twice(text):
    once = redact_text(text)
    assert redact_text(once) == once


@pytest.mark.parametrize("path", SAMPLES + RECORDED, ids=lambda p: p.name)
def test_a_real_report_keeps_its_verdict_and_loses_its_hosts(path):
    before = diagnose([path]).report
    after = redact(before)
    hosts = {h for x in before.inputs for h in x.hosts} | {h for i in before.incidents for h in i.initiating.hosts}
    text = to_json(after) + report_markdown(after)
    for host in hosts - {"localhost"}:
        assert not re.search(rf"(?<![A-Za-z0-9]){re.escape(host)}(?![A-Za-z0-9])", text)
    assert [(i.failure, i.verdict, i.initiating.ranks) for i in after.incidents] == [
        (i.failure, i.verdict, i.initiating.ranks) for i in before.incidents
    ]
    assert [(t.line, t.rank, t.kind, t.time) for t in after.timeline] == [(t.line, t.rank, t.kind, t.time) for t in before.timeline]
    assert redact(after) == after
    assert to_json(redact(before)) == to_json(after)


def report_with(text, column, end_column, hosts=("rack7",)):
    evidence = (Evidence("/home/mira/x/slurm.out", 9, column, end_column, text, "initiating", "rank 3 on rack7"),)
    incident = Incident(1, "process-killed", "T", "error", Verdict.PROBABLE, "Rank 3 on rack7 died", Initiating((3,), hosts), evidence)
    mark = TimelineEntry("/home/mira/x/slurm.out", 9, 3, "rack7", None, "initiating", "process-killed", "died on rack7")
    summary = InputSummary("/home/mira/x/slurm.out", "log", 10, 9, (3,), ("rack7", "10.0.0.9", "localhost"))
    return Report((summary,), Job(8), (incident,), timeline=(mark,))


def test_a_report_uses_the_same_masks_in_all_its_fields():
    after = redact(report_with("rack7: task 3: Killed", 16, 22))
    assert after.inputs[0].path == after.incidents[0].evidence[0].file == after.timeline[0].file == "/home/user-1/dir-1/slurm.out"
    assert after.inputs[0].hosts == ("host-1", "ip-1", "localhost")
    assert after.incidents[0].initiating.hosts == ("host-1",)
    assert after.incidents[0].summary == "Rank 3 on host-1 died"
    assert after.timeline[0].host == "host-1"


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_evidence_columns_move_with_the_text(a, b):
    raw = "rack7:41:43 [3] peer 10.0.0.5 of mira@acme.org is gone now"
    start, end = sorted((min(a, len(raw)), min(b, len(raw))))
    found = redact(report_with(raw, start + 1, end + 1)).incidents[0].evidence[0]
    assert 1 <= found.column <= found.end_column <= len(found.text) + 1
    # What is marked outside masks is marked as before.
    marked = found.text[found.column - 1 : found.end_column - 1]
    for word in ("peer", "gone", "[3]"):
        at = raw.index(word)
        if start <= at and at + len(word) <= end:
            assert word in marked


def test_redaction_gives_a_sound_report():
    after = redact(report_with("rack7: task 3: Killed", 1, 6))
    assert dataclasses.asdict(after)["incidents"][0]["verdict"] is Verdict.PROBABLE
    assert after.incidents[0].evidence[0].text == "host-1: task 3: Killed"
    assert (after.incidents[0].evidence[0].column, after.incidents[0].evidence[0].end_column) == (1, 7)


def test_failure_ids_and_titles_stay():
    for page in LIBRARY.pages.values():
        for text in (page.id, page.title, page.impact, page.on_call, *(a.because for a in page.alternatives)):
            assert redact_text(text) == text


@pytest.mark.parametrize(
    ("given", "masked"),
    [
        ('File "/mnt/lustre/acme/novel-idea/train.py", line 3', 'File "/mnt/lustre/dir-1/dir-2/train.py", line 3'),
        ("No such file: '/data/acme/shard-0001.tar'", "No such file: '/data/dir-1/shard-0001.tar'"),
        ("/acme-pfs/novel-idea/run", "/dir-1/dir-2/run"),
        ("/gpfs1/acme/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", "/gpfs1/dir-1/venv/lib/python3.11/site-packages/torch/nn/modules/module.py"),
        ("/workspace/Megatron-LM/megatron/training/training.py", "/workspace/Megatron-LM/megatron/training/training.py"),
        ("/opt/conda/lib/python3.11/site-packages/torch/_tensor.py", "/opt/conda/lib/python3.11/site-packages/torch/_tensor.py"),
        ("[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534]", "[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534]"),
        ("/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1292", "/pytorch/aten/src/ATen/native/cuda/Indexing.cu:1292"),
        ('"POST /v1/chat/completions HTTP/1.1" 200', '"POST /v1/chat/completions HTTP/1.1" 200'),
        ("iteration 10/ 1000 and 3.5s/it, and/or", "iteration 10/ 1000 and 3.5s/it, and/or"),
        ("while calling /tensorflow.CoordinationService/Barrier:", "while calling /tensorflow.CoordinationService/Barrier:"),
        ("see https://pytorch.org/docs/stable/elastic/errors.html", "see https://pytorch.org/docs/stable/elastic/errors.html"),
    ],
)
def test_folders_outside_of_homes_are_masked_and_those_of_programs_stay(given, masked):
    assert redact_text(given) == masked
