"""Both kinds of lifecycle.k8s.io by every verb, and one Eviction from its first status to its end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

import pytest

from support.arms.arm import STRATEGIC_PATCH, Obj
from support.arms.caseapi import CaseApi, names, types_and_names
from support.arms.marks import CONFORMANCE
from vacate.api.kinds import LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS, Kind
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR

pytestmark = [CONFORMANCE, pytest.mark.usefixtures("lifecycle")]

KINDS = pytest.mark.parametrize("kind", [LIFECYCLE_REQUESTS, LIFECYCLE_EVICTIONS], ids=lambda one: one.plural)
BACKUP = "backup.example.com/backup"
UID = "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"


def wanted(kind: Kind, name: str = "one", **labels: str) -> Obj:
    """An object for a pod that need not exist: the server does not look."""
    spec: Obj = {"target": {"pod": {"name": "web", "uid": UID}}}
    if kind is LIFECYCLE_REQUESTS:
        spec |= {"requester": "acme.io/drain", "intent": "Eviction"}
    meta: Obj = {"name": name, "labels": labels} if labels else {"name": name}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": spec}


def now(seconds: int = 0) -> str:
    """A time relative to the server's clock, which is this machine's."""
    return format_time(dt.datetime.now(dt.UTC) + dt.timedelta(seconds=seconds))


def turns(backup: str, evictor: str) -> list[Obj]:
    return [
        {"name": BACKUP, "priority": 10_000, "state": backup},
        {"name": EVICTOR, "priority": 100, "state": evictor},
    ]


@KINDS
async def test_create(api: CaseApi, kind: Kind) -> None:
    one = await api.create(kind, {**wanted(kind), "status": {"observedGeneration": 3}})
    assert one["metadata"]["generation"] == 1
    assert one["status"] == {}
    wrong = wanted(kind, "two")
    wrong["spec"]["target"]["pod"]["uid"] = "not-a-uid"
    (await api.post(kind, wrong)).refused(422, "Invalid")


@KINDS
async def test_get(api: CaseApi, kind: Kind) -> None:
    one = await api.given(kind, wanted(kind))
    assert await api.get(kind, "one") == one


@KINDS
async def test_list(api: CaseApi, kind: Kind) -> None:
    await api.given(kind, wanted(kind, **{"acme.io/drain": "requester"}))
    await api.given(kind, wanted(kind, "two"))
    assert names(await api.listed(kind, {"labelSelector": "acme.io/drain"})) == ["one"]


@KINDS
async def test_update(api: CaseApi, kind: Kind) -> None:
    one = await api.given(kind, wanted(kind))
    moved: Obj = {**one, "spec": {**one["spec"], "target": {"pod": {"name": "other", "uid": UID}}}}
    (await api.put(kind, moved)).refused(422, "Invalid")
    blind = {**one, "metadata": {**one["metadata"]}}
    del blind["metadata"]["resourceVersion"]
    (await api.put(kind, blind)).refused(422, "Invalid")


@KINDS
async def test_patch(api: CaseApi, kind: Kind) -> None:
    await api.given(kind, wanted(kind))
    change = {"metadata": {"labels": {"acme.io/drain": "requester"}}}
    changed = (await api.patch(kind, "one", change, STRATEGIC_PATCH)).ok()
    assert changed["metadata"]["labels"] == {"acme.io/drain": "requester"}


@KINDS
async def test_watch(api: CaseApi, kind: Kind) -> None:
    since = await api.version(kind)
    await api.given(kind, wanted(kind))
    await api.given_patch(kind, "one", {"metadata": {"labels": {"a": "b"}}})
    events = await api.watch(kind, {"resourceVersion": since, "fieldSelector": "metadata.name=one"}, 2)
    assert types_and_names(events) == [("ADDED", "one"), ("MODIFIED", "one")]


@KINDS
async def test_delete(api: CaseApi, kind: Kind) -> None:
    await api.given(kind, wanted(kind))
    (await api.delete(kind, "one")).ok()
    await api.gone(kind, "one")


@KINDS
async def test_deletecollection(api: CaseApi, kind: Kind) -> None:
    await api.given(kind, wanted(kind, a="b"))
    await api.given(kind, wanted(kind, "two"))
    (await api.ask("DELETE", kind, query={"labelSelector": "a=b"})).ok()
    await api.gone(kind, "one")
    await api.get(kind, "two")


async def test_status_of_a_request(api: CaseApi) -> None:
    kind = LIFECYCLE_REQUESTS
    await api.given(kind, wanted(kind))
    changed = (await api.patch(kind, "one", {"spec": {"intent": "Withdrawn"}}, STRATEGIC_PATCH)).ok()
    assert changed["metadata"]["generation"] == 2
    await api.given_status(kind, "one", {"observedGeneration": 2})
    (await _status(api, kind, {"observedGeneration": 1})).refused(422, "Invalid")


async def test_status_of_an_eviction(api: CaseApi) -> None:
    """First write, heartbeat, completion, hand-over and end; what a controller may not do is refused."""
    kind = LIFECYCLE_EVICTIONS
    await api.given(kind, wanted(kind))
    records = [{"name": BACKUP, "startTime": now()}, {"name": EVICTOR}]
    first: Obj = {"observedGeneration": 1, "responders": records}
    refused = await _status(api, kind, {**first, "targetResponders": turns("Inactive", "Inactive")})
    refused.refused(422, "Invalid")
    (await _status(api, kind, {**first, "targetResponders": turns("Active", "Inactive")})).ok()
    next_turn = [{"name": EVICTOR, "startTime": now()}]
    early = {"targetResponders": turns("Interrupted", "Active"), "responders": next_turn}
    (await _status(api, kind, early)).refused(422, "Invalid")
    far = {"responders": [{"name": BACKUP, "heartbeatTime": now(45)}]}
    (await _status(api, kind, far)).refused(422, "Invalid")
    report = {"name": BACKUP, "heartbeatTime": now(1), "completionTime": now(1), "message": "saved"}
    done = {"responders": [report]}
    (await _status(api, kind, done)).ok()
    handed_over = {
        "targetResponders": [{"name": BACKUP, "state": "Completed"}, {"name": EVICTOR, "state": "Active"}],
        "responders": [{"name": EVICTOR, "startTime": now()}],
    }
    changed = (await _status(api, kind, handed_over)).ok()
    assert changed["status"]["targetResponders"] == turns("Completed", "Active")
    (await _status(api, kind, {"responders": [{"name": BACKUP, "message": "again"}]})).refused(422, "Invalid")
    ended: Obj = {"conditions": [_condition("TargetEvicted", "PodDeleted")]}
    (await _status(api, kind, ended)).refused(422, "Invalid")
    ended["targetResponders"] = [{"name": EVICTOR, "state": "Interrupted"}]
    (await _status(api, kind, ended)).ok()
    ended["conditions"] = [_condition("TargetEvicted", "PodTerminal")]
    (await _status(api, kind, ended)).refused(422, "Invalid")


def _condition(sort: str, reason: str) -> Obj:
    return {"type": sort, "status": "True", "reason": reason, "message": "", "lastTransitionTime": now()}


async def _status(api: CaseApi, kind: Kind, status: Mapping[str, Any]) -> Any:
    return await api.patch(kind, "one", {"status": status}, STRATEGIC_PATCH, "status")
