"""Reviews of direct evictions: the codes that drains understand, and what is left in the cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import ADMIN, Embedded, a_pod, embedded
from support.reviews import Hook, ReviewAnswer, let_evict, review
from vacate.api.installednames import MANAGER
from vacate.api.kinds import EVACUATIONS, EVENTS, EVICTIONREQUESTS, LEASES, NODES, PODS
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.eviction.callers import CALLERS
from vacate.eviction.registration import PREFIXES
from vacate.features import parse_feature_gates
from vacate.webhook import evictionbridge
from vacate.webhook.reviewer import WebhookConfig
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

PATH = "/validate/evictions"
FLUSH = "flush.example.com"
TURNS = {"annotations": {f"{PREFIXES[0]}/priority_{FLUSH}": "10"}}
ALICE = {"username": "alice", "groups": ["system:authenticated"]}


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        await server.seed(PODS, a_pod(meta=TURNS))
        await let_evict(server, "alice")
        yield server


@pytest.fixture
def hook(server: Embedded) -> Hook:
    return Hook.beside(server, WebhookConfig(bridge=True))


async def evict(hook: Hook, *, options: Obj | None = None, name: str = "p", **more: Any) -> ReviewAnswer:
    body: Obj = {"metadata": {"name": name, "namespace": "d"}}
    if options is not None:
        body["deleteOptions"] = options
    more = {"user": ALICE, **more}
    sent = review("CREATE", new=body, kind=PODS, namespace="d", subresource="eviction", **more)
    return await hook.ask(PATH, sent)


async def test_a_refusal_is_429_with_a_cause_and_no_time(server: Embedded, hook: Hook) -> None:
    status = (await evict(hook)).refusal
    assert (status["code"], status["reason"]) == (429, "TooManyRequests")
    assert "retryAfterSeconds" not in status["details"]
    assert status["details"]["causes"] == [{"reason": "EvictionRequest", "message": status["message"]}]
    made = server.stored(EVICTIONREQUESTS, "uid-p")
    assert made is not None
    assert made["spec"]["requesters"] == [{"name": "alice.bridge.vacate.dev"}]
    assert made["spec"]["interceptors"] == [{"name": FLUSH}]
    assert "waiting for interceptor" in (await evict(hook)).refusal["message"]


async def test_what_passes_leaves_nothing(server: Embedded, hook: Hook) -> None:
    assert (await evict(hook, dryRun=True)).allowed
    assert (await evict(hook, options={"dryRun": ["All"]})).allowed
    assert (await evict(hook, options={"preconditions": {"uid": "other"}})).allowed
    assert (await evict(hook, name="absent")).allowed
    hook.terms = WebhookConfig()
    assert (await evict(hook)).allowed
    assert server.stored(EVICTIONREQUESTS, "uid-p") is None


async def test_a_pod_created_again_is_404(server: Embedded, hook: Hook) -> None:
    await evict(hook)
    await server.ask("DELETE", PODS.object_path("p", "d"), {"gracePeriodSeconds": 0})
    young = {**TURNS, "uid": "uid-2", "creationTimestamp": "2026-03-01T11:59:58Z"}
    await server.seed(PODS, a_pod(meta=young))
    status = (await evict(hook)).refusal
    assert (status["code"], status["reason"]) == (404, "NotFound")
    assert "left alone" in status["message"]
    assert (await evict(hook, options={"preconditions": {"uid": "uid-2"}})).refusal["code"] == 429


async def test_a_later_drain_means_the_pod_created_again(server: Embedded, hook: Hook) -> None:
    """That its caller has heard of the end of the first pod may be recorded nowhere: a webhook was away."""
    await evict(hook)
    await server.ask("DELETE", PODS.object_path("p", "d"), {"gracePeriodSeconds": 0})
    await server.seed(NODES, {"metadata": {"name": "n2"}, "spec": {"unschedulable": True}})
    young = {**TURNS, "uid": "uid-2", "creationTimestamp": "2026-03-01T11:59:58Z"}
    await server.seed(PODS, a_pod(meta=young, spec={"nodeName": "n2"}))
    assert (await evict(hook)).refusal["code"] == 429
    made = server.stored(EVICTIONREQUESTS, "uid-2")
    assert made is not None
    assert made["spec"]["requesters"] == [{"name": "alice.bridge.vacate.dev"}]


async def test_the_record_of_a_request_on_its_way_out_makes_no_pod_gone(server: Embedded, hook: Hook) -> None:
    """Admission leaves requests that are being deleted to the owners of their finalizers."""
    await evict(hook)
    path = EVICTIONREQUESTS.object_path("uid-p", "d")
    held = {"metadata": {"finalizers": ["mallory.example.com/hold"]}}
    assert (await server.ask("PATCH", path, held, content_type="application/merge-patch+json")).code == 200
    assert (await server.ask("DELETE", path)).code == 200
    await server.ask("DELETE", PODS.object_path("p", "d"), {"gracePeriodSeconds": 0})
    await server.seed(
        PODS, a_pod(meta={**TURNS, "uid": "uid-2", "creationTimestamp": "2026-03-01T11:59:58Z"})
    )
    assert (await evict(hook)).refusal["code"] == 429


async def test_two_replicas_share_what_is_recorded(server: Embedded, hook: Hook) -> None:
    other = Hook.beside(server, hook.terms)
    answers = await asyncio.gather(*(evict(one) for one in (hook, other) * 5))
    assert {reply.refusal["code"] for reply in answers} == {429}
    made = server.stored(EVICTIONREQUESTS, "uid-p")
    assert made is not None
    assert len(made["spec"]["requesters"]) == 1
    before = made["metadata"]["annotations"][CALLERS]
    server.clock.move(59)
    await evict(other)
    same = server.stored(EVICTIONREQUESTS, "uid-p")
    assert same is not None
    assert same["metadata"]["annotations"][CALLERS] == before
    server.clock.move(2)
    await evict(hook)
    newer = server.stored(EVICTIONREQUESTS, "uid-p")
    assert newer is not None
    assert newer["metadata"]["annotations"][CALLERS] > before


class Hindered(InProcessTransport):
    """To a server that cannot be reached, or is slow to create anything."""

    def __init__(self, server: Embedded, *, away: bool = False) -> None:
        super().__init__(server.server, ADMIN)
        self.away = away
        self.released = asyncio.Event()

    async def send(self, request: Request) -> Response:
        if self.away:
            raise TransportError("no route")
        if request.method == "POST" and "evictionrequests" in request.path:
            await self.released.wait()
        return await super().send(request)


async def test_a_cluster_that_cannot_be_asked_for_a_while_leaves_it_to_the_failure_policy(
    server: Embedded,
) -> None:
    """A connection that breaks, as at the restart of an API server, lets no pod past its interceptors."""
    transport = Hindered(server, away=True)
    hook = Hook(Client(transport), server.clock, WebhookConfig(bridge=True))
    for _ in range(2):
        assert "not known in time: try again" in (await evict(hook)).refusal["message"]
        server.clock.move(16)
    assert (await evict(hook)).code == 503
    transport.away = False
    transport.released.set()
    assert "shows more" in (await evict(hook)).refusal["message"]
    transport.away = True
    server.clock.move(31)
    assert (await evict(hook)).refusal["code"] == 429


async def test_a_request_that_is_slow_to_be_made_is_made_behind_the_answer(
    server: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evictionbridge, "WRITE_SECONDS", 0.01)
    slow = Hindered(server)
    hook = Hook(Client(slow), server.clock, WebhookConfig(bridge=True))
    for _ in range(2):
        assert (await evict(hook)).refusal["code"] == 429
    assert server.stored(EVICTIONREQUESTS, "uid-p") is None
    slow.released.set()
    async with asyncio.timeout(60):
        while (await evict(hook, options={})).refusal["message"].find("is waiting for") < 0:
            server.clock.move(1)
    assert server.stored(EVICTIONREQUESTS, "uid-p") is not None


@pytest.mark.parametrize("allowed", [True, False])
async def test_a_lookup_that_is_slow_ends_behind_the_answer(
    server: Embedded, monkeypatch: pytest.MonkeyPatch, *, allowed: bool
) -> None:
    """Else a busy cluster would make no request at all, however often its callers try again."""
    monkeypatch.setattr(evictionbridge, "LOOKUP_SECONDS", 0.01)
    looked_up = asyncio.Event()

    class Slow(InProcessTransport):
        writes = 0
        gate = asyncio.Event()

        async def send(self, request: Request) -> Response:
            if request.method == "GET" and "/pods/" in request.path:
                await self.gate.wait()
            answer = await super().send(request)
            if "evictionrequests" in request.path and request.method == "POST":
                self.writes += 1
                looked_up.set()
            if request.path.endswith("/eviction") and answer.status >= 400:
                looked_up.set()
            return answer

    slow = Slow(server.server, ADMIN)
    hook = Hook(Client(slow), server.clock, WebhookConfig(bridge=True))
    user = ALICE if allowed else {"username": "bob", "groups": ["system:authenticated"]}
    for _ in range(3):
        assert "not known in time: try again" in (await evict(hook, user=user)).refusal["message"]
        server.clock.move(9)
    slow.gate.set()
    async with asyncio.timeout(60):
        await looked_up.wait()
    assert slow.writes == int(allowed)
    assert (server.stored(EVICTIONREQUESTS, "uid-p") is not None) == allowed


async def test_a_busy_cluster_lets_nobody_past_and_one_that_is_away_does(
    server: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evictionbridge, "LOOKUP_SECONDS", 0.01)

    class Slow(InProcessTransport):
        silent = True

        async def send(self, request: Request) -> Response:
            if self.silent:
                await asyncio.Event().wait()
            return await super().send(request)

    slow = Slow(server.server, ADMIN)
    hook = Hook(Client(slow), server.clock, WebhookConfig(bridge=True))
    assert "not known in time: try again" in (await evict(hook)).refusal["message"]
    server.clock.move(31)
    assert (await evict(hook)).code == 503
    server.clock.move(3601)
    assert "not known in time: try again" in (await evict(hook)).refusal["message"]


async def test_where_no_request_can_be_made_the_eviction_passes_with_a_warning(server: Embedded) -> None:
    class Refusing(InProcessTransport):
        async def send(self, request: Request) -> Response:
            if request.method == "POST" and "evictionrequests" in request.path:
                body = b'{"kind":"Status","status":"Failure","code":403,"reason":"Forbidden","message":"no"}'
                return Response(403, body)
            return await super().send(request)

    hook = Hook(Client(Refusing(server.server, ADMIN)), server.clock, WebhookConfig(bridge=True))
    reply = await evict(hook)
    assert reply.allowed
    assert reply.response["warnings"] == [
        "pod/p is evicted past its interceptors: it could not be requested for them: no"
    ]


async def test_a_caller_who_may_not_be_recorded_reads_who_refuses_it(server: Embedded) -> None:
    failing = Failing(server, "PATCH", 403)
    failing.times = 0
    hook = Hook(Client(failing), server.clock, WebhookConfig(bridge=True))
    await evict(hook)
    failing.times = 1
    bob = {"username": "bob", "groups": ["system:masters"]}
    refused = (await evict(hook, user=bob)).refusal
    assert refused["code"] == 429
    assert "You could not be added to who requests it" in refused["message"]
    assert "failed calling" in refused["message"]
    assert "You could not" not in (await evict(hook, user=bob)).refusal["message"]


class Failing(InProcessTransport):
    """To a server that answers some requests with an error, as when another admission webhook is away."""

    def __init__(self, server: Embedded, method: str, code: int) -> None:
        super().__init__(server.server, ADMIN)
        self.method, self.code, self.times = method, code, 10_000

    async def send(self, request: Request) -> Response:
        checks = request.path.endswith("/eviction")
        if request.method == self.method and self.times > 0 and not checks:
            self.times -= 1
            return Response(self.code, b'{"kind":"Status","status":"Failure","message":"failed calling"}')
        return await super().send(request)


@pytest.mark.parametrize("code", [429, 500, 503, 504])
async def test_a_lookup_that_fails_once_lets_nobody_past(server: Embedded, code: int) -> None:
    failing = Failing(server, "GET", code)
    failing.times = 0
    hook = Hook(Client(failing), server.clock, WebhookConfig(bridge=True))
    await evict(hook)
    failing.times = 1
    assert "waiting for interceptor" in (await evict(hook)).refusal["message"]
    failing.times = 10_000
    assert "not known in time: try again" in (await evict(hook)).refusal["message"]
    server.clock.move(31)
    assert (await evict(hook)).code == 503


@pytest.mark.parametrize("code", [500, 503])
async def test_a_request_that_cannot_be_made_for_the_moment_lets_nobody_past(
    server: Embedded, code: int
) -> None:
    failing = Failing(server, "POST", code)
    hook = Hook(Client(failing), server.clock, WebhookConfig(bridge=True))
    for _ in range(3):
        refused = (await evict(hook)).refusal
        assert refused["code"] == 429
        assert refused["message"] == (
            "the eviction of pod/p could not be requested for its interceptors yet: failed calling; try again"
        )
        server.clock.move(40)
    server.clock.move(1)
    reply = await evict(hook)
    assert reply.allowed
    assert "evicted past its interceptors" in reply.response["warnings"][0]
    failing.times = 0
    assert "is requested" in (await evict(hook)).refusal["message"]


async def test_a_request_that_is_never_made_does_not_block_a_drain_for_ever(
    server: Embedded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each creation fails, and each only after its caller was answered."""
    monkeypatch.setattr(evictionbridge, "WRITE_SECONDS", 0.01)

    class Late(InProcessTransport):
        async def send(self, request: Request) -> Response:
            if request.method == "POST" and "evictionrequests" in request.path:
                await asyncio.sleep(0.03)
                raise TransportError("no answer")
            return await super().send(request)

    hook = Hook(Client(Late(server.server, ADMIN)), server.clock, WebhookConfig(bridge=True))
    assert (await evict(hook)).refusal["code"] == 429
    async with asyncio.timeout(60):
        while not (reply := await evict(hook)).allowed:
            await asyncio.sleep(0.01)
            server.clock.move(31)
    assert "it could not be requested for them" in reply.response["warnings"][0]


async def test_a_direct_eviction_makes_and_joins_evacuations_of_pods_with_evacuators() -> None:
    """Evacuators never see an EvictionRequest: the pod would wait out their deadline unprepared."""
    gates = parse_feature_gates("EvacuationAPI=true")
    async with embedded(gates=gates) as server:
        await server.seed(PODS, a_pod(meta={"annotations": {f"{PREFIXES[1]}/priority_{FLUSH}": "10"}}))
        await let_evict(server, "alice")
        hook = Hook.beside(server, WebhookConfig(gates=gates, bridge=True))
        path, ours = EVACUATIONS.object_path("uid-p-p", "d"), f"{INSTIGATOR}alice.bridge.vacate.dev"

        async def asked(wanted: str) -> Obj:
            refused = (await evict(hook)).refusal
            assert refused["code"] == 429
            assert wanted in refused["message"]
            assert server.stored(EVICTIONREQUESTS, "uid-p") is None
            return server.stored(EVACUATIONS, "uid-p-p") or {}

        made = await asked(f"evacuator {FLUSH} (1 of 1) prepares it first")
        assert made["metadata"]["finalizers"] == [ours]
        assert "alice.bridge.vacate.dev" in made["metadata"]["annotations"][CALLERS]
        await asked(f"pod/p is waiting for evacuator {FLUSH} (1 of 1)")
        theirs = f"{INSTIGATOR}drain.example.com"
        change = {"metadata": {"finalizers": [theirs], "annotations": {CALLERS: None}}}
        await server.ask("PATCH", path, change, content_type="application/merge-patch+json")
        joined = await asked("is waiting for evacuator")
        assert joined["metadata"]["finalizers"] == [theirs, ours]


async def test_an_open_evacuation_of_a_pod_with_interceptors_is_joined() -> None:
    gates = parse_feature_gates("EvacuationAPI=true")
    async with embedded(gates=gates) as server:
        await server.seed(PODS, a_pod(meta=TURNS))
        await let_evict(server, "alice")
        hook = Hook.beside(server, WebhookConfig(gates=gates, bridge=True))
        wanted = {
            "apiVersion": EVACUATIONS.api_version,
            "kind": EVACUATIONS.kind,
            "metadata": {"name": "uid-p-p", "finalizers": [f"{INSTIGATOR}drain.example.com"]},
            "spec": {"podRef": {"name": "p", "uid": "uid-p"}},
        }
        assert (await server.ask("POST", EVACUATIONS.collection_path("d"), wanted)).code == 201
        assert "waiting for evacuator" in (await evict(hook)).refusal["message"]
        assert server.stored(EVICTIONREQUESTS, "uid-p") is None
        kept = server.stored(EVACUATIONS, "uid-p-p")
        assert kept is not None
        assert kept["metadata"]["finalizers"][1:] == [f"{INSTIGATOR}alice.bridge.vacate.dev"]


@pytest.mark.parametrize("complete", [True, False])
async def test_a_request_that_is_kept_by_a_finalizer_counts_as_none(
    server: Embedded, hook: Hook, complete: bool
) -> None:
    """Its name is the pod's UID, so that there can be no other: a drain would wait without end."""
    since = "2026-03-01T12:00:00Z"
    over = {"type": "Complete", "status": "True", "reason": "Cancelled", "lastTransitionTime": since}
    held = {
        "metadata": {
            "name": "uid-p",
            "namespace": "d",
            "annotations": {"vacate.dev/admitted": "true"},
            "deletionTimestamp": since,
            "finalizers": ["mallory.example.com/hold"],
        },
        "spec": {
            "target": {"podRef": {"name": "p", "uid": "uid-p"}},
            "requesters": [{"name": "mallory.example.com"}],
            "interceptors": [{"name": FLUSH}],
        },
        "status": {"conditions": [over] if complete else []},
    }
    await server.seed(EVICTIONREQUESTS, held)
    waits = (await evict(hook)).refusal
    assert waits["code"] == 429
    assert "held by mallory.example.com/hold" in waits["message"]
    server.clock.move(10)
    reply = await evict(hook)
    if not complete:  # the manager has yet to cancel it: until then interceptors may be at work
        assert reply.refusal["code"] == 429
        return
    assert reply.allowed
    (warning,) = reply.response["warnings"]
    assert warning == (
        "pod/p is evicted past its interceptors: EvictionRequest uid-p was deleted 10s ago and is held by "
        "the finalizers mallory.example.com/hold, and no other can be made for the pod. "
        "`kubectl get evictionrequest/uid-p -n d -o yaml` shows it"
    )
    assert (await evict(hook)).allowed
    for _ in range(200):  # turns of the loop: it is written behind the answer
        await asyncio.sleep(0)
    (event,) = (await server.ask("GET", EVENTS.collection_path("d"))).body["items"]
    assert (event["reason"], event["type"], event["message"]) == ("InterceptorsBypassed", "Warning", warning)
    assert event["involvedObject"]["uid"] == "uid-p"
    assert hook.metrics.registry.get_sample_value("vacate_bypasses_total", {"cause": "bridge"}) == 2


async def test_an_answer_says_since_when_no_manager_works_and_stops_when_one_does(
    server: Embedded, hook: Hook
) -> None:
    async def renew(moment: str) -> None:
        patch = {"spec": {"renewTime": f"2026-03-01T{moment}.000000Z"}}
        path, kind = LEASES.object_path(MANAGER, "ops"), "application/merge-patch+json"
        assert (await server.ask("PATCH", path, patch, content_type=kind)).code == 200

    async def answer() -> str:
        server.clock.move(2.1)
        return str((await evict(hook)).refusal["message"])

    await evict(hook)
    assert "there is no Lease vacate-manager" in await answer()
    meta = {"name": MANAGER, "namespace": "ops", "uid": "u"}
    await server.seed(
        LEASES, {"metadata": meta, "spec": {"holderIdentity": "m-1", "leaseDurationSeconds": 15}}
    )
    await renew("11:59:00")
    found = await answer()
    assert "No manager works since 2026-03-01 11:59:00 UTC" in found
    assert "kubectl -n ops get pods" in found
    await renew("12:00:05")
    assert "manager" not in await answer()
    await renew("12:00:11")  # it renews on, and the request is as it was created
    assert "has reported nothing on the request for pod/p" in await answer()
