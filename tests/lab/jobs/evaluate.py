"""Evaluates with several ranks, and forgets to meet first. Knows no other mistake."""

from __future__ import annotations

import json
from pathlib import Path

import torch
import torch.distributed as dist


def main() -> None:
    classes = json.loads(Path("data/meta.json").read_text())["classes"]
    totals = torch.zeros(len(classes))
    print(f"evaluating {len(classes)} classes", flush=True)
    dist.all_reduce(totals)


if __name__ == "__main__":
    main()
