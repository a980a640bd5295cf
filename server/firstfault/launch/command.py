"""`firstfault fix PATH --set NAME=VALUE`: shows or writes the edit of one launch file. The only part of this package that writes a file."""

from __future__ import annotations

import argparse
import codecs
import difflib
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from firstfault.errors import FirstFaultError, InputError
from firstfault.launch import settings
from firstfault.launch.dispatch import edits_for, remove_edits
from firstfault.launch.edit import Wanted, apply_edits


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `firstfault fix`."""
    parser.description = "Set environment variables, flags and timeouts in a launch file. Shows the change; --write makes it."
    parser.add_argument("path", metavar="PATH", help="a script, Dockerfile, YAML, .env, Makefile, notebook or Python file")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what to set: NCCL_DEBUG=INFO, collective_timeout=1h, --set=--rdzv-conf=join_timeout=900; may be given several times",
    )
    parser.add_argument("--unset", action="append", default=[], metavar="NAME[=VALUE]", help="what to take out again")
    parser.add_argument("--torch", metavar="VERSION", help="the torch version of the job, so that names fit it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--diff", action="store_true", help="print the change as a diff (the default)")
    how.add_argument("--write", action="store_true", help="write the file")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments say: 0 when done or nothing is to do, 1 when the file is left alone, 2 when the arguments are wrong."""
    try:
        if not args.settings and not args.unset:
            raise InputError(
                "nothing to set", reason="neither --set nor --unset was given", help=f"firstfault fix {args.path} --set NCCL_DEBUG=INFO"
            )
        file = read_file(args.path)
        after = file.text
        for text, remove in [*((t, False) for t in args.settings), *((t, True) for t in args.unset)]:
            wanted = parse_setting(text, args.torch, value_needed=not remove)
            _say_cost(wanted, remove)
            after = apply_edits(after, remove_edits(wanted, after, args.path) if remove else edits_for(wanted, after, args.path))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except FirstFaultError as error:
        print(error, file=sys.stderr)
        return 1
    if after == file.text:
        print(f"{args.path}: nothing to change")
        return 0
    if args.write:
        file.write(after)
        print(f"{args.path}: written")
    else:
        print(diff(file.text, after, args.path), end="")
    return 0


def parse_setting(text: str, torch_version: str | None = None, *, value_needed: bool = True) -> Wanted:
    """`NCCL_DEBUG=INFO`, `--rdzv-conf=join_timeout=900` or `collective_timeout=1h` as a setting; names fit the torch version."""
    m = re.match(r"(-{0,2}[A-Za-z_][\w.-]*)(?:=(.*))?$", text, re.DOTALL)
    if m is None or (value_needed and m.group(2) is None):
        raise InputError(f"{text!r} is no setting", reason="a setting is NAME=VALUE", help="firstfault fix PATH --set NCCL_DEBUG=INFO")
    name, value = m.group(1), m.group(2) or ""
    if name.startswith("-"):
        return Wanted("flag", name, value)
    if name.upper() == name:
        return Wanted("env", settings.name_for(name, torch_version), value)
    return Wanted("timeout", name, value)


@dataclass(frozen=True, slots=True)
class LaunchText:
    """A file as text, with what is needed to write it back byte for byte: its encoding and its byte order mark."""

    path: str
    text: str
    encoding: str
    mark: bytes

    def write(self, text: str) -> None:
        """Write another text in the same encoding. Raises `InputError` where the disk refuses."""
        try:
            with open(self.path, "wb") as file:
                file.write(self.mark + text.encode(self.encoding, "surrogatepass"))
        except OSError as e:
            raise InputError("the file cannot be written", reason=e.strerror or str(e), where=self.path) from None


_MARKS: Sequence[tuple[bytes, str]] = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def read_file(path: str) -> LaunchText:
    """Read a launch file; what is not UTF-8 is read byte for byte, so that it can be written back unchanged."""
    if os.path.isdir(path):
        from firstfault.launch.candidates import find_candidates

        best = find_candidates(path, limit=1)
        raise InputError(
            "the path is a folder",
            reason="one file is edited at a time",
            where=path,
            help=f"firstfault fix {best[0].path} …" if best else "name the script that starts the job",
        )
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as e:
        raise InputError("the file cannot be read", reason=e.strerror or str(e), where=path) from None
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return LaunchText(path, data[len(mark) :].decode(encoding, "surrogatepass"), encoding, mark)
    try:
        return LaunchText(path, data.decode("utf-8"), "utf-8", b"")
    except UnicodeDecodeError:
        return LaunchText(path, data.decode("latin-1"), "latin-1", b"")


def diff(before: str, after: str, path: str) -> str:
    """A unified diff of two texts; line ends stay visible only as line ends."""
    out = []
    for line in difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), path, path):
        out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)


def _say_cost(wanted: Wanted, remove: bool) -> None:
    info = settings.lookup(wanted.name)
    if info is not None and not remove and info.costs_speed(wanted.value):
        print(f"note: {wanted.name}={wanted.value} slows training down. {info.cost}", file=sys.stderr)
