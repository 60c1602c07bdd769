"""Admission policies of a whole server: its own, where responders are bound, and those of an installation."""

from __future__ import annotations

from collections.abc import AsyncIterator

import orjson
import pytest
import pytest_asyncio
from multidict import CIMultiDict

from vacate.api.identity import MASTERS, StatusAuthority
from vacate.api.kinds import (
    CONFIGMAPS,
    LIFECYCLE_EVICTIONS,
    VALIDATINGADMISSIONPOLICIES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
)
from vacate.api.objects import Obj
from vacate.clock import SystemClock
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import seeded_entropy
from vacate.features import parse_feature_gates
from vacate.install.objectkinds import path_of
from vacate.install.objects import objects
from vacate.install.settings import Settings, ShutdownAgent
from vacate.wire.message import Peer, Request

pytestmark = pytest.mark.unit
BOUND = {"prepare.first.example.com": ("backup",)}


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ApiServer]:
    gates, authority = parse_feature_gates("LifecycleAPI=true"), StatusAuthority(interceptors=BOUND)
    parts = ServerParts(MemoryLog(), SystemClock(), seeded_entropy(1), gates=gates, authority=authority)
    opened = await open_server(parts)
    yield opened
    await opened.storage.store.aclose()


async def ask(server: ApiServer, user: str, method: str, path: str, body: Obj) -> Obj:
    form = "application/merge-patch+json" if method == "PATCH" else "application/json"
    headers, peer = CIMultiDict({"Content-Type": form}), Peer(user, (MASTERS,))
    answer = await server.handle(Request(method, path, headers=headers, body=orjson.dumps(body), peer=peer))
    assert isinstance(answer.body, bytes)
    found: Obj = orjson.loads(answer.body)
    return found


async def test_it_is_held_without_being_stored(server: ApiServer) -> None:
    target = {"pod": {"name": "web", "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}}
    body = {"metadata": {"name": "one"}, "spec": {"target": target}}
    made = await ask(server, "admin", "POST", LIFECYCLE_EVICTIONS.collection_path("default"), body)
    assert made["kind"] == "Eviction", made
    change: Obj = {
        "status": {"observedGeneration": 1, "requesters": [{"name": "a.example.com/b", "intent": "Eviction"}]}
    }
    path = LIFECYCLE_EVICTIONS.object_path("one", "default", "status")
    refused = await ask(server, "alice", "PATCH", path, change)
    assert refused["code"] == 403, refused
    policy = (
        "ValidatingAdmissionPolicy 'vacate-responder-authority' with binding 'vacate-responder-authority'"
    )
    assert f"{policy} denied request: status: while responders are bound" in refused["message"]
    controller, *_ = StatusAuthority().controllers
    assert (await ask(server, controller, "PATCH", path, change))["kind"] == "Eviction"
    stored = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    assert (await ask(server, "admin", "GET", stored, {}))["items"] == []


async def test_those_of_an_installation_can_be_stored(server: ApiServer) -> None:
    settings = Settings(
        image="vacate:0",
        interceptor_accounts=BOUND,
        guard_unlabelled=True,
        eviction_bridge=True,
        termination_reasons=True,
        shutdown_agent=ShutdownAgent(),
        lifecycle=True,
    )
    kinds = {VALIDATINGADMISSIONPOLICIES.kind, VALIDATINGADMISSIONPOLICYBINDINGS.kind}
    rendered = [one for one in objects(settings) if one["kind"] in kinds]
    assert len(rendered) > 60
    for one in rendered:
        answer = await ask(server, "admin", "POST", path_of(one, collection=True), one)
        assert answer["kind"] == one["kind"], answer
    body = {"metadata": {"name": "c"}}
    made = await ask(server, "admin", "POST", CONFIGMAPS.collection_path("default"), body)
    assert made["kind"] == "ConfigMap", made
