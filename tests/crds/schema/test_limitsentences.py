"""`kubectl explain` shows defaults and limits as part of the descriptions."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.crds.catalogue import DECLARATIONS
from vacate.crds.definition import definition_for
from vacate.crds.schema import structural_schema
from vacate.crds.schema.limitsentences import describe_limits, limit_sentences
from vacate.embedded.apiserver.openapi.document import document

pytestmark = pytest.mark.unit

DEADLINE = (
    "How long the active interceptor may go without a heartbeat, in seconds. It then times out, and the "
    "turn is handed over to the next one; after the last one the pod is evicted. Immutable. "
    "Defaults to 1800. Must be 600 to 86400."
)


def defined(kind: Kind) -> Obj:
    (version,) = definition_for(kind)["spec"]["versions"]
    schema: Obj = version["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: Obj, path: str = "") -> Iterator[tuple[str, Obj]]:
    for name, field in schema.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field.get("items", field), f"{path}.{name}")


@pytest.mark.parametrize(
    ("field", "sentences"),
    [
        ({"default": 60, "minimum": 10, "maximum": 600}, ["Defaults to 60.", "Must be 10 to 600."]),
        ({"format": "int32", "minimum": 0, "maximum": 2**31 - 1}, ["Must be at least 0."]),
        ({"format": "int32", "minimum": -(2**31), "maximum": 2**31 - 1}, []),
        ({"minLength": 1, "maxLength": 253}, ["Must have 1 to 253 characters."]),
        ({"default": "", "maxLength": 5}, ["Must have at most 5 characters."]),
        ({"default": "Soft", "enum": ["Soft"]}, ["Defaults to Soft."]),
        ({"default": {}}, []),
        ({"minItems": 1, "maxItems": 3}, ["Must have 1 to 3 items."]),
        ({"maxProperties": 32}, ["Must have at most 32 entries."]),
        (
            {
                "x-kubernetes-int-or-string": True,
                "minimum": 1,
                "maximum": 9,
                "maxLength": 4,
                "default": "51%",
            },
            ["Defaults to 51%.", "A number must be 1 to 9."],
        ),
    ],
)
def test_the_sentences_about_a_field(field: Obj, sentences: list[str]) -> None:
    assert list(limit_sentences(field)) == sentences


def test_items_of_lists_are_described_too() -> None:
    schema = copy.deepcopy(structural_schema(FencingPolicy))
    describe_limits(schema)
    node = schema["properties"]["status"]["properties"]["nodes"]["items"]["properties"]["name"]
    assert node["description"] == "Name of the node. Must have at most 253 characters."


def test_definition_and_openapi_say_the_same() -> None:
    served = document([EVICTIONREQUESTS])["components"]["schemas"]
    (schema,) = [one for name, one in served.items() if name.endswith(".EvictionRequest")]
    for found in (defined(EVICTIONREQUESTS), schema):
        assert (
            found["properties"]["spec"]["properties"]["heartbeatDeadlineSeconds"]["description"] == DEADLINE
        )


@pytest.mark.parametrize("kind", [one.kind for one in DECLARATIONS], ids=lambda kind: kind.kind)
def test_every_field_of_every_kind_is_described_and_every_duration_has_a_unit(kind: Kind) -> None:
    descriptions = {path: field.get("description", "") for path, field in fields(defined(kind))}
    del descriptions[".metadata"]  # a definition cannot describe it
    assert [path for path, text in descriptions.items() if not text.endswith(".")] == []
    durations = {path: text for path, text in descriptions.items() if path.endswith("Seconds")}
    assert [path for path, text in durations.items() if " seconds" not in text] == []
