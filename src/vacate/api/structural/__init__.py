"""Structural schemas: what a CustomResourceDefinition says about a kind, and what a server does with it.

The schema of a kind is made from its typed structs (`model`). Objects are pruned and defaulted (`settle`) and
checked (`faults`) as kube-apiserver does for custom resources, and refused in its words.
"""

from __future__ import annotations

from vacate.api.structural.faults import structural_faults
from vacate.api.structural.model import structural_schema
from vacate.api.structural.settle import fill_defaults, prune

__all__ = ["fill_defaults", "prune", "structural_faults", "structural_schema"]
