"""PURE. Fencing: whether a node may be fenced, and what a fence agent is told and answers."""
