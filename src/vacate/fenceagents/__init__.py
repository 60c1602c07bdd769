"""Runs fence agents and carries a fence out: power off, confirm, and only then release the node's pods."""
