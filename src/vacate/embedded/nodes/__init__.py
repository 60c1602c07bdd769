"""Nodes: for now the simulated one, whose pods have no processes."""
