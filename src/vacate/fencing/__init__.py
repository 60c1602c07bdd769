"""PURE. Fencing: whether a node may be fenced, and what is sent to a fence agent and read from it."""
