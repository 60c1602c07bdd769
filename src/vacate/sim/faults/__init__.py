"""Faults of requests and processes, planned or random."""
