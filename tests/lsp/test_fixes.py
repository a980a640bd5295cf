"""What the fix buttons of the report view get: an edit of a launch script, or the reason why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editor import Editor
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOG = "FAULT rank 3 host node07: boom\n"
SLOW = "SLOW rank 2: swapping\n"
SBATCH = "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun train.py\n"
TRAIN = 'import torch.distributed as dist\n\ndist.init_process_group("nccl")\n'
DEBUG = {"kind": "env", "name": "NCCL_DEBUG", "value": "INFO", "why": "shows which rank stopped"}
TIMEOUT = {"kind": "timeout", "name": "init_process_group", "value": "7200", "why": "a slow rank is waited for"}


@pytest.fixture(params=["full", "minimal"])
def either(request: pytest.FixtureRequest) -> Editor:
    editor: Editor = request.getfixturevalue(request.param)
    return editor


def new_texts(edit: Any) -> list[str]:
    """The inserted texts of a workspace edit as it comes over the wire."""
    if "documentChanges" in edit:
        return [e["newText"] for change in edit["documentChanges"] for e in change["edits"]]
    return [e["newText"] for edits in edit["changes"].values() for e in edits]


async def test_a_button_gets_the_edit_of_the_script_of_the_workspace(either: Editor, scripts: Path) -> None:
    path = scripts / "train.sbatch"
    path.write_text(SBATCH)
    answer = await either.ask("firstfault/applyFix", {"setting": DEBUG, "uri": either.open(LOG)})
    assert answer["title"] == "Set NCCL_DEBUG=INFO in train.sbatch"
    assert (answer["path"], answer["reason"]) == (str(path), "")
    assert new_texts(answer["edit"]) == ["export NCCL_DEBUG=INFO\n"]
    assert answer["line"] == "export NCCL_DEBUG=INFO"
    assert path.read_text() == SBATCH, "nothing is written for the user"


async def test_several_scripts_are_offered_by_name_and_one_can_be_chosen(either: Editor, scripts: Path) -> None:
    for name in ("a.sbatch", "b.sbatch"):
        (scripts / name).write_text(SBATCH)
    request = {"setting": DEBUG, "uri": either.open(LOG)}
    answer = await either.ask("firstfault/applyFix", request)
    assert [c["title"] for c in answer["choices"]] == ["Set NCCL_DEBUG=INFO in a.sbatch", "Set NCCL_DEBUG=INFO in b.sbatch"]
    chosen = await either.ask("firstfault/applyFix", {**request, "launchFile": answer["choices"][1]["path"]})
    assert chosen["path"] == str(scripts / "b.sbatch")
    assert new_texts(chosen["edit"]) == ["export NCCL_DEBUG=INFO\n"]


async def test_without_a_script_the_reason_and_a_line_are_given(either: Editor, scripts: Path) -> None:
    answer = await either.ask("firstfault/applyFix", {"setting": DEBUG, "text": LOG})
    assert (answer["edit"], answer["path"], answer["choices"]) == (None, None, [])
    assert answer["reason"] == "no launch script in the workspace"
    assert answer["line"] == "export NCCL_DEBUG=INFO"


async def test_a_setting_that_holds_is_told(either: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(SBATCH.replace("srun", "export NCCL_DEBUG=INFO\nsrun"))
    answer = await either.ask("firstfault/applyFix", {"setting": DEBUG})
    assert (answer["edit"], answer["reason"]) == (None, "NCCL_DEBUG is set already in train.sbatch")


async def test_a_script_that_is_left_alone_says_why(either: Editor, scripts: Path) -> None:
    (scripts / "train.sbatch").write_text(f"{SBATCH}# REFUSE\n")
    answer = await either.ask("firstfault/applyFix", {"setting": DEBUG})
    assert answer["reason"] == "train.sbatch: left alone: it says so"


async def test_a_longer_timeout_is_refused_for_a_crash_and_given_for_a_slow_rank(either: Editor, scripts: Path) -> None:
    (scripts / "train.py").write_text(TRAIN)
    answer = await either.ask("firstfault/applyFix", {"setting": TIMEOUT, "uri": either.open(LOG)})
    assert answer["edit"] is None and "slow but alive" in answer["reason"]
    answer = await either.ask("firstfault/applyFix", {"setting": TIMEOUT, "uri": either.open(SLOW)})
    assert any("timeout=" in text for text in new_texts(answer["edit"]))


async def test_an_open_script_is_edited_as_it_stands(full: Editor, scripts: Path) -> None:
    path = scripts / "train.sbatch"
    path.write_text("#!/bin/bash\n")
    script = full.open(SBATCH, path.as_uri(), "shellscript", 7)
    answer = await full.ask("firstfault/applyFix", {"setting": DEBUG})
    change = answer["edit"]["documentChanges"][0]
    assert (change["textDocument"]["uri"], change["textDocument"]["version"]) == (path.as_uri(), 7)
    assert answer["edit"]["changeAnnotations"]["firstfault"]["needsConfirmation"] is False
    full.close_document(script)


async def test_a_chosen_script_may_lie_outside_the_workspace(full: Editor, tmp_path: Path) -> None:
    path = tmp_path / "else where.sh"
    path.write_text("torchrun train.py\n")
    answer = await full.ask("firstfault/applyFix", {"setting": DEBUG, "launchFile": path.as_uri()})
    assert answer["path"] == str(path)
    assert new_texts(answer["edit"]) == ["export NCCL_DEBUG=INFO\n"]
    gone = await full.ask("firstfault/applyFix", {"setting": DEBUG, "launchFile": str(tmp_path / "gone.sh")})
    assert (gone["edit"], gone["reason"]) == (None, "gone.sh cannot be read or is no script")


@pytest.mark.parametrize(
    "params", [None, {}, {"setting": 3}, {"setting": {"kind": "spell", "name": "A", "value": "1"}}, {"setting": {"kind": "env"}}]
)
async def test_a_request_without_a_setting_is_refused(full: Editor, params: Any) -> None:
    with pytest.raises(JsonRpcException) as raised:
        await full.ask("firstfault/applyFix", params)
    assert raised.value.message.startswith("error: no setting to apply")
    assert "help: " in raised.value.message
