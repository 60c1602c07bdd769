"""Pods: defaults, validation, updates, status."""
