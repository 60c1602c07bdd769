"""A status belongs to the object that it was decided about, not to the next one of that name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from support.embedded import T0, Answer, Embedded, a_pod, embedded
from vacate.api.kinds import DESCHEDULINGPOLICIES, FENCINGPOLICIES, NODEMAINTENANCES, PODS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.types.deschedulingpolicy import DeschedulingPolicy
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.client.requests import MERGE_PATCH
from vacate.descheduling.plan import DeschedulingPlan
from vacate.descheduling.report import policy_status
from vacate.fencing.report import status_of as fencing_status
from vacate.kube.patches import guarded, merge_status_patch
from vacate.maintenance.model import MaintenancePlan
from vacate.maintenance.report import status_of as maintenance_status

pytestmark = pytest.mark.unit

META = {
    "name": "a",
    "uid": "u",
    "resourceVersion": "7",
    "generation": 1,
    "creationTimestamp": "2026-03-01T11:00:00Z",
}


@dataclass(frozen=True)
class Decided:
    """A kind, an object's spec, and the status that its controller decides upon."""

    kind: Kind
    struct: type[Any]
    spec: Obj
    status: Callable[[Any], Any]

    async def stored(self, server: Embedded, uid: str) -> Obj:
        return await server.seed(self.kind, {"metadata": {**META, "uid": uid}, "spec": self.spec})

    def patch(self, obj: Obj) -> Obj:
        """What its controller writes who has read the object."""
        read = msgspec.convert(obj, self.struct)
        made = merge_status_patch(read.metadata, read.status, self.status(read))
        assert made is not None
        return made

    async def write(self, server: Embedded, obj: Obj) -> Answer:
        path = self.kind.object_path("a", subresource="status")
        return await server.ask("PATCH", path, self.patch(obj), content_type=MERGE_PATCH)


KINDS = [
    Decided(
        NODEMAINTENANCES,
        NodeMaintenance,
        {"nodes": ["node-1"]},
        lambda one: maintenance_status(one, MaintenancePlan(T0), T0),
    ),
    Decided(
        DESCHEDULINGPOLICIES,
        DeschedulingPolicy,
        {"rules": ["NodeTaints"], "mode": "Report"},
        lambda one: policy_status(one, DeschedulingPlan(), {}),
    ),
    Decided(
        FENCINGPOLICIES,
        FencingPolicy,
        {"mode": "Automatic"},
        lambda one: fencing_status(one, [], T0),
    ),
]


@pytest.mark.parametrize("one", KINDS, ids=lambda one: one.kind.kind)
async def test_an_object_that_was_recreated_meanwhile_is_a_conflict(one: Decided) -> None:
    async with embedded() as server:
        old = await one.stored(server, "old")
        assert (await server.ask("DELETE", one.kind.object_path("a"))).code == 200
        new = await one.stored(server, "new")
        assert (await one.write(server, old)).code == 409
        assert server.stored(one.kind, "a") == new


@pytest.mark.parametrize("one", KINDS, ids=lambda one: one.kind.kind)
def test_the_patch_names_the_object_and_its_version(one: Decided) -> None:
    assert one.patch({"metadata": META, "spec": one.spec})["metadata"] == {"uid": "u", "resourceVersion": "7"}


@pytest.mark.parametrize(
    ("kind", "obj", "subresource", "patch"),
    [
        (PODS, a_pod("a", meta={"uid": None}), "status", {"status": {"phase": "Failed"}}),
        (NODEMAINTENANCES, {"spec": {"nodes": ["n"]}}, "", {"metadata": {"finalizers": ["example.com/a"]}}),
    ],
    ids=["status of a pod", "metadata of a maintenance"],
)
async def test_a_successor_of_the_same_version_is_left_alone(
    kind: Kind, obj: Obj, subresource: str, patch: Obj
) -> None:
    """Versions are given again after the restore of a backup: only the uid distinguishes the two.

    Where it is not compared, in the status of custom resources, nothing does.
    """
    namespace = "d" if kind.namespaced else None
    path = kind.object_path("a", namespace, subresource)
    async with embedded() as server, embedded() as restored:
        meta = {**META, **obj.get("metadata", {})}
        old = await server.seed(kind, {**obj, "metadata": {**meta, "uid": "old"}})
        new = await restored.seed(kind, {**obj, "metadata": {**meta, "uid": "new"}})
        assert dig(old, "metadata", "resourceVersion") == dig(new, "metadata", "resourceVersion")
        change = guarded(old["metadata"], patch)
        assert (await restored.ask("PATCH", path, change, content_type=MERGE_PATCH)).code == 422
        assert restored.stored(kind, "a") == new
        assert (await server.ask("PATCH", path, change, content_type=MERGE_PATCH)).code == 200
