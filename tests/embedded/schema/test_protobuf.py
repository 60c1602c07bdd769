"""Objects in the protobuf form, made by a small encoder of the wire form that knows no messages."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.embedded.schema.protobuf import ProtobufError, decode_object
from vacate.embedded.schema.protobuf.table import table

pytestmark = pytest.mark.unit


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def data(field: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return (
        b"k8s\x00" + data(1, data(1, api_version) + data(2, kind)) + data(2, raw) + data(3, "") + data(4, "")
    )


def test_an_eviction_as_kubectl_drain_sends_it() -> None:
    options = number(1, 30) + data(2, data(1, "uid-1"))
    body = envelope(
        "policy/v1", "Eviction", data(1, data(1, "p") + data(3, "ns") + data(8, b"")) + data(2, options)
    )
    assert decode_object(body) == {
        "kind": "Eviction",
        "apiVersion": "policy/v1",
        "metadata": {"name": "p", "namespace": "ns"},
        "deleteOptions": {"gracePeriodSeconds": 30, "preconditions": {"uid": "uid-1"}},
    }


def test_zeros_that_json_leaves_out_are_left_out_and_others_stay() -> None:
    spec = number(1, 0) + number(5, 0)  # replicas is a pointer, minReadySeconds is not
    found = decode_object(envelope("apps/v1", "Deployment", data(2, spec)))
    assert found["spec"] == {"replicas": 0}


def test_inlined_messages_stand_among_the_fields_of_the_outer_one() -> None:
    probe = data(1, data(3, data(1, number(1, 0) + number(2, 8080)))) + number(2, 5)
    container = data(1, "c") + data(10, probe)
    found = decode_object(envelope("v1", "Pod", data(2, data(2, container))))
    (decoded,) = found["spec"]["containers"]
    assert decoded["livenessProbe"] == {"tcpSocket": {"port": 8080}, "initialDelaySeconds": 5}


def test_maps_quantities_times_and_texts_or_numbers() -> None:
    limits = data(1, data(1, "cpu") + data(2, data(1, "100m")))
    container = data(1, "c") + data(8, limits)
    meta = data(1, "p") + data(11, data(1, "app") + data(2, "web")) + data(8, number(1, 1_700_000_000))
    found = decode_object(envelope("v1", "Pod", data(1, meta) + data(2, data(2, container))))
    assert found["metadata"] == {
        "name": "p",
        "labels": {"app": "web"},
        "creationTimestamp": "2023-11-14T22:13:20Z",
    }
    assert found["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "100m"}}
    budget = data(
        2, data(1, number(1, 1) + number(2, 0) + data(3, "50%")) + data(3, number(1, 0) + number(2, 2))
    )
    found = decode_object(envelope("policy/v1", "PodDisruptionBudget", budget))
    assert found["spec"] == {"minAvailable": "50%", "maxUnavailable": 2}


def test_negative_numbers_and_unknown_fields() -> None:
    body = envelope(
        "scheduling.k8s.io/v1", "PriorityClass", number(2, -7) + data(900, "later") + number(901, 1)
    )
    assert decode_object(body)["value"] == -7


def test_micro_times_keep_their_digits() -> None:
    lease = data(2, data(4, number(1, 1_700_000_000) + number(2, 123_456_000)))
    found = decode_object(envelope("coordination.k8s.io/v1", "Lease", lease))
    assert found["spec"]["renewTime"] == "2023-11-14T22:13:20.123456Z"


def test_delete_options_are_known_in_every_group() -> None:
    found = decode_object(envelope("apps/v1", "DeleteOptions", number(1, 0) + data(4, "Foreground")))
    assert found["gracePeriodSeconds"] == 0
    assert found["propagationPolicy"] == "Foreground"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"k8s\x00",
        envelope("v1", "Unicorn", b""),
        envelope("v1", "Pod", b"\x0a"),
        envelope("v1", "Pod", b"\x0a\xff"),
        envelope("v1", "Pod", data(1, b"\xff" * 12)),
        envelope("v1", "Pod", number(1, 3)),
        envelope("v1", "Pod", data(1, data(1, b"\xff\xfe"))),
        envelope("v1", "Pod", b"\x0b"),
        envelope("v1", "Pod", b"\x00\x01"),
        envelope("v1", "Pod", data(1, data(8, number(1, 1 << 62)))),
    ],
)
def test_broken_bytes_are_refused(body: bytes) -> None:
    with pytest.raises(ProtobufError):
        decode_object(body)


@given(st.binary(max_size=200), st.sampled_from(sorted(table().kinds)))
def test_no_bytes_raise_anything_else(raw: bytes, kind: tuple[str, str]) -> None:
    with contextlib.suppress(ProtobufError):
        decode_object(envelope(*kind, raw))
