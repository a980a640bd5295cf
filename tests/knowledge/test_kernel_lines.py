"""Lines of the kernel and the drivers are recognised as the right kind, or ignored for a reason that stands here."""

from pathlib import Path

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

ROWS = [
    tuple(row.split(" | ", 1))
    for row in Path(__file__).with_name("kernel_lines.txt").read_text(encoding="utf-8").splitlines()
    if row and not row.startswith("#")
]
RECOGNISED = [(kind, line) for kind, line in ROWS if not kind.startswith("ignored: ")]
IGNORED = [(kind.removeprefix("ignored: "), line) for kind, line in ROWS if kind.startswith("ignored: ")]


@pytest.mark.parametrize(("failure", "line"), RECOGNISED, ids=[f"{i}-{kind}" for i, (kind, _) in enumerate(RECOGNISED)])
@pytest.mark.parametrize("prefix", PREFIXES, ids=lambda p: p[:12] or "bare")
def test_a_kernel_line_is_of_its_kind_behind_any_prefix(prefix, failure, line):
    found = {f.failure for f in match_example(LIBRARY, [prefix + line]) if LIBRARY.page(f.failure).role.value != "context"}
    assert found == ({failure} - {"nothing"})


@pytest.mark.parametrize(("reason", "line"), IGNORED, ids=[reason for reason, _ in IGNORED])
def test_a_kernel_line_that_is_no_failure_is_ignored(reason, line):
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
