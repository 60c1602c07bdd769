"""Admission policies and their bindings."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.columns import AGE, NAME, Column, Printer
from vacate.api.objects import Obj, name_of
from vacate.api.untyped import mapping

_UNSET = "<unset>"


def _policy(obj: Obj, now: dt.datetime) -> list[Any]:
    spec = mapping(obj.get("spec"))
    params = spec.get("paramKind")
    kind = f"{params.get('apiVersion', '')}/{params.get('kind', '')}" if params else _UNSET
    return [name_of(obj), len(spec.get("validations") or ()), kind, age(obj, now)]


def _binding(obj: Obj, now: dt.datetime) -> list[Any]:
    spec = mapping(obj.get("spec"))
    ref = mapping(spec.get("paramRef"))
    params = "/".join(filter(None, (ref.get("namespace"), ref.get("name")))) if ref.get("name") else _UNSET
    return [name_of(obj), spec.get("policyName", ""), params, age(obj, now)]


POLICIES = Printer(
    (
        NAME,
        Column("Validations", "How many conditions a write must meet.", type="integer"),
        Column("ParamKind", "The kind of its parameters."),
        AGE,
    ),
    _policy,
)
BINDINGS = Printer(
    (
        NAME,
        Column("PolicyName", "The policy that it puts in force."),
        Column("ParamRef", "The parameters of the policy."),
        AGE,
    ),
    _binding,
)
