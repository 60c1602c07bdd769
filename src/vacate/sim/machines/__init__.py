"""Simulated machines on which the real node agent runs: power, processes, a disk, a network."""
