"""The kinds of our own that have no namespace, by every verb, as custom resources are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from support.arms.arm import JSON_PATCH, Obj
from support.arms.caseapi import CaseApi, names, types_and_names
from support.arms.kube import REAL
from support.arms.marks import CONFORMANCE, without
from vacate.api.kinds import DESCHEDULINGPOLICIES, FENCINGPOLICIES, NODEMAINTENANCES, Kind


@dataclass(frozen=True)
class Sample:
    """One kind: the least that it accepts, and changes that it accepts, each as (field, value).

    `counts` are the fields of its status that are zero where nobody has written them.
    """

    kind: Kind
    spec: Obj
    default: tuple[str, Any]
    update: tuple[str, Any]
    merge: tuple[str, Any]
    json_patch: tuple[str, Any]
    patched: tuple[str, Any]
    status: Obj
    counts: tuple[str, ...]

    @property
    def nothing_yet(self) -> Obj:
        return dict.fromkeys(self.counts, 0)

    def manifest(self, api: CaseApi, base: str = "one", **labels: str) -> Obj:
        meta = {"name": api.unique(base), "labels": labels}
        return {
            "apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": meta, "spec": self.spec,
        }  # fmt: skip

    async def made(self, api: CaseApi, base: str = "one", **labels: str) -> Obj:
        return await api.given(self.kind, self.manifest(api, base, **labels))


SAMPLES = (
    Sample(
        NODEMAINTENANCES,
        spec={"nodes": ["a"]},
        default=("stage", "Drain"),
        update=("reason", "kernel"),
        merge=("maxNodes", "50%"),
        json_patch=("/spec/nodes/-", "b"),
        patched=("nodes", ["a", "b"]),
        status={"phase": "Draining", "percent": 50},
        counts=("nodesTotal", "nodesDrained", "podsTotal", "podsEvicted", "percent", "blockersTotal"),
    ),
    Sample(
        FENCINGPOLICIES,
        spec={"agent": {"command": {"program": "fence_redfish"}}},
        default=("when", "PodsWait"),
        update=("approval", "Manual"),
        merge=("minHealthy", "60%"),
        json_patch=("/spec/maxFenced", 2),
        patched=("maxFenced", 2),
        status={"message": "all report", "nodesFenced": 1},
        counts=("nodesUnreachable", "nodesFenced"),
    ),
    Sample(
        DESCHEDULINGPOLICIES,
        spec={"rules": ["NodeTaints"]},
        default=("mode", "Report"),
        update=("reason", "kernel"),
        merge=("maxTotal", 5),
        json_patch=("/spec/rules/-", "NodeAffinity"),
        patched=("rules", ["NodeTaints", "NodeAffinity"]),
        status={"message": "x", "violations": 5},
        counts=("violations", "requested", "waiting", "nowhereToGo"),
    ),
)

pytestmark = [
    CONFORMANCE,
    without(REAL, because="their definitions are not there without an installation"),
    pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind.plural),
]


async def test_create(api: CaseApi, sample: Sample) -> None:
    one = await api.create(sample.kind, sample.manifest(api))
    field, value = sample.default
    assert (one["spec"][field], one["metadata"]["generation"]) == (value, 1)
    assert one["status"] == sample.nothing_yet


async def test_get(api: CaseApi, sample: Sample) -> None:
    one = await sample.made(api)
    assert await api.get(sample.kind, one["metadata"]["name"]) == one


async def test_list(api: CaseApi, sample: Sample) -> None:
    one = await sample.made(api, of=api.unique("us"))
    await sample.made(api, "other")
    listed = await api.listed(sample.kind, {"labelSelector": f"of={api.unique('us')}"})
    assert names(listed) == [one["metadata"]["name"]]


async def test_update(api: CaseApi, sample: Sample) -> None:
    one = await sample.made(api)
    field, value = sample.update
    changed = (await api.put(sample.kind, {**one, "spec": {**one["spec"], field: value}})).ok()
    assert (changed["spec"][field], changed["metadata"]["generation"]) == (value, 2)
    name = one["metadata"]["name"]
    (await api.put(sample.kind, {**one, "metadata": {"name": name}})).refused(
        422, "Invalid", f'{sample.kind.resource} "{name}" is invalid: metadata.resourceVersion: '
        "Invalid value: 0: must be specified for an update",
    )  # fmt: skip


async def test_patch(api: CaseApi, sample: Sample) -> None:
    name = (await sample.made(api))["metadata"]["name"]
    (field, value), (patched, expected) = sample.merge, sample.patched
    path, added = sample.json_patch
    await api.given_patch(sample.kind, name, {"spec": {field: value}})
    steps = [{"op": "add", "path": path, "value": added}]
    changed = (await api.patch(sample.kind, name, steps, JSON_PATCH)).ok()
    assert (changed["spec"][field], changed["spec"][patched]) == (value, expected)


async def test_status(api: CaseApi, sample: Sample) -> None:
    one = await sample.made(api)
    changed = await api.given_status(sample.kind, one["metadata"]["name"], sample.status)
    assert changed["status"] == {**sample.nothing_yet, **sample.status}
    assert changed["metadata"]["generation"] == one["metadata"]["generation"]


async def test_watch(api: CaseApi, sample: Sample) -> None:
    since = await api.version(sample.kind)
    name = (await sample.made(api))["metadata"]["name"]
    await api.given_status(sample.kind, name, sample.status)
    await api.delete(sample.kind, name)
    query = {"resourceVersion": since, "fieldSelector": f"metadata.name={name}"}
    events = await api.watch(sample.kind, query, 3)
    assert types_and_names(events) == [("ADDED", name), ("MODIFIED", name), ("DELETED", name)]


async def test_delete(api: CaseApi, sample: Sample) -> None:
    name = (await sample.made(api))["metadata"]["name"]
    (await api.delete(sample.kind, name)).ok()
    await api.gone(sample.kind, name)


async def test_deletecollection(api: CaseApi, sample: Sample) -> None:
    one, other = await sample.made(api, of=api.unique("us")), await sample.made(api, "other")
    (await api.ask("DELETE", sample.kind, query={"labelSelector": f"of={api.unique('us')}"})).ok()
    await api.gone(sample.kind, one["metadata"]["name"])
    await api.get(sample.kind, other["metadata"]["name"])
