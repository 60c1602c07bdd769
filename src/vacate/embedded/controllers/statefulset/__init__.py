"""Keeps pods that each have a name of their own, one after another or all at once."""
