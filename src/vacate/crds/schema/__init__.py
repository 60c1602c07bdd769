"""Structural schemas: what a CustomResourceDefinition says about a kind, and what a server does with it.

The schema of a kind is made from its typed structs (`generate`). Its `structure` (`compiled`) prunes objects,
fills in defaults (`prune`) and checks them (`fastcheck`, `validation`) as kube-apiserver does with custom
resources, in its words.
"""

from __future__ import annotations

from vacate.crds.schema.compiled import Structure, structure
from vacate.crds.schema.generate import structural_schema
from vacate.crds.schema.validation import structural_errors

__all__ = ["Structure", "structural_errors", "structural_schema", "structure"]
