"""The definition and the committed tables of fields are what structs and embedded server have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.yaml_text import yaml_document
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.crds.definition import definition_for
from vacate.embedded.apiserver.printers.registry import printer_of
from vacate.install.manifest import manifest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
CRD = yaml_document(manifest(definition_for(EVICTIONREQUESTS)))
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def test_what_is_committed_is_what_the_generator_writes() -> None:
    command = [sys.executable, str(ROOT / "hack" / "gen_fields.py"), "--verify"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_it_is_the_kind_of_the_table() -> None:
    names, kind = CRD["spec"]["names"], EVICTIONREQUESTS
    assert CRD["metadata"]["name"] == kind.resource
    assert (CRD["spec"]["group"], VERSION["name"]) == (kind.group, kind.version)
    assert (names["kind"], names["plural"], names["shortNames"]) == (kind.kind, kind.plural, ["evreq"])
    assert CRD["metadata"]["annotations"]["api-approved.kubernetes.io"].startswith("unapproved, ")
    assert VERSION["subresources"] == {"status": {}}


def test_it_has_the_columns_of_the_embedded_server() -> None:
    shown = [column.name for column in printer_of(EVICTIONREQUESTS).columns]
    assert ["Name", *(one["name"] for one in VERSION["additionalPrinterColumns"])] == shown


def walk(schema: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    found = [(path, schema)]
    for key, inner in schema.get("properties", {}).items():
        found += walk(inner, f"{path}.{key}")
    return found + (walk(schema["items"], f"{path}[]") if "items" in schema else [])


@pytest.mark.parametrize(
    ("path", "schema"), walk(SCHEMA), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_field_is_described_and_bounded(path: str, schema: dict[str, Any]) -> None:
    assert schema["type"] in ("object", "array", "string", "integer", "boolean")
    if path != ".metadata":
        assert schema["description"].endswith(".")
    if schema["type"] == "array":
        assert schema["maxItems"] == 100
        assert schema["x-kubernetes-list-type"] == "map"
        assert set(schema["x-kubernetes-list-map-keys"]) <= set(schema["items"]["required"])
    if schema["type"] == "string" and path.startswith((".spec", ".status")):
        assert {"maxLength", "enum", "format"} & schema.keys()
    if schema["type"] == "integer":
        assert schema["format"] in ("int32", "int64")


def test_defaults() -> None:
    defaults = {path: schema["default"] for path, schema in walk(SCHEMA) if "default" in schema}
    assert defaults == {
        ".spec.type": "Soft",
        ".spec.heartbeatDeadlineSeconds": 1800,
        ".status": {},
        ".status.message": "",
        ".status.evictionRequestCancellationPolicy": "Allow",
    }


def test_nothing_is_lost_between_struct_and_schema() -> None:
    assert list(SCHEMA["properties"])[2:] == list(EvictionRequest.__struct_encode_fields__)
    spec = SCHEMA["properties"]["spec"]["properties"]
    assert list(spec) == ["type", "target", "requesters", "interceptors", "heartbeatDeadlineSeconds"]
