"""Objects by the names of Go's fields."""

from __future__ import annotations

import pytest

from vacate.api.objects import Obj
from vacate.api.schema.internal import internal_form

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("type_name", "obj", "shown"),
    [
        ("Toleration", {"key": "a"},
         {"Key": "a", "Operator": "", "Value": "", "Effect": "", "TolerationSeconds": None}),
        ("NodeSelectorTerm", {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
         {"MatchExpressions": [{"Key": "a", "Operator": "In", "Values": ["b"]}], "MatchFields": None}),
        ("ConfigMapKeySelector", {"name": "m", "key": "k"}, {"Name": "m", "Key": "k", "Optional": None}),
        ("ResourceRequirements", {"limits": {"memory": "1Gi", "cpu": "1"}},
         {"Limits": {"cpu": "1", "memory": "1Gi"}, "Requests": None, "Claims": None}),
        ("HTTPGetAction", {"port": "http"},
         {"Path": "", "Port": "http", "Host": "", "Scheme": "", "HTTPHeaders": None}),
        ("PersistentVolumeClaimTemplate", {"metadata": {"labels": {"b": "c", "a": "d"}, "name": "n"}},
         {"name": "n", "labels": {"a": "d", "b": "c"}}),
        ("TopologySpreadConstraint", {"labelSelector": {"matchExpressions": [], "matchLabels": {"a": "b"}}},
         {"LabelSelector": {"matchLabels": {"a": "b"}, "matchExpressions": []}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_shown(type_name: str, obj: Obj, shown: Obj) -> None:
    found = internal_form(type_name, obj)
    assert {key: found[key] for key in shown} == shown
    order = [key for key in found if key in shown]
    assert order == list(shown)
