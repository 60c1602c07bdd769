"""One function for each reader: takes any bytes, and raises only where a promise is broken.

A reader answers with a value or with its own error. What it returns can be written and read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from vacate.api.kinds import CONFIGMAPS, NODES, PODS
from vacate.api.objects import copied
from vacate.api.quantity import parse_quantity
from vacate.api.selectors.fields import parse_field_selector
from vacate.api.selectors.labels import parse_selector
from vacate.api.times import format_micro_time, parse_time
from vacate.embedded import schema
from vacate.embedded.apiserver.patch import ACCEPTED, apply_patch
from vacate.embedded.apiserver.request.body import parse_json, typed
from vacate.embedded.schema import protobuf
from vacate.embedded.schema import times as moments
from vacate.errors import ApiError
from vacate.webhook.admissionreview import read_review

Target = Callable[[bytes], None]

_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "labels": {"a": "b"}, "finalizers": ["x/y", "x/z"]},
    "spec": {
        "containers": [{"name": "c", "image": "i"}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
    },
}


def times(data: bytes) -> None:
    """What the server takes for a time stays the same when it is taken again, and everybody can read it."""
    text = data.decode(errors="replace")
    for micro in (False, True):
        try:
            stored = moments.canonical(text, micro=micro)
        except ValueError:
            continue
        assert moments.canonical(stored, micro=micro) == stored
        if not moments.is_zero(stored):
            moment = parse_time(stored)
            assert parse_time(format_micro_time(moment)) == moment


def json(data: bytes) -> None:
    """A body is an object of its kind, which is read again as the same, or is refused."""
    for kind in (PODS, NODES, CONFIGMAPS):
        try:
            obj = typed(parse_json(data), kind)
        except ApiError:
            continue
        assert typed(parse_json(orjson.dumps(obj)), kind) == obj


def protobufs(data: bytes) -> None:
    """The same for the form that Go clients send."""
    try:
        obj = protobuf.decode_object(data)
    except protobuf.ProtobufError:
        return
    orjson.dumps(obj)
    schema.settle((obj["apiVersion"], obj["kind"]), obj)


def patches(data: bytes) -> None:
    """A patch gives an object that can be stored, or is refused; the original stays as it was."""
    original = copied(_POD)
    for form in ACCEPTED:
        try:
            result = apply_patch(form, PODS, original, data)
        except ApiError:
            continue
        finally:
            assert original == _POD
        orjson.dumps(result)
        assert schema.settle(PODS, copied(result)) == []


def selectors(data: bytes) -> None:
    """A selector says the same when it is written and read again."""
    text = data.decode(errors="replace")
    for parse in (parse_selector, parse_field_selector):
        try:
            selector = parse(text)
        except (ApiError, ValueError):
            continue
        assert parse(str(selector)) == selector, text
        selector.matches({"a": "b"})


def quantities(data: bytes) -> None:
    """A quantity in its canonical form is the same quantity."""
    try:
        quantity = parse_quantity(data.decode(errors="replace"))
    except ValueError:
        return
    again = parse_quantity(str(quantity))
    assert str(again) == str(quantity)
    assert not again < quantity
    assert not quantity < again


def reviews(data: bytes) -> None:
    """An admission review is read, or refused as no review."""
    try:
        request = read_review(data)
        request.new()
        request.old()
    except ApiError:
        return


TARGETS: Mapping[str, Target] = {
    "times": times,
    "json": json,
    "protobuf": protobufs,
    "patches": patches,
    "selectors": selectors,
    "quantities": quantities,
    "reviews": reviews,
}

SEEDS: Mapping[str, tuple[bytes, ...]] = {
    "times": (b"2024-01-01T00:00:00Z", b"9999-12-31T23:59:59.9999999Z", b"0001-01-01T00:00:00+23:59"),
    "json": (orjson.dumps(_POD), b'{"data":{"a":"\\ud800"}}', b'{"spec":{"priority":1e308}}'),
    "protobuf": (b"k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x08\n\x06\n\x01c\x1a\x01d", b"k8s\x00"),
    "patches": (
        b'[{"op":"add","path":"/metadata/finalizers/0","value":"a/b"}]',
        b'[{"op":"move","from":"/spec","path":"/spec/x"},{"op":"test","path":"/a","value":[1.0]}]',
        b'{"spec":{"containers":[{"name":"c","$patch":"delete"}],"$setElementOrder/containers":[{"name":"c"}]}}',
        b'{"metadata":{"$retainKeys":["name"],"$deleteFromPrimitiveList/finalizers":["x/y"]}}',
    ),
    "selectors": (b"a in (b,c),!d,e!=f,g>1", b"metadata.name=a,spec.nodeName!=b\\,c", b"a notin ()"),
    "quantities": (b"1.5Gi", b"100m", b"1e308", b"-0.000000001", b"9223372036854775808", b"1E", b"1e+03"),
    "reviews": (
        orjson.dumps(
            {
                "apiVersion": "admission.k8s.io/v1",
                "kind": "AdmissionReview",
                "request": {
                    "uid": "u",
                    "operation": "CREATE",
                    "kind": {"group": "", "version": "v1", "kind": "Pod"},
                    "resource": {"group": "", "version": "v1", "resource": "pods"},
                    "userInfo": {"username": "u", "groups": ["g"]},
                    "object": {},
                    "oldObject": {},
                },
            }
        ),
    ),
}
"""Examples to start from."""
