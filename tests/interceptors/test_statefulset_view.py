"""Who waits and who was handed over, while the caches lag behind what was decided."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from vacate.api.kinds import EVICTIONREQUESTS, PODS, STATEFULSETS
from vacate.api.types import Pod, StatefulSet
from vacate.api.types.evictionrequest import ADMITTED_STAMP, EvictionRequest
from vacate.cache.indexes import CONTROLLER, by_controller
from vacate.clock import SystemClock
from vacate.features import FeatureGates
from vacate.interceptors.statefulset.view import StatefulSetView
from vacate.runtime.dependencies import Dependencies

pytestmark = pytest.mark.unit

OURS, LATER = "statefulset.apps.k8s.io", "backup.example.com"
DB = msgspec.convert({"metadata": {"name": "db", "namespace": "n", "uid": "set"}}, StatefulSet)
OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "set", "controller": True}


class Cache:
    """The objects of a kind, and how they are read."""

    def __init__(self) -> None:
        self.objects: dict[str, Any] = {}

    @property
    def reader(self) -> Cache:
        return self

    def get(self, _: str, name: str) -> Any:
        return self.objects.get(name)

    def by_index(self, index: str, value: str) -> list[Any]:
        assert index == CONTROLLER
        return [one for one in self.objects.values() if value in by_controller(one)]


def pod(ordinal: int) -> Pod:
    meta = {"name": f"db-{ordinal}", "namespace": "n", "uid": f"u{ordinal}", "ownerReferences": [OWNER]}
    return msgspec.convert({"metadata": meta}, Pod)


def request(ordinal: int, active: str, *, completed: bool = False) -> EvictionRequest:
    spec = {
        "target": {"podRef": {"name": f"db-{ordinal}", "uid": f"u{ordinal}"}},
        "requesters": [{"name": "drain.example.com"}],
        "interceptors": [{"name": LATER}, {"name": OURS}],
    }
    status = {"activeInterceptorName": active, "activeInterceptorCompleted": completed}
    stamp = {ADMITTED_STAMP: "true"}
    meta = {"name": f"u{ordinal}", "namespace": "n", "uid": f"r{ordinal}", "annotations": stamp}
    return msgspec.convert({"metadata": meta, "spec": spec, "status": status}, EvictionRequest)


def test_what_was_decided_counts_before_the_cache_shows_it() -> None:
    caches = {kind.resource: Cache() for kind in (PODS, STATEFULSETS, EVICTIONREQUESTS)}
    informers = SimpleNamespace(
        informer=lambda kind, *_, **__: caches[kind.resource],
        requests=lambda dialect: caches[dialect.kind.resource],
    )
    deps = SimpleNamespace(client=None, clock=SystemClock(), informers=informers, gates=FeatureGates())
    view = StatefulSetView(cast(Dependencies, deps))
    pods, requests = caches[PODS.resource].objects, caches[EVICTIONREQUESTS.resource].objects
    for ordinal in (0, 1, 2):
        pods[f"db-{ordinal}"] = pod(ordinal)
    requests["u0"] = request(0, OURS)
    assert (set(view.queue(DB).handed_over), set(view.queue(DB).waiting)) == (set(), {0})
    view.grant(DB, pods["db-0"])
    requests["u2"] = request(2, OURS)  # a higher ordinal comes while the write of the first is under way
    assert (set(view.queue(DB).handed_over), set(view.queue(DB).waiting)) == ({0}, {2})
    for shown in (request(0, OURS, completed=True), request(0, LATER), request(0, LATER, completed=True)):
        requests["u0"] = shown
        assert set(view.queue(DB).handed_over) == {0}
    pods["db-0"] = msgspec.structs.replace(
        pods["db-0"], metadata=msgspec.structs.replace(pods["db-0"].metadata, uid="new")
    )
    assert set(view.queue(DB).handed_over) == set()
