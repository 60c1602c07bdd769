"""Vacate: a control plane for how Kubernetes pods leave."""

__version__ = "0.1.0"
