"""CustomResourceDefinitions, made from the declarations of the kinds: schema, columns and rules."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.crds.catalogue import DECLARATIONS, declaration_of
from vacate.crds.customresource import CustomResource
from vacate.crds.evictionrequest import EVICTIONREQUEST
from vacate.crds.schema import structural_schema
from vacate.crds.schema.limitsentences import describe_limits


def definition(
    allowed_interceptors: Sequence[str] = (), declaration: CustomResource = EVICTIONREQUEST
) -> Obj:
    """The definition of one kind as a client would create it."""
    kind = declaration.kind
    metadata: Obj = {"name": kind.resource}
    if declaration.annotations:
        metadata["annotations"] = dict(declaration.annotations)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": kind.group,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "names": {
                "kind": kind.kind,
                "listKind": kind.list_kind,
                "plural": kind.plural,
                "singular": kind.singular,
                "shortNames": list(kind.short_names),
            },
            "versions": [_version(declaration, allowed_interceptors)],
        },
    }


def definitions(allowed_interceptors: Sequence[str] = ()) -> list[Obj]:
    """The definitions of all kinds of Vacate's own, also of those whose feature gates are closed."""
    return [definition(allowed_interceptors, one) for one in DECLARATIONS]


def definition_for(kind: Kind) -> Obj:
    """The definition of a kind of Vacate's own."""
    return definition((), declaration_of(kind))


def defined_kind(definition: Obj) -> Kind:
    """The kind that a definition of ours defines."""
    plural = definition["spec"]["names"]["plural"]
    return next(one.kind for one in DECLARATIONS if one.kind.plural == plural)


def _version(declaration: CustomResource, allowed_interceptors: Sequence[str]) -> Obj:
    schema = copy.deepcopy(structural_schema(declaration.struct))
    describe_limits(schema)
    # A definition may say no more about metadata than this; a rule needs the name to be known.
    schema["properties"]["metadata"] = {
        "type": "object",
        "properties": {"name": dict(declaration.name_schema)},
    }
    if declaration.add_rules is not None:
        declaration.add_rules(schema, allowed_interceptors)
    for rule in declaration.rules:
        _place(schema, rule.at).setdefault("x-kubernetes-validations", []).append(rule.definition())
    return {
        "name": declaration.kind.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [column.definition() for column in declaration.columns],
        "schema": {"openAPIV3Schema": schema},
    }


def _place(schema: Obj, path: str) -> Obj:
    for step in path.split(".") if path else ():
        schema = schema["properties"][step.removesuffix("[]")]
        schema = schema["items"] if step.endswith("[]") else schema
    return schema
