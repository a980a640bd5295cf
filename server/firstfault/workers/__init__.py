"""The map step: inputs are read in several processes, or on a cluster, and come back as compact findings."""
