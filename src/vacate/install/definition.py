"""The CustomResourceDefinition of EvictionRequests: schema and columns from the structs, and rules."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.structural import structural_schema
from vacate.apiserver.tables.columns import Column
from vacate.apiserver.tables.evictionrequests import EVICTIONREQUESTS as PRINTER
from vacate.install.definition_rules import add_rules

APPROVAL = "unapproved, the kind of KEP-4563 in a group of its own until Kubernetes serves it"

# Where each column finds what it shows. A column of the type date shows a time to come as invalid, so that
# the expected finish is a string.
_PATHS = {
    "Pod": ".spec.target.podRef.name",
    "Stage": '.status.conditions[?(@.type=="Progressing")].reason',
    "Interceptor": ".status.activeInterceptorName",
    "Expected Finish": ".status.expectedInterceptorFinishTime",
    "Failed Evictions": ".status.podEvictionStatus.failedAPIEvictionCounter",
    "Age": ".metadata.creationTimestamp",
}


def definition(allowed_interceptors: Sequence[str] = (), kind: Kind = EVICTIONREQUESTS) -> Obj:
    """The definition as a client would create it."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": kind.resource,
            "annotations": {"api-approved.kubernetes.io": APPROVAL},
        },
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "listKind": kind.list_kind,
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": list(kind.short_names),
            },
            "versions": [_version(kind, allowed_interceptors)],
        },
    }


def _version(kind: Kind, allowed_interceptors: Sequence[str]) -> Obj:
    schema = copy.deepcopy(structural_schema(kind))
    # A definition may say no more about metadata than this; a rule needs the name to be known.
    name = {"type": "string", "description": "The UID of the pod.", "maxLength": 253}
    schema["properties"]["metadata"] = {"type": "object", "properties": {"name": name}}
    add_rules(schema, allowed_interceptors)
    return {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(one) for one in PRINTER.columns if one.name in _PATHS],
        "schema": {"openAPIV3Schema": schema},
    }


def _column(column: Column) -> Obj:
    type_ = "date" if column.name == "Age" else column.type
    shown = {"name": column.name, "type": type_, "description": column.description}
    return {**shown, "jsonPath": _PATHS[column.name]}
