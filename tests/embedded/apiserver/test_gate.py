"""A kind behind a feature gate: absent while the gate is closed, and unharmed once it is open again."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from multidict import CIMultiDict

from support.embedded import ADMIN
from vacate.api.kinds import EVICTIONREQUESTS, PODS
from vacate.api.objects import Obj
from vacate.clock import SystemClock
from vacate.embedded.apiserver.server import ApiServer
from vacate.embedded.cluster.apiserver import ServerParts, open_server
from vacate.embedded.store.memory import MemoryLog
from vacate.entropy import seeded_entropy
from vacate.features import FeatureGates, parse_feature_gates
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

CLOSED = parse_feature_gates(
    "EvictionRequestAPI=false,NodeMaintenance=false,Descheduling=false,Fencing=false"
)
GROUP = EVICTIONREQUESTS.group
ANNOTATION = "interceptor.evictionrequest.coordination.k8s.io/priority_a"


async def opened(log: MemoryLog, gates: FeatureGates, **more: Any) -> ApiServer:
    return await open_server(ServerParts(log, SystemClock(), seeded_entropy(1), gates=gates, **more))


async def ask(server: ApiServer, method: str, path: str, body: Obj | None = None) -> Response:
    headers = CIMultiDict({"Content-Type": "application/json"})
    sent = b"" if body is None else orjson.dumps(body)
    return await server.handle(Request(method, path, headers=headers, body=sent, peer=ADMIN))


def read(response: Response) -> Obj:
    assert isinstance(response.body, bytes)
    found: Obj = orjson.loads(response.body)
    return found


def a_pod(name: str, **annotations: str) -> Obj:
    listed = [{"name": "a.example.com"}]
    spec = {"containers": [{"name": "c", "image": "i"}], "evictionInterceptors": listed}
    return {"metadata": {"name": name, "annotations": annotations}, "spec": spec}


async def test_off_and_on_again() -> None:
    log = MemoryLog()
    server = await opened(log, FeatureGates())
    pods, requests = PODS.collection_path("default"), EVICTIONREQUESTS.collection_path("default")
    uid = read(await ask(server, "POST", pods, a_pod("web")))["metadata"]["uid"]
    spec = {"target": {"podRef": {"name": "web", "uid": uid}}, "requesters": [{"name": "a"}]}
    identity = {"apiVersion": EVICTIONREQUESTS.api_version, "kind": "EvictionRequest"}
    created = await ask(server, "POST", requests, {**identity, "metadata": {"name": uid}, "spec": spec})
    made = read(created)
    assert created.status == 201
    await server.storage.store.aclose()

    server = await opened(log, CLOSED)
    for path in (requests, f"{requests}/{uid}", f"/apis/{GROUP}", f"/apis/{GROUP}/v1alpha1"):
        answer = await ask(server, "GET", path)
        assert (answer.status, answer.body) == (404, b"404 page not found\n")
    groups = [group["name"] for group in read(await ask(server, "GET", "/apis"))["groups"]]
    assert GROUP not in groups
    assert read(await ask(server, "GET", "/openapi/v3")) == {"paths": {}}
    # A new pod loses the field, an old one keeps it, and annotations are nobody's business.
    new = read(await ask(server, "POST", pods, a_pod("new", **{ANNOTATION: "nonsense"})))
    assert "evictionInterceptors" not in new["spec"]
    assert read(await ask(server, "GET", f"{pods}/web"))["spec"]["evictionInterceptors"]
    await server.storage.store.aclose()

    server = await opened(log, FeatureGates())
    assert read(await ask(server, "GET", f"{requests}/{uid}")) == made
    # What came in while the gate was closed does not stand in the way of changes of other things.
    new = read(await ask(server, "GET", f"{pods}/new"))
    new["metadata"]["labels"] = {"a": "b"}
    assert (await ask(server, "PUT", f"{pods}/new", new)).status == 200
    new = read(await ask(server, "GET", f"{pods}/new"))
    new["metadata"]["annotations"][ANNOTATION] = "other nonsense"
    assert (await ask(server, "PUT", f"{pods}/new", new)).status == 422
    await server.storage.store.aclose()


async def test_more_names_of_kubernetes_can_be_allowed() -> None:
    wanted = a_pod("web")
    wanted["spec"]["evictionInterceptors"] = [{"name": "actor-a.k8s.io"}]
    for allowed, code in (((), 422), (("actor-a.k8s.io",), 201)):
        server = await opened(MemoryLog(), FeatureGates(), allowed_interceptors=allowed)
        assert (await ask(server, "POST", PODS.collection_path("default"), wanted)).status == code
        await server.storage.store.aclose()
