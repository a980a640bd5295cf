"""What holds for every script, generated ones too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from firstfault.launch import EditRefused, Wanted, apply_edits, edits_for, inverse_edits, remove_edits
from firstfault.launch.edit import Replacement, edits_between, to_text_edits

from .grammar import bash_says
from .scripts import scripts
from .test_shell_meaning import run, stub_path  # noqa: F401  # a fixture

DEBUG = Wanted("env", "NCCL_DEBUG", "INFO")
SLOW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])


@SLOW
@given(scripts(launches=True), st.booleans())
def test_an_edited_script_is_valid_and_stays_as_it_is(text: str, crlf: bool) -> None:
    assert bash_says(text) is None, "the generator makes valid scripts"
    if crlf:
        text = text.replace("\n", "\r\n")
    edits = edits_for(DEBUG, text, "run.sh")
    after = apply_edits(text, edits)
    assert bash_says(after) is None
    assert edits_for(DEBUG, after, "run.sh") == []
    assert apply_edits(after, inverse_edits(text, edits)) == text
    assert not crlf or "\n" not in after.replace("\r\n", "")


@SLOW
@given(scripts(launches=True))
def test_every_launch_of_an_edited_script_sees_the_variable(stub_path: str, tmp_path: Path, text: str) -> None:  # noqa: F811
    after = apply_edits(text, edits_for(DEBUG, text, "run.sh"))
    told = run(after, stub_path, tmp_path)
    assert {line.split()[1] for line in told} <= {"NCCL_DEBUG=INFO"}


@SLOW
@given(scripts(launches=True))
def test_removing_takes_every_assignment_of_the_value_away(text: str) -> None:
    assume("NCCL_DEBUG" not in text)
    after = apply_edits(text, edits_for(DEBUG, text, "run.sh"))
    assert apply_edits(after, remove_edits(DEBUG, after, "run.sh")) == text


@st.composite
def modules(draw: st.DrawFn) -> str:
    """A Python module with imports in some order, with or without docstring, future import and an existing value."""
    head = draw(
        st.sampled_from(["", '"""Doc."""\n', "#!/usr/bin/env python\n# ünïcode\n", '"""Doc."""\nfrom __future__ import annotations\n\n'])
    )
    lines = draw(
        st.lists(
            st.sampled_from([
                "import os", "import sys", "import torch", "from torch import nn", "import torch.distributed as dist", "x = 1",
                "from datetime import timedelta", "import numpy as np; import json", "def f():\n    import torch\n    return torch",
                'os = __import__("os")', "try:\n    import apex\nexcept ImportError:\n    apex = None", "from .model import Model",
                "# comment",
                "class A:\n    pass", "if True:\n    import transformers",
            ]),
            max_size=7,
        )
    )  # fmt: skip
    return head + "\n".join(lines) + draw(st.sampled_from(["\n", ""]))


@SLOW
@given(modules())
def test_a_python_edit_compiles_and_comes_before_torch(text: str) -> None:
    edits = edits_for(DEBUG, text, "train.py")
    after = apply_edits(text, edits)
    compile(after, "train.py", "exec")
    assert edits_for(DEBUG, after, "train.py") == []
    assert apply_edits(after, inverse_edits(text, edits)) == text
    at = after.index('environ["NCCL_DEBUG"]')
    assert all(after.find(f"{word} torch") in {-1, *range(at, len(after))} for word in ("\nimport", "\nfrom"))
    # The name that the line uses is bound above it.
    assert "import os" in after[:at] or "environ" in after[:at]


@st.composite
def containers(draw: st.DrawFn) -> str:
    """A Kubernetes Job whose container is laid out in some way."""
    step = draw(st.sampled_from(["", "  "]))
    env = draw(st.sampled_from([
        "", "env: []\n", "env:\n{s}- name: A\n{s}  value: b\n", "env:\n{s}- {{name: A, value: b}} # c\n",
        "env:\n{s}- name: NCCL_DEBUG\n{s}  value: WARN\n", "env:\n{s}- value: 'WARN' # c\n{s}  name: NCCL_DEBUG\n\n", "env:\n",
    ]))  # fmt: skip
    parts = draw(
        st.permutations(["name: train\n", "image: trainer:1 # pinned\n", "# about the command\ncommand: [torchrun, train.py]\n", env])
    )
    lines = "".join(p.format(s=step) for p in parts).splitlines()
    first, rest = lines[0] if not lines[0].startswith("#") else "tty: true", lines if lines[0].startswith("#") else lines[1:]
    body = f"      {step}- {first}\n" + "".join(f"      {step}  {line}\n" if line else "\n" for line in rest)
    return f"apiVersion: batch/v1\nkind: Job\nspec:\n  template:\n    spec:\n      containers:\n{body}      restartPolicy: Never\n"


@SLOW
@given(containers())
def test_a_container_has_the_variable_once_and_all_else_as_before(text: str) -> None:
    from ruamel.yaml import YAML

    edits = edits_for(DEBUG, text, "job.yaml")
    after = apply_edits(text, edits)
    assert edits_for(DEBUG, after, "job.yaml") == []
    assert apply_edits(after, inverse_edits(text, edits)) == text
    yaml = YAML(typ="safe", pure=True)
    old, new = yaml.load(text), yaml.load(after)
    [before], [container] = old["spec"]["template"]["spec"].pop("containers"), new["spec"]["template"]["spec"].pop("containers")
    env, had = container.pop("env"), before.pop("env", None) or []
    assert (new, container) == (old, before)
    assert [e for e in env if e["name"] == "NCCL_DEBUG"] == [{"name": "NCCL_DEBUG", "value": "INFO"}]
    assert [e for e in env if e["name"] != "NCCL_DEBUG"] == [e for e in had if e["name"] != "NCCL_DEBUG"]
    assert after.count("#") == text.count("#")


@st.composite
def compose_files(draw: st.DrawFn) -> str:
    """A Compose file whose training service has its environment in some form, or none."""
    environment = draw(st.sampled_from([
        "", "    environment:\n", "    environment: {}\n", "    environment: []\n", "    environment: {A: b}\n", "    environment: [A=b]\n",
        "    environment:\n      A: b # c\n      NCCL_DEBUG:\n\n", "    environment:\n      NCCL_DEBUG: null\n",
        "    environment:\n    - A=b\n\n    # c\n", "    environment:\n      - 'NCCL_DEBUG=WARN' # c\n      - A\n",
        "    environment: &env\n      A: b\n", "    environment:\n      NCCL_DEBUG: |\n        WARN\n",
    ]))  # fmt: skip
    parts = draw(
        st.permutations(["    image: trainer # pinned\n", "    command: torchrun train.py\n", "    deploy: {replicas: 1}\n", environment])
    )
    other = draw(st.sampled_from(["", "  db:\n    image: db\n    environment:\n      A: b\n", "# end\n"]))
    return f"services:\n  trainer:\n{''.join(parts)}{other}"


@SLOW
@given(compose_files())
def test_a_service_has_the_variable_and_all_else_as_before(text: str) -> None:
    from ruamel.yaml import YAML

    try:
        after = apply_edits(text, edits_for(DEBUG, text, "compose.yaml"))
    except EditRefused as refusal:
        assert "block of text" in refusal.reason and "|" in text
        return
    yaml = YAML(typ="safe", pure=True)
    old, new = yaml.load(text), yaml.load(after)
    had, has = (x["services"]["trainer"].pop("environment", None) or {} for x in (old, new))
    assert new == old
    as_map = [dict(item.partition("=")[::2] for item in x) if isinstance(x, list) else dict(x) for x in (had, has)]
    assert as_map[1].pop("NCCL_DEBUG") == "INFO"
    as_map[0].pop("NCCL_DEBUG", None)
    assert as_map[0] == as_map[1]
    assert after.count("#") == text.count("#")


_PATHS = ["run.sh", "train.py", "Dockerfile", "compose.yaml", ".env", ".deepspeed_env", "Makefile", ".vscode/launch.json", "a.ipynb"]


@given(
    st.sampled_from(_PATHS),
    st.text(max_size=200),
    st.sampled_from([DEBUG, Wanted("timeout", "collective_timeout", "1h"), Wanted("flag", "--x", "1")]),
)
def test_no_text_makes_an_edit_fail_but_by_refusing(path: str, text: str, setting: Wanted) -> None:
    try:
        edits = edits_for(setting, text, path)
    except EditRefused as refusal:
        assert refusal.reason
        return
    assert apply_edits(apply_edits(text, edits), inverse_edits(text, edits)) == text


@given(st.text(alphabet="ab\n\r", max_size=30), st.text(alphabet="ab\n\r", max_size=30))
def test_edits_between_two_texts_turn_the_one_into_the_other(before: str, after: str) -> None:
    assert apply_edits(before, edits_between(before, after)) == after


@given(st.text(alphabet="a\n\r\u2028\x0b🚀", max_size=30), st.data())
def test_lines_end_where_vs_code_ends_them(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    assume(text[end - 1 : end + 1] != "\r\n" and text[start - 1 : start + 1] != "\r\n")
    edits = to_text_edits(text, [Replacement(start, end, "X")])
    if edits:
        assert edits[0].start_line == text[:start].replace("\r\n", "\n").replace("\r", "\n").count("\n")
    assert apply_edits(text, edits) in {text[:start] + "X" + text[end:], text}


def test_overlapping_edits_are_an_error() -> None:
    with pytest.raises(ValueError, match="overlapping"):
        to_text_edits("abcdef", [Replacement(0, 3, "x"), Replacement(2, 4, "y")])
