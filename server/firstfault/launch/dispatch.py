"""Sends a setting to the editor of a file's kind and checks what comes back. Knows no grammar itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from firstfault.launch import (
    dockerfile,
    dotenv,
    kubernetes,
    makefile,
    notebook,
    python_environ,
    python_timeout,
    shell_edit,
    shell_flags,
    vscode_json,
    yaml_commands,
    yaml_environment,
)
from firstfault.launch.edit import (
    EditRefused,
    Replacement,
    SettingLike,
    TextEdit,
    Wanted,
    apply_edits,
    edits_between,
    to_text_edits,
)
from firstfault.launch.jsonc import JsonSource
from firstfault.launch.kinds import Kind, detect_kind
from firstfault.launch.python_source import PythonSource
from firstfault.launch.shell_parse import parse_shell
from firstfault.launch.yaml_source import YamlSource

# NCCL_DEBUG
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*$")


def edits_for(setting: SettingLike, text: str, path: str) -> list[TextEdit]:
    """The edits that make a setting hold in a launch file, in document order; an empty list where it already holds.

    Raises `EditRefused` with the reason where the file is left alone.
    """
    wanted = _normal(setting)
    kind = _kind_of(path, text)
    editor = _EDITORS.get((kind, wanted.kind))
    if editor is None:
        raise EditRefused(
            f"{wanted.name} is not set",
            reason=f"this file ({kind.value}) cannot carry a {_SPOKEN.get(wanted.kind, wanted.kind)}",
            where=path,
        )
    edits = to_text_edits(text, editor(wanted, text, path))
    if edits:
        after = apply_edits(text, edits)
        _check_grammar(kind, after, path)
        if to_text_edits(after, editor(wanted, after, path)):
            # The result must be what the editor itself takes for done; if not, the layout is one that it misreads.
            raise EditRefused(
                f"{wanted.name} is not set", reason="the layout of the file is unclear, the edit would not be safe", where=path
            )
    return edits


def edits_for_all(settings: Iterable[SettingLike], text: str, path: str) -> list[TextEdit]:
    """The edits that make several settings hold together, by whole lines; one that is refused is left out unless all are."""
    after, refusals, done = text, [], 0
    for setting in settings:
        try:
            after = apply_edits(after, edits_for(setting, after, path))
            done += 1
        except EditRefused as e:
            refusals.append(e)
    if refusals and not done:
        raise refusals[0]
    return edits_between(text, after) if after != text else []


def remove_edits(setting: SettingLike, text: str, path: str) -> list[TextEdit]:
    """The edits that take a setting out again: only whole assignments with exactly this value (any value where it is empty)."""
    wanted = _normal(setting)
    kind = _kind_of(path, text)
    remover = _REMOVERS.get((kind, wanted.kind))
    if remover is None:
        raise EditRefused(
            f"{wanted.name} is not removed",
            reason=f"this file ({kind.value}) carries no {_SPOKEN.get(wanted.kind, wanted.kind)}",
            where=path,
        )
    return to_text_edits(text, remover(wanted, text, path))


def remove_edits_all(settings: Iterable[SettingLike], text: str, path: str) -> list[TextEdit]:
    """The edits that take several settings out together, by whole lines; what a file cannot carry is not in it."""
    after = text
    for setting in settings:
        try:
            after = apply_edits(after, remove_edits(setting, after, path))
        except EditRefused:
            continue
    return edits_between(text, after) if after != text else []


Editor = Callable[[SettingLike, str, str], list[Replacement]]

_WITH_COMMANDS = (Kind.COMPOSE, Kind.SKYPILOT, Kind.TORCHX, Kind.KUBERNETES)
_EDITORS: dict[tuple[Kind, str], Editor] = {
    (Kind.SHELL, "env"): shell_edit.env_replacements,
    (Kind.SHELL, "timeout"): shell_flags.timeout_replacements,
    (Kind.SHELL, "flag"): shell_flags.flag_replacements,
    (Kind.PYTHON, "env"): python_environ.environ_replacements,
    (Kind.PYTHON, "timeout"): python_timeout.timeout_replacements,
    (Kind.COMPOSE, "env"): yaml_environment.compose_replacements,
    (Kind.SKYPILOT, "env"): yaml_environment.task_replacements,
    (Kind.TORCHX, "env"): yaml_environment.torchx_replacements,
    (Kind.ENV_VARS, "env"): yaml_environment.runtime_env_replacements,
    (Kind.ACCELERATE, "env"): yaml_environment.refuse_accelerate,
    (Kind.KUBERNETES, "env"): kubernetes.manifest_replacements,
    (Kind.DOCKERFILE, "env"): dockerfile.env_replacements,
    (Kind.DOTENV, "env"): dotenv.env_replacements,
    (Kind.DEEPSPEED_ENV, "env"): dotenv.deepspeed_replacements,
    (Kind.DEEPSPEED_CONFIG, "env"): vscode_json.refuse_deepspeed_config,
    (Kind.MAKEFILE, "env"): makefile.env_replacements,
    (Kind.LAUNCH_JSON, "env"): vscode_json.launch_replacements,
    (Kind.TASKS_JSON, "env"): vscode_json.task_replacements,
    (Kind.NOTEBOOK, "env"): notebook.env_replacements,
    **{(k, "flag"): yaml_commands.flag_replacements for k in _WITH_COMMANDS},
    **{(k, "timeout"): yaml_commands.timeout_replacements for k in _WITH_COMMANDS},
}
_REMOVERS: dict[tuple[Kind, str], Editor] = {
    (Kind.SHELL, "env"): shell_edit.removal_replacements,
    (Kind.SHELL, "timeout"): shell_flags.timeout_removals,
    (Kind.SHELL, "flag"): shell_flags.flag_removals,
    (Kind.PYTHON, "env"): python_environ.removal_replacements,
    (Kind.PYTHON, "timeout"): python_timeout.timeout_removals,
    (Kind.COMPOSE, "env"): yaml_environment.compose_removals,
    (Kind.SKYPILOT, "env"): yaml_environment.task_removals,
    (Kind.TORCHX, "env"): yaml_environment.torchx_removals,
    (Kind.ENV_VARS, "env"): yaml_environment.runtime_env_removals,
    (Kind.KUBERNETES, "env"): kubernetes.manifest_removals,
    (Kind.DOCKERFILE, "env"): dockerfile.removal_replacements,
    (Kind.DOTENV, "env"): dotenv.removal_replacements,
    (Kind.DEEPSPEED_ENV, "env"): dotenv.removal_replacements,
    (Kind.MAKEFILE, "env"): makefile.removal_replacements,
    (Kind.LAUNCH_JSON, "env"): vscode_json.launch_removals,
    (Kind.TASKS_JSON, "env"): vscode_json.task_removals,
    (Kind.NOTEBOOK, "env"): notebook.removal_replacements,
    **{(k, "flag"): yaml_commands.flag_removals for k in _WITH_COMMANDS},
}


_SPOKEN = {"env": "environment variable", "flag": "command-line flag", "timeout": "timeout"}


def _check_grammar(kind: Kind, text: str, path: str) -> None:
    """Parse what came out by the grammar of its kind: a file that parsed before must parse after, or it is left alone."""
    if kind is Kind.SHELL:
        parse_shell(text, path)
    elif kind is Kind.PYTHON:
        PythonSource(text, path)
    elif kind is Kind.DOCKERFILE:
        dockerfile.parse(text, path)
    elif kind in {Kind.LAUNCH_JSON, Kind.TASKS_JSON, Kind.NOTEBOOK}:
        JsonSource(text, path)
    elif kind in {Kind.DOTENV, Kind.DEEPSPEED_ENV}:
        dotenv.pairs(text, path)
    elif kind is Kind.MAKEFILE:
        makefile.values(text, path, "")
    else:
        YamlSource(text, path)


def _normal(setting: SettingLike) -> Wanted:
    kind = setting.kind
    if kind == "timeout" and _ENV_NAME.match(setting.name):
        kind = "env"
    if kind == "timeout" and setting.name.startswith("--"):
        kind = "flag"
    if not setting.value.isprintable():
        raise EditRefused(f"{setting.name} is not set", reason="its value has line ends or control characters")
    return Wanted(kind, setting.name, setting.value)


def _kind_of(path: str, text: str) -> Kind:
    kind = detect_kind(path, text)
    if kind is None:
        raise EditRefused("the file is not edited", reason="it is no launch file of a known kind", where=path)
    return kind
