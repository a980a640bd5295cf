"""A job that goes on or ended well is accused of nothing, however loud its lines are."""

import pytest

from firstfault.diagnose import diagnose_text
from firstfault.knowledge.library import load_library
from firstfault.knowledge.match import match_example
from firstfault.model import Role
from tests.fuzz.healthy import STYLES, healthy_log

LIBRARY = load_library()
HARMLESS = [page for page in LIBRARY.pages.values() if page.layer == "harmless"]
LINES = {page.id: [line for example in page.fires for line in example.lines] for page in HARMLESS}
ALL_LINES = [line for lines in LINES.values() for line in lines]

# Loud lines without a page of their own: the job prints them and goes on.
LOUD = """
WARNING:root:NaN or Inf found in input tensor.
[rank2]:W0304 10:00:41.202000 4211 torch/_dynamo/convert_frame.py:906] [0/8] torch._dynamo hit config.recompile_limit (8)
UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.
Token indices sequence length is longer than the specified maximum sequence length for this model (9120 > 4096).
node1:311:402 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.4<0>
node1:311:402 [3] NCCL INFO Channel 00/0 : 3[3] -> 0[0] via P2P/IPC
ERROR: the tensorboard writer is slow, dropping 12 events
error rate on the validation set: 12.5 %
Skipping a corrupt sample: shard-00012.tar:00041233.jpg
Some weights of the model checkpoint were not used when initializing LlamaForCausalLM: ['lm_head.bias']
INFO: previous run failed with exit code 1, resuming from step 0
""".strip().split("\n")
CAUGHT = [
    "WARNING could not read sample 4121, taking the next one",
    "Traceback (most recent call last):",
    '  File "/job/data/reader.py", line 88, in read',
    "    return decode(self.blob[i])",
    "ValueError: truncated record",
]


def errors(text):
    return [(i.failure, [e.text[:120] for e in i.evidence]) for i in diagnose_text(text).report.incidents if i.severity == "error"]


@pytest.mark.parametrize("style", STYLES)
def test_a_plain_job_is_healthy(style):
    assert errors(healthy_log(style)) == []
    assert errors(healthy_log(style, finished=False)) == []


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("page", LINES)
def test_harmless_lines_accuse_nobody_wherever_they_stand(page, style):
    lines = LINES[page]
    assert errors(healthy_log(style, start=lines)) == []
    assert errors(healthy_log(style, middle=lines)) == []
    assert errors(healthy_log(style, end=lines)) == []
    assert errors(healthy_log(style, start=lines, middle=lines, finished=False)) == []


@pytest.mark.parametrize("style", STYLES)
def test_all_harmless_lines_together_accuse_nobody(style):
    assert errors(healthy_log(style, start=ALL_LINES, middle=[*LOUD, *ALL_LINES], end=ALL_LINES)) == []
    assert errors(healthy_log(style, start=LOUD, middle=LOUD, end=LOUD)) == []


@pytest.mark.parametrize("style", STYLES)
def test_a_caught_error_that_the_job_got_past_is_no_error(style):
    assert errors(healthy_log(style, start=CAUGHT, middle=CAUGHT * 3)) == []
    assert errors(healthy_log(style, middle=CAUGHT, finished=False)) == []


@pytest.mark.parametrize("page", [p.id for p in LIBRARY.pages.values() if p.role is not Role.CONTEXT and p.signatures])
def test_a_failure_that_the_job_got_past_is_a_warning_at_most(page):
    """Each page's own lines, in the middle of a job that trains on and ends well; its steps have no times that could contradict."""
    for example in LIBRARY.pages[page].fires:
        assert errors(healthy_log("nanogpt", middle=example.lines)) == []


@pytest.mark.parametrize("page", LINES)
def test_a_harmless_line_alone_is_nothing(page):
    for example in LIBRARY.pages[page].fires:
        assert errors("\n".join(example.lines)) == []


def test_harmless_pages_do_fire_on_these_lines():
    """The tests above would prove nothing if nobody recognised the lines."""
    assert all(any(f.failure == page for f in match_example(LIBRARY, lines)) for page, lines in LINES.items())
