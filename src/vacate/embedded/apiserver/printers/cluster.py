"""Namespaces and what they hold, leases, budgets, priorities, and rules about access and admission."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.objects import Obj, dig
from vacate.api.untyped import mapping, maps
from vacate.embedded.apiserver.printers.columns import (
    AGE,
    NAME,
    UNSET,
    Column,
    Printer,
    Read,
    field,
    wide,
)


def _size(*keys: str) -> Read:
    return lambda obj, _: sum(len(obj.get(key) or ()) for key in keys)


def _bound(key: str) -> Read:
    def shown(obj: Obj, _: dt.datetime) -> str:
        bound = dig(obj, "spec", key)
        return "N/A" if bound is None else str(bound)

    return shown


def _subjects(kind: str) -> Read:
    def named(subject: Obj) -> str:
        name = str(subject.get("name", ""))
        return f"{subject.get('namespace', '')}/{name}" if kind == "ServiceAccount" else name

    return lambda obj, _: ", ".join(
        named(one) for one in maps(obj.get("subjects")) if one.get("kind") == kind
    )


def _role(obj: Obj, _: dt.datetime) -> str:
    role = mapping(obj.get("roleRef"))
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def _param_kind(obj: Obj, _: dt.datetime) -> str:
    params = dig(obj, "spec", "paramKind")
    return f"{params.get('apiVersion', '')}/{params.get('kind', '')}" if params else UNSET


def _param_ref(obj: Obj, _: dt.datetime) -> Any:
    ref = mapping(dig(obj, "spec", "paramRef"))
    return "/".join(filter(None, (ref.get("namespace"), ref.get("name")))) if ref.get("name") else UNSET


NAMESPACES = Printer(
    NAME, Column("Status", "Whether the namespace is in use or going away.", field("status", "phase")), AGE
)
CONFIGMAPS = Printer(
    NAME, Column("Data", "How many entries the config map has.", _size("data", "binaryData")), AGE
)
SECRETS = Printer(
    NAME,
    Column("Type", "What the secret is for.", field("type")),
    Column("Data", "How many entries it has.", _size("data")),
    AGE,
)
SERVICEACCOUNTS = Printer(NAME, AGE)
LEASES = Printer(NAME, Column("Holder", "Who holds the lease.", field("spec", "holderIdentity")), AGE)
PODDISRUPTIONBUDGETS = Printer(
    NAME,
    Column("Min Available", "How many pods must stay available.", _bound("minAvailable")),
    Column("Max Unavailable", "How many pods may be missing.", _bound("maxUnavailable")),
    Column(
        "Allowed Disruptions", "How many pods may be disrupted at the moment.",
        field("status", "disruptionsAllowed", default=0), "integer",
    ),
    AGE,
)  # fmt: skip
PRIORITYCLASSES = Printer(
    NAME,
    Column("Value", "The priority of pods of this class.", field("value", default=0), "integer"),
    Column(
        "Global-Default", "Whether pods without a class get this one.",
        field("globalDefault", default=False), "boolean",
    ),
    AGE,
    Column("PreemptionPolicy", "Whether pods of this class displace others.", field("preemptionPolicy")),
)  # fmt: skip
ROLEBINDINGS = Printer(
    NAME,
    Column("Role", "The role that is granted.", _role),
    AGE,
    wide("Users", "The users to whom it is granted.", _subjects("User")),
    wide("Groups", "The groups to whom it is granted.", _subjects("Group")),
    wide("ServiceAccounts", "The service accounts to whom it is granted.", _subjects("ServiceAccount")),
)
POLICIES = Printer(
    NAME,
    Column(
        "Validations", "How many conditions a write must meet.",
        lambda obj, _: len(dig(obj, "spec", "validations") or ()), "integer",
    ),
    Column("ParamKind", "The kind of its parameters.", _param_kind),
    AGE,
)  # fmt: skip
POLICYBINDINGS = Printer(
    NAME,
    Column("PolicyName", "The policy that it puts in force.", field("spec", "policyName")),
    Column("ParamRef", "The parameters of the policy.", _param_ref),
    AGE,
)
