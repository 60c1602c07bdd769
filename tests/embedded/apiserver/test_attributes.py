from __future__ import annotations

import pytest

from vacate.embedded.apiserver.selectableattributes import project, selectable
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.store.types import Key

pytestmark = pytest.mark.unit


def test_labels_and_selectable_fields_of_a_pod() -> None:
    value = (
        b'{"metadata":{"name":"p","labels":{"app":"web"}},"spec":{"nodeName":"n1","hostNetwork":true,'
        b'"containers":[{"name":"c"}]},"status":{"phase":"Running","podIP":"10.0.0.1"}}'
    )
    found = project(Key("pods", "ns", "p"), value)
    assert found.labels == {"app": "web"}
    assert found.fields["spec.nodeName"] == "n1"
    assert found.fields["spec.hostNetwork"] == "true"
    assert found.fields["status.phase"] == "Running"
    assert found.fields["metadata.name"] == "p"
    assert found.fields["metadata.namespace"] == "ns"


def test_missing_fields_read_as_the_typed_server_reads_them() -> None:
    pod = project(Key("pods", "ns", "p"), b'{"metadata":{}}')
    assert pod.labels == {}
    assert pod.fields["spec.nodeName"] == ""
    assert pod.fields["spec.hostNetwork"] == "false"
    node = project(Key("nodes", "", "n"), b'{"metadata":{},"spec":{}}')
    assert node.fields["spec.unschedulable"] == "false"
    assert "metadata.namespace" not in node.fields


@pytest.mark.parametrize(
    ("body", "source"),
    [
        (b'{"metadata":{},"source":{"component":"kubelet"}}', "kubelet"),
        (b'{"metadata":{},"source":{},"reportingComponent":"sched"}', "sched"),
        (b'{"metadata":{}}', ""),
    ],
)
def test_the_source_of_an_event_is_its_component(body: bytes, source: str) -> None:
    assert project(Key("events", "ns", "e"), body).fields["source"] == source


@pytest.mark.parametrize("kind", [kind for kind in SERVED_KINDS if kind.stored], ids=lambda kind: kind.plural)
def test_every_selectable_field_of_every_kind_is_projected(kind: object) -> None:
    found = project(Key(kind.resource, "ns" if kind.namespaced else "", "x"), b'{"metadata":{}}')  # type: ignore[attr-defined]
    assert selectable(kind) == set(found.fields)  # type: ignore[arg-type]
