"""Write the schema table of `vacate.embedded.schema` from the JSON schemas in PyPI's `kubernetes-validate`.

    python hack/gen_schema.py            writes the table
    python hack/gen_schema.py --verify   fails where the committed table differs

Only facts are taken: names of types and fields, their shapes, merge keys and kinds of lists. The notation is
explained in `vacate.embedded.schema.table`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

from vacate.embedded.registry.kinds import SERVED_KINDS

TABLE = Path(__file__).parent.parent / "src/vacate/embedded/schema/table.txt"
Definition = dict[str, Any]

FURTHER_KINDS = (("policy", "v1", "Eviction"), ("", "v1", "Binding"), ("autoscaling", "v1", "Scale"),
                 ("authentication.k8s.io", "v1", "TokenRequest"))  # fmt: skip
FURTHER_TYPES = ("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions",)
# Served under an older version too, and options that every group shares.
ALIASES = ("kind policy/v1beta1 Eviction policy.v1.Eviction", "kind v1 DeleteOptions meta.v1.DeleteOptions")
SCALARS = {
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": "time",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": "microtime",
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "intorstring",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "any",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
}
FORMATS = {
    ("string", ""): "string",
    ("string", "byte"): "bytes",
    ("boolean", ""): "bool",
    ("integer", "int32"): "int32",
    ("integer", "int64"): "int64",
    ("number", "double"): "float",
    ("object", ""): "any",
}
INTERCEPTOR = "io.k8s.api.core.v1.EvictionInterceptor"
HANDLER = "io.k8s.api.core.v1.LifecycleHandler"
PRE_STOP = "io.k8s.api.core.v1.PreStopHandler"
DELIVERY = "io.k8s.api.core.v1.TerminationReasonDelivery"
META = "io.k8s.apimachinery.pkg.apis.meta.v1"
OWN_TYPES: dict[str, Definition] = {
    INTERCEPTOR: {"properties": {"name": {"type": "string"}}, "required": ["name"]},
    DELIVERY: {"properties": {"env": {"type": "string"}, "header": {"type": "string"}}},
}
OWN_FIELDS: dict[str, dict[str, Definition]] = {
    "io.k8s.api.core.v1.PodSpec": {
        "evictionInterceptors": {
            "type": "array",
            "items": {"$ref": f"#/$defs/{INTERCEPTOR}"},
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-list-type": "map",
            "x-kubernetes-patch-merge-key": "name",
            "x-kubernetes-patch-strategy": "merge",
        }
    },
    PRE_STOP: {"reasonDelivery": {"$ref": f"#/$defs/{DELIVERY}"}},
    "io.k8s.api.core.v1.Lifecycle": {"preStop": {"$ref": f"#/$defs/{PRE_STOP}"}},
    f"{META}.DeleteOptions": {"reason": {"type": "string"}},
    f"{META}.ObjectMeta": {"reason": {"type": "string"}},
}
# Fields of releases after the one that the embedded server imitates, whose types nothing else has.
LATER_FIELDS = {"io.k8s.api.batch.v1.JobSpec": ("scheduling",)}


def definitions() -> tuple[str, dict[str, Definition]]:
    """The newest release that the package knows, and its definitions with our own beside them."""
    root = files("kubernetes_validate") / "kubernetes-json-schema"
    folders = {
        tuple(map(int, folder.name[1:].removesuffix("-local").split("."))): folder
        for folder in root.iterdir()
        if folder.name.endswith("-local")
    }
    newest = max(folders)
    found: dict[str, Definition] = json.loads((folders[newest] / "_definitions.json").read_text())["$defs"]
    found |= OWN_TYPES | {PRE_STOP: found[HANDLER]}
    for name, fields in OWN_FIELDS.items():
        found[name] = {**found[name], "properties": {**found[name]["properties"], **fields}}
    for name, later in LATER_FIELDS.items():
        kept = {key: field for key, field in found[name]["properties"].items() if key not in later}
        found[name] = {**found[name], "properties": kept}
    return ".".join(map(str, newest)), found


def render() -> str:
    """The whole table."""
    release, known = definitions()
    by_kind = {
        (one["group"], one["version"], one["kind"]): name
        for name, definition in known.items()
        for one in definition.get("x-kubernetes-group-version-kind", ())
        if len(definition["x-kubernetes-group-version-kind"]) == 1
    }
    wanted = sorted(
        {(kind.group, kind.version, kind.kind) for kind in SERVED_KINDS if not kind.custom} | {*FURTHER_KINDS}
    )
    roots = [by_kind[one] for one in wanted]
    lines = [f"# Kubernetes {release}; written by hack/gen_schema.py"]
    for (group, version, kind), name in zip(wanted, roots, strict=True):
        lines.append(f"kind {f'{group}/{version}' if group else version} {kind} {short(name)}")
    lines += ALIASES
    for name in sorted(reachable(known, [*roots, *FURTHER_TYPES])):
        lines.append(f"type {short(name)}")
        required = known[name].get("required", ())
        lines += (
            f" {field} {' '.join(notes(value, field in required))}"
            for field, value in sorted(known[name]["properties"].items())
        )
    return "\n".join(lines) + "\n"


def reachable(known: dict[str, Definition], roots: list[str]) -> set[str]:
    """The structs that the roots are made of."""
    found: set[str] = set()
    left = list(roots)
    while left:
        name = left.pop()
        if name in found or name in SCALARS:
            continue
        found.add(name)
        for field in known[name]["properties"].values():
            left.extend(references(field))
    return found


def references(field: Definition) -> Iterator[str]:
    if "$ref" in field:
        yield field["$ref"].rpartition("/")[2]
    for inner in ("items", "additionalProperties"):
        if inner in field:
            yield from references(field[inner])


def shape(field: Definition) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return SCALARS.get(name) or f"@{short(name)}"
    kinds = [field["type"]] if isinstance(field["type"], str) else field["type"]
    (kind,) = (one for one in kinds if one != "null")
    if kind == "array":
        return f"[]{shape(field['items'])}"
    if kind == "object" and "additionalProperties" in field:
        return f"{{}}{shape(field['additionalProperties'])}"
    return FORMATS[kind, field.get("format", "")]


def notes(field: Definition, required: bool) -> Iterator[str]:
    yield shape(field)
    if strategy := field.get("x-kubernetes-patch-strategy"):
        yield f"patch={strategy}"
    if key := field.get("x-kubernetes-patch-merge-key"):
        yield f"key={key}"
    if kind := field.get("x-kubernetes-list-type"):
        yield f"list={kind}"
    if keys := field.get("x-kubernetes-list-map-keys"):
        yield f"keys={','.join(keys)}"
    if required:
        yield "required"


def short(name: str) -> str:
    return name.removeprefix("io.k8s.").replace("apimachinery.pkg.apis.", "").removeprefix("api.")


def main() -> int:
    table = render()
    if "--verify" not in sys.argv[1:]:
        TABLE.write_text(table)
        return 0
    if TABLE.read_text() == table:
        return 0
    print(f"{TABLE} is stale: run python hack/gen_schema.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
