"""Runs faults for real and stores what they left, with the truth, under `recorded/` and `recorded_fr/`. Does not judge a diagnosis.

`python -m tests.lab.record --python /path/to/venv-with-torch/bin/python [NAME ...]`; without names, every fault that has no recording yet.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.lab.fault import Fault
from tests.lab.faults import all_faults
from tests.lab.layouts import Recording, run

RECORDED = Path(__file__).parent / "recorded"
RECORDED_FR = Path(__file__).parent / "recorded_fr"
SAMPLES = Path(__file__).parents[2] / "samples"
SAMPLE_OF = {"stuck-rank.log": "sleeping-rank5-tee", "bad-row.log": "keyerror-rank3-of-8", "killed-rank.log": "sigkill-rank6-tee"}


def store(fault: Fault, recording: Recording, into: Path) -> None:
    """Writes the files of a recording and truth.json into `into`, which is made anew."""
    shutil.rmtree(into, ignore_errors=True)
    for name, text in recording.files.items():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (into / "truth.json").write_text(json.dumps(fault.truth.to_dict(), indent=1) + "\n")


def home(fault: Fault) -> Path:
    """Where the recording of a fault is kept."""
    return (RECORDED_FR if fault.layout == "flight" else RECORDED) / fault.name


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 when a pattern names no fault."""
    parser = argparse.ArgumentParser(prog="tests.lab.record", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", help="names or patterns of faults; without, those that are not recorded yet")
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="a Python with torch in a virtual environment")
    parser.add_argument("--truth-only", action="store_true", help="rewrite truth.json, leave the logs")
    parser.add_argument("--samples", action="store_true", help="copy the logs that users can try to samples/")
    options = parser.parse_args(arguments)
    if options.samples:
        for sample, name in SAMPLE_OF.items():
            shutil.copyfile(RECORDED / name / "log.txt", SAMPLES / sample)
        return 0
    faults = all_faults()
    patterns = options.names or [name for name in faults if options.truth_only or not home(faults[name]).exists()]
    chosen = [name for name in faults if any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]
    if not chosen and options.names:
        print(f"no fault is called {' or '.join(options.names)}; there are: {', '.join(faults)}", file=sys.stderr)
        return 1
    for name in chosen:
        if options.truth_only:
            if home(faults[name]).exists():
                (home(faults[name]) / "truth.json").write_text(json.dumps(faults[name].truth.to_dict(), indent=1) + "\n")
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="lab-") as scratch:
            recording = run(faults[name], Path(scratch).resolve() / "job", options.python.absolute())
        store(faults[name], recording, home(faults[name]))
        size = sum(len(text) for text in recording.files.values())
        print(f"{name}: {len(recording.files)} files, {size} bytes, {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
