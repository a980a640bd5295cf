"""Chooses the parser for a shell script and turns its errors into refusals. Does not know what the script does."""

from __future__ import annotations

import re

from firstfault.launch.edit import EditRefused, Lines
from firstfault.launch.shell_scan import scan_script
from firstfault.launch.shell_script import Script, ShellSyntaxError

# #!/bin/csh -f     #!/usr/bin/env fish
_FOREIGN = re.compile(r"#!.*?\b(csh|tcsh|fish|pwsh|perl|ruby|node)\b")


def parse_shell(text: str, path: str) -> Script:
    """The parsed script; raises `EditRefused` where it is no valid bash or sh."""
    foreign = _FOREIGN.match(text)
    if foreign or path.endswith((".csh", ".tcsh", ".fish", ".ps1")):
        name = foreign.group(1) if foreign else path.rsplit(".", 1)[-1]
        raise EditRefused("the script is not edited", reason=f"it is written for {name}, not for bash or sh", where=path)
    try:
        return scan_script(text)
    except ShellSyntaxError as e:
        line = Lines(text).line_of(e.offset) + 1
        raise EditRefused(
            "the script is not edited", reason=f"it does not parse: {e.why}", where=f"{path}:{line}", help=f"bash -n {path}"
        ) from None
