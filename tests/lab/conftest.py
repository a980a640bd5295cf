"""Makes `tests.lab` importable however pytest was started, and says when live jobs were not run. Knows no fault."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Says once, in words, that the live jobs were left out; a count of skips is easily overlooked."""
    from tests.lab.python import lab_python

    reason = lab_python()
    skipped = [report for report in terminalreporter.stats.get("skipped", []) if "test_live" in report.nodeid]
    if skipped and isinstance(reason, str):
        terminalreporter.write_line(f"LABORATORY: {len(skipped)} {reason}", yellow=True, bold=True)
