"""Pure functions from findings to incidents: attempts, ranks, launchers, collectives, progress, blame. Touches no file."""
