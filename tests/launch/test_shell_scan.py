"""The shell parser: it agrees with bash on what is a script, and with tree-sitter-bash on what its commands are."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import Command, ShellSyntaxError

from .casefile import load_cases
from .grammar import bash_says
from .scripts import scripts

SCRIPTS = [c.before.replace("\r\n", "\n") for c in load_cases() if c.file.parent.name.startswith("shell")]


def commands(text: str) -> list[Command]:
    return scan_script(text).commands


def words(text: str) -> list[list[str]]:
    return [[w.raw for w in c.words] for c in commands(text)]


def test_a_command_goes_on_behind_a_backslash() -> None:
    assert words("torchrun \\\n  --nnodes 2 \\\n  train.py\n") == [["torchrun", "--nnodes", "2", "train.py"]]


def test_redirections_are_no_words() -> None:
    assert words("torchrun train.py > log 2>&1 < /dev/null &\n") == [["torchrun", "train.py"]]
    assert words("exec > >(tee -a log) 2>&1\n")[0] == ["exec"]


def test_assignments_stand_in_front_of_the_command() -> None:
    [command] = commands("A=1 B='x y' torchrun train.py C=3\n")
    assert [(a.name, a.value.plain) for a in command.assigns] == [("A", "1"), ("B", "x y")]
    assert [w.raw for w in command.words] == ["torchrun", "train.py", "C=3"]


def test_a_here_document_is_no_code() -> None:
    script = scan_script("cat <<'EOF' > x\ntorchrun train.py\nEOF\necho done\n")
    assert [c.name for c in script.commands] == ["cat", "echo"]
    [body] = script.heredocs
    assert script.text[body.start : body.end] == "torchrun train.py\n"


def test_branches_of_an_if_are_different_contexts() -> None:
    first, second = commands("if true; then a; else b; fi\n")[1:]
    assert first.context != second.context
    assert [c.partition("@")[0] for c in first.context] == ["if"]


def test_what_runs_before_stands_earlier_in_the_same_block_or_around_it() -> None:
    before, inside, after = commands("x\nfor i in 1; do\n  y\ndone\nz\n")
    assert before.runs_before(inside) and before.runs_before(after)
    assert not inside.runs_before(after)


@pytest.mark.parametrize(
    "text",
    [
        "if true; then\n  x\n",
        "echo 'open\n",
        "for i in 1 2\n  x\ndone\n",
        "x )\n",
        "cat <<EOF\nno end\n",
        "export A=<token> # placeholder\n",
        "fi\n",
    ],
)
def test_what_bash_rejects_is_rejected(text: str) -> None:
    assert bash_says(text) is not None
    with pytest.raises(ShellSyntaxError):
        scan_script(text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scripts(), st.data())
def test_a_damaged_script_is_judged_as_bash_judges_it(text: str, data: st.DataObject) -> None:
    """One line is taken out: bash and the parser agree on whether a script is left."""
    lines = text.split("\n")
    del lines[data.draw(st.integers(0, max(len(lines) - 1, 0)))]
    damaged = "\n".join(lines)
    try:
        scan_script(damaged)
        accepted = True
    except ShellSyntaxError:
        accepted = False
    assert accepted == (bash_says(damaged) is None)


@given(st.text(alphabet="ab \n\t\"'`$(){}[]<>|&;#\\=!*?~EOF", max_size=60))
def test_no_text_makes_the_parser_fail_otherwise(text: str) -> None:
    try:
        scan_script(text)
    except ShellSyntaxError as error:
        assert 0 <= error.offset <= len(text)


@pytest.mark.skipif(find_spec("tree_sitter_bash") is None, reason="tree-sitter-bash is not there: pip install tree-sitter tree-sitter-bash")
@pytest.mark.parametrize("text", SCRIPTS, ids=range(len(SCRIPTS)))
def test_commands_are_those_of_tree_sitter_bash(text: str) -> None:
    ours = sorted({(w.start, w.raw) for c in commands(text) for w in c.words[:1] if w.raw not in {"export", "declare", "unset"}})
    assert ours == tree_sitter_commands(text)


def tree_sitter_commands(text: str) -> list[tuple[int, str]]:
    """Offset and text of every command word, declarations and tests aside."""
    import tree_sitter
    import tree_sitter_bash

    data = text.encode()
    found = []
    stack = [tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())).parse(data).root_node]
    while stack:
        node = stack.pop()
        stack += node.children
        if node.type == "command_name":
            found.append((len(data[: node.start_byte].decode()), data[node.start_byte : node.end_byte].decode()))
        elif node.type == "test_command":
            found.append((len(data[: node.start_byte].decode()), "["))
    return sorted(found)
