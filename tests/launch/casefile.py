"""Reads and writes the before/after pairs under cases/. Does not know how an edit is made.

A case is one text file: a header, the text before, the text after.

    path: train.sbatch                 the name decides the kind of file
    setting: env NCCL_DEBUG INFO       kind, name, value
    remove: yes                        whether removing the setting gives the text before again (no: a value was changed)
    line ends: crlf                    both texts have CRLF line ends
    final newline: no                  the text before has none behind its last line (the text after has one only with
    final newline after: yes           this line)
    === before
    …
    === after
    …
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from firstfault.launch import Wanted

FOLDER = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    name: str
    file: Path
    path: str
    setting: Wanted
    removes: bool
    before: str
    after: str


def load_cases(folder: str = "**") -> list[Case]:
    return [read_case(f) for f in sorted(FOLDER.glob(f"{folder}/*.txt"))]


def read_case(file: Path) -> Case:
    head, _, rest = file.read_bytes().decode().partition("=== before\n")
    before, _, after = rest.partition("=== after\n")
    header = dict(line.split(": ", 1) for line in head.splitlines())
    if header.get("final newline") == "no":
        before = before[:-1]
        after = after if header.get("final newline after") == "yes" else after[:-1]
    if header.get("line ends") == "crlf":
        before, after = before.replace("\n", "\r\n"), after.replace("\n", "\r\n")
    kind, name, value = header["setting"].split(" ", 2)
    return Case(
        f"{file.parent.name}/{file.stem}", file, header["path"], Wanted(kind, name, value), header["remove"] == "yes", before, after
    )


def write_after(case: Case, after: str) -> None:
    """Put another text after into a case file; it has to be read before it is committed."""
    head, _, rest = case.file.read_bytes().decode().partition("=== before\n")
    before, _, _ = rest.partition("=== after\n")
    head = "".join(line + "\n" for line in head.splitlines() if not line.startswith("final newline after"))
    plain = after.replace("\r\n", "\n")
    if "final newline: no" in head:
        head += "final newline after: yes\n" if plain.endswith("\n") else ""
        plain = plain if plain.endswith("\n") else plain + "\n"
    case.file.write_bytes(f"{head}=== before\n{before}=== after\n{plain}".encode())
