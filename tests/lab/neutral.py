"""Rewrites what a log or a dump says of the machine it was made on: paths and host names. Changes nothing else, keeps every line."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import sys
from pathlib import Path
from typing import Any

# torchelastic names a scratch folder of its own: /tmp/torchelastic_k3vb1x2e/none_8x7c0d1q
SCRATCH = re.compile(r"/tmp/torchelastic_\w+")
# The summary of torchelastic: "  host      : localhost"
SUMMARY_HOST = re.compile(r"^(\S* ?  host      : )\S+", re.MULTILINE)
# Socket messages quote the other side as "[localhost]:29511".
BRACKET_HOST = re.compile(r"\[localhost\](?=:\d)")


def neutralise(text: str, *, job: Path, python: Path, host: str) -> str:
    """`text` with the job folder as /job, the virtual environment as /opt/venv, the base Python as /usr, this host as `host`."""
    venv = python.parent.parent
    base = Path(os.path.realpath(python)).parent.parent
    for path, name in ((job, "/job"), (job.resolve(), "/job"), (venv, "/opt/venv"), (base, "/usr"), (Path(sys.base_prefix), "/usr")):
        if len(path.parts) > 2 or str(path) == str(venv):
            text = text.replace(str(path), name)
    text = SCRATCH.sub("/tmp/torchelastic_0", text)
    text = SUMMARY_HOST.sub(rf"\g<1>{host}", text)
    text = BRACKET_HOST.sub(f"[{host}]", text)
    names = {socket.gethostname(), socket.getfqdn()} - {"localhost", ""}
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", host, text)
    return text


def neutralise_dump(dump: bytes, *, job: Path, python: Path, host: str) -> bytes:
    """A flight-recorder dump of the laboratory's own ranks (a pickle, or JSON) with the same names in it, in the form it had."""
    seen: dict[str, str] = {}

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            return seen.setdefault(value, neutralise(value, job=job, python=python, host=host))
        if isinstance(value, dict):
            return {clean(key): clean(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(clean(item) for item in value)
        return value

    if dump.startswith(b"{"):
        return json.dumps(clean(json.loads(dump))).encode()
    return pickle.dumps(clean(pickle.loads(dump)), protocol=2)
