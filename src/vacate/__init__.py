"""Vacate: a control plane for the eviction and termination of Kubernetes pods."""

__version__ = "0.1.0"
