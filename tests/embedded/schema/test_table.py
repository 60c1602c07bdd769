from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.embedded.schema import table
from vacate.embedded.schema.table import Shape, parse_shape

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[3]
TYPED = [kind for kind in SERVED_KINDS if not kind.custom]


def test_the_committed_table_is_what_the_generator_writes() -> None:
    command = [sys.executable, str(ROOT / "hack/gen_schema.py"), "--verify"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", TYPED, ids=lambda kind: kind.kind)
def test_every_served_kind_has_a_type(kind) -> None:  # type: ignore[no-untyped-def]
    struct = table().struct_of(kind)
    assert struct is not None
    assert struct.name.rpartition(".")[2] == kind.kind
    assert "metadata" in struct.fields


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("autoscaling/v1", "Scale"),
        ("v1", "Binding"),
        ("policy/v1", "Eviction"),
        ("policy/v1beta1", "Eviction"),
        ("v1", "DeleteOptions"),
    ],
)
def test_bodies_of_subresources_have_types(api_version: str, kind: str) -> None:
    struct = table().struct_of((api_version, kind))
    assert struct is not None
    assert struct.name.rpartition(".")[2] == kind


MERGE_KEYS = [
    ("core.v1.PodSpec", "containers", "name"),
    ("core.v1.PodSpec", "evictionInterceptors", "name"),
    ("core.v1.PodSpec", "tolerations", ""),
    ("core.v1.PodSpec", "hostAliases", "ip"),
    ("core.v1.Container", "env", "name"),
    ("core.v1.Container", "ports", "containerPort"),
    ("core.v1.Container", "volumeMounts", "mountPath"),
    ("core.v1.NodeSpec", "taints", ""),
    ("core.v1.NodeStatus", "conditions", "type"),
    ("core.v1.PodStatus", "conditions", "type"),
    ("apps.v1.DeploymentStatus", "conditions", "type"),
    ("policy.v1.PodDisruptionBudgetStatus", "conditions", "type"),
    ("meta.v1.ObjectMeta", "ownerReferences", "uid"),
]


@pytest.mark.parametrize(("struct", "field", "key"), MERGE_KEYS)
def test_merge_keys(struct: str, field: str, key: str) -> None:
    assert table().structs[struct].fields[field].merge_key == key


def test_strategies_and_list_types() -> None:
    structs = table().structs
    assert structs["core.v1.PodSpec"].fields["volumes"].patch_strategies == ("merge", "retainKeys")
    assert structs["apps.v1.DeploymentSpec"].fields["strategy"].patch_strategies == ("retainKeys",)
    assert structs["meta.v1.ObjectMeta"].fields["finalizers"].patch_strategies == ("merge",)
    assert structs["policy.v1.PodDisruptionBudgetSpec"].fields["selector"].patch_strategies == ("replace",)
    ports = structs["core.v1.Container"].fields["ports"]
    assert (ports.list_type, ports.list_keys) == ("map", ("containerPort", "protocol"))


def test_every_type_that_is_named_exists() -> None:
    structs = table().structs

    def named(shape: Shape) -> str:
        return named(shape.inner) if shape.inner else shape.type_name

    missing = [
        field.name
        for struct in structs.values()
        for field in struct.fields.values()
        if (name := named(field.shape)) and name not in structs
    ]
    assert missing == []


def test_shapes() -> None:
    assert parse_shape("{}[]string") == Shape("map", inner=Shape("list", inner=Shape("string")))
    assert parse_shape("[]@a.v1.B") == Shape("list", inner=Shape("struct", type_name="a.v1.B"))
