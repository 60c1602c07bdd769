"""Structural schemas: what a CustomResourceDefinition says about a kind, and what a server does with it.

The schema of a kind is made from its typed structs (`model`). Its `structure` prunes and fills in objects
(`settle`) and checks them (`looks`, `faults`) as kube-apiserver does with custom resources, in its words.
"""

from __future__ import annotations

from vacate.api.structural.compiled import Structure, structure
from vacate.api.structural.faults import structural_faults
from vacate.api.structural.model import structural_schema

__all__ = ["Structure", "structural_faults", "structural_schema", "structure"]
