"""Nodes: for now the simulated one, which runs pods on paper."""
