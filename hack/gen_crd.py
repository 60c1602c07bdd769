"""Write the CustomResourceDefinition of EvictionRequests from the typed structs.

    python hack/gen_crd.py            writes deploy/crds/evictionrequests.yaml
    python hack/gen_crd.py --verify   fails where the committed file differs

Types, descriptions, limits and defaults are those of `vacate.api.types.evictionrequest`, and the columns are
those of the embedded server's table.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import yaml

from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.api.structural import structural_schema
from vacate.apiserver.tables.columns import Column
from vacate.apiserver.tables.evictionrequests import EVICTIONREQUESTS as PRINTER

CRD = Path(__file__).parent.parent / "deploy/crds/evictionrequests.yaml"
HEADER = "# Written by hack/gen_crd.py from the typed structs; a test keeps it current. Do not edit.\n"
APPROVAL = "unapproved, the kind of KEP-4563 in a group of its own until Kubernetes serves it"
Definition = dict[str, Any]

# Where each column finds what it shows. A column of the type date shows a time to come as invalid, so that
# the expected finish is a string.
PATHS = {
    "Pod": ".spec.target.podRef.name",
    "Stage": '.status.conditions[?(@.type=="Progressing")].reason',
    "Interceptor": ".status.activeInterceptorName",
    "Expected Finish": ".status.expectedInterceptorFinishTime",
    "Failed Evictions": ".status.podEvictionStatus.failedAPIEvictionCounter",
    "Age": ".metadata.creationTimestamp",
}


def definition(kind: Kind = EVICTIONREQUESTS) -> Definition:
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
            "versions": [_version(kind)],
        },
    }


def _version(kind: Kind) -> Definition:
    schema = copy.deepcopy(structural_schema(kind))
    schema["properties"]["metadata"] = {"type": "object"}  # a definition may say no more about it
    return {
        "name": kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(one) for one in PRINTER.columns if one.name in PATHS],
        "schema": {"openAPIV3Schema": schema},
    }


def _column(column: Column) -> Definition:
    type_ = "date" if column.name == "Age" else column.type
    shown = {"name": column.name, "type": type_, "description": column.description}
    return {**shown, "jsonPath": PATHS[column.name]}


class _Dumper(yaml.SafeDumper):
    """Lists are set in below their keys; no value refers to another."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def text() -> str:
    """The whole file."""
    body = yaml.dump(definition(), Dumper=_Dumper, sort_keys=False, width=110, allow_unicode=True)
    return f"{HEADER}{body}"


def main() -> int:
    if "--verify" not in sys.argv[1:]:
        CRD.parent.mkdir(parents=True, exist_ok=True)
        CRD.write_text(text())
        return 0
    if not CRD.exists() or CRD.read_text() != text():
        print(f"{CRD} is not current: run python hack/gen_crd.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
