"""Puts pods on nodes."""
