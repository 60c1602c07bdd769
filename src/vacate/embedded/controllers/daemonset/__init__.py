"""Keeps one pod on every node that takes it."""
