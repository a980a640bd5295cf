"""Every page is complete, fires on its examples, stays silent on its near misses, and stands in a consistent graph."""

import re
from urllib.parse import urlsplit

import pytest

from firstfault.errors import PageError, UnknownFailure
from firstfault.knowledge.check import check_pages
from firstfault.knowledge.library import load_library
from firstfault.knowledge.page import parse_page
from firstfault.model import Role
from firstfault.read.lines import clean_line, make_line, segments

LIBRARY = load_library()

# The failures that must have a page. A page may be added without a word here, but none may disappear.
COORDINATION = """
    collective-timeout rank-missing-collective collective-mismatch uneven-inputs rank-straggler silent-hang ddp-unused-parameters
    ddp-parameter-ready-twice ddp-parameter-shape-mismatch rendezvous-timeout rendezvous-closed store-connection-lost
    peer-heartbeat-lost master-unreachable launcher-host-unreachable port-in-use process-group-misuse invalid-device-ordinal
    duplicate-gpu
"""
NETWORK = """
    nccl-no-interface nccl-network-unreachable nccl-ib-fault nccl-shm-exhausted nccl-memory-registration-failed
    nccl-version-mismatch nccl-topology-misdetected nccl-p2p-hang nccl-cuda-failure nccl-internal-error nccl-remote-error
    nccl-watchdog-hang gloo-connection-closed fabric-manager-down
"""
GPU = """
    cuda-out-of-memory tpu-hbm-out-of-memory cuda-illegal-memory-access cuda-misaligned-address cuda-launch-failure
    cuda-unknown-error cuda-device-assert cuda-arch-unsupported cuda-driver-mismatch cuda-device-unavailable cublas-failure
    cudnn-failure gpu-ecc-error gpu-fell-off-bus gpu-nvlink-error gpu-gsp-timeout gpu-reset-required gpu-xid-other
"""
HOST = """
    host-out-of-memory process-killed process-segfault process-aborted process-sigbus illegal-instruction worker-exit-unexplained
    shm-exhausted dataloader-worker-crash disk-full too-many-open-files process-limit-exhausted filesystem-fault job-preempted
    job-time-limit job-cancelled node-failure pod-evicted
"""
PROGRAM = """
    python-import-error python-exception config-invalid parallelism-misconfigured batch-size-mismatch tensor-shape-mismatch
    device-mismatch dtype-mismatch data-missing data-corrupt hub-download-failed checkpoint-incompatible checkpoint-corrupt
    zero3-params-not-gathered extension-build-failed binary-incompatible quantization-unsupported pickle-spawn-failed
"""
NUMERICS_AND_SERVING = "loss-nan loss-scale-exhausted performance-regression kv-cache-insufficient engine-died"
FAILURES = " ".join((COORDINATION, NETWORK, GPU, HOST, PROGRAM, NUMERICS_AND_SERVING)).split()


@pytest.mark.parametrize("failure", FAILURES)
def test_every_known_failure_has_a_page(failure):
    page = LIBRARY.page(failure)
    assert page.role is not Role.CONTEXT
    assert page.id == failure or failure in page.was


@pytest.mark.parametrize("page", LIBRARY.pages)
def test_page_keeps_its_promises(page):
    assert [str(p) for p in check_pages(LIBRARY, page)] == []


def test_no_two_pages_match_each_others_examples():
    assert list(LIBRARY.ambiguous()) == []


def test_a_page_is_more_specific_than_another_or_the_other_way_round_or_neither():
    ids = list(LIBRARY.pages)
    assert [(a, b) for a in ids for b in ids if a < b and LIBRARY.beats(a, b) and LIBRARY.beats(b, a)] == []


# A link in Markdown or a bare one; what stands in code are commands and texts of the reader's own hosts.
_LINK = re.compile(r"https?://[^\s<>\"'`)\]]*")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def links(page):
    text = "\n".join((page.quick_answer, *page.sections.values()))
    return [m[0].rstrip(".,;:") for m in _LINK.finditer(_CODE.sub("", text))]


@pytest.mark.parametrize("page", LIBRARY.pages)
def test_every_external_link_is_well_formed(page):
    found = links(LIBRARY.pages[page])
    assert found
    for link in found:
        parts = urlsplit(link)
        assert parts.scheme == "https", link
        assert re.fullmatch(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", parts.netloc), link
        assert "//" not in parts.path, link
        assert re.fullmatch(r"[A-Za-z0-9._~!$&'*+,;=:@%/()-]*", parts.path), link
        assert link.count("#") <= 1, link


def test_no_link_is_left_open_or_empty():
    for page in LIBRARY.pages.values():
        text = _CODE.sub("", page.markdown)
        assert not re.search(r"\]\(\s*\)|\]\([^)\s]*$|\[\]\(", text, re.MULTILINE), page.id
        assert not re.search(r"\]\((?!https://|[a-z0-9-]+\.md\)|\.\./[a-z]+/[a-z0-9-]+\.md\)|#)", text), page.id


def test_initiating_failures_do_not_explain_each_other():
    """Each of two causes that made the other one collateral would be a circle without a beginning."""
    pages = LIBRARY.pages
    circles = [(a, b) for a in pages for b in pages[a].explains if a in pages[b].explains]
    assert [(a, b) for a, b in circles if pages[a].role is pages[b].role is Role.INITIATING] == []


def test_context_explains_nothing_and_is_explained_by_nothing():
    for page in LIBRARY.pages.values():
        assert not (page.role is Role.CONTEXT and page.explains), page.id
        assert [b for b in page.explains if LIBRARY.pages[b].role is Role.CONTEXT] == [], page.id


def test_every_failure_can_be_reached_from_another_page():
    pages = LIBRARY.pages.values()
    named = {i for p in pages for i in (*p.related, *p.explains, *(d for m in p.missing for d in m.decides))}
    assert [p.id for p in pages if p.role is not Role.CONTEXT and p.id not in named] == []


def test_an_unknown_id_suggests_near_ones():
    with pytest.raises(UnknownFailure) as caught:
        LIBRARY.page("cuda-out-of-memry")
    assert "cuda-out-of-memory" in caught.value.help


MINIMAL = """+++
title = "T"
role = "initiating"
scope = "rank"
severity = "error"
impact = "i"
on_call = "o"
+++

Quick.

{body}
"""


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("## Unheard of\n\nx\n", "unknown section"),
        ("## Fix\n\n### a\n\nx\n\n## Confirm\n\nx\n", "out of order"),
        ("```bash\nx\n", "not closed"),
        ("```signature\nneedle: ab\nab\n```\n", "shorter than three"),
        ("```signature\nabc\n```\n", "needs `needle"),
        ("```signature loud\nneedle: abc\nabc\n```\n", "strength"),
        ("```log silent\nx\n```\n", "named after its trap"),
        ("## Verify\n\n### a\n\nx\n", "lacks a command"),
    ],
)
def test_a_broken_page_says_what_and_where(body, what):
    with pytest.raises(PageError, match=what) as caught:
        parse_page(MINIMAL.replace("{body}", body), "x/some-page.md")
    assert caught.value.where.startswith("x/some-page.md:")


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (('role = "initiating"', 'role = "boss"'), "role"),
        (('title = "T"\n', ""), "lacks 'title'"),
        (("severity", "severety"), "unknown key 'severety'"),
        (("+++\n\nQuick", "Quick"), "front matter"),
    ],
)
def test_broken_front_matter_is_refused(edit, what):
    with pytest.raises(PageError, match=what):
        parse_page(MINIMAL.replace("{body}", "").replace(*edit), "x/some-page.md")


def test_the_less_specific_page_loses():
    assert LIBRARY.beats("cuda-out-of-memory", "python-exception")
    assert not LIBRARY.beats("python-exception", "cuda-out-of-memory")


def test_examples_are_cleaned_as_logs_are():
    assert clean_line("[rank3]: KeyError: 'x'") == "KeyError: 'x'"


@pytest.mark.parametrize("page", LIBRARY.pages)
def test_every_signature_fires_on_an_example_of_its_page(page):
    """A signature that no example fires is a guess, and takes no part in working out which page is more specific."""
    lines = [make_line(part, 0, 1) for e in LIBRARY.pages[page].fires for raw in e.lines for _, part in segments(raw)]
    silent = [
        f"{LIBRARY.pages[page].path}:{signature.line}"
        for signature in LIBRARY.pages[page].signatures
        if not any(any(n in line.raw for n in signature.needles) and signature.pattern.search(line.text) for line in lines)
    ]
    assert silent == []
