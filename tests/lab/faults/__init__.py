"""The registry: every fault of every module in this folder. Knows no fault itself; a new one is added to the module of its kind."""

from __future__ import annotations

import importlib
import pkgutil

from tests.lab.fault import Fault


def all_faults() -> dict[str, Fault]:
    """All faults by name. Raises ValueError when two have the same name."""
    found: dict[str, Fault] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        for fault in importlib.import_module(f"{__name__}.{module.name}").FAULTS:
            if fault.name in found:
                raise ValueError(f"two faults are called {fault.name}")
            found[fault.name] = fault
    return found
