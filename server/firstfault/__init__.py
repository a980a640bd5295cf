"""FirstFault finds the rank that failed first, and why."""

__version__ = "0.1.0"
