"""Nothing is written for a caller of the eviction API who may not evict: whoever else refuses, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import ADMIN, Embedded, a_pod, embedded
from support.reviews import Hook, ReviewAnswer, let_evict, review
from vacate.api.identity import User
from vacate.api.kinds import EVICTIONREQUESTS, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj, encode
from vacate.client.client import Client
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.eviction.callers import UnverifiedCallers
from vacate.eviction.registration import PREFIXES
from vacate.webhook import evictionbridge
from vacate.webhook.callercheck import UNSUPPORTED_SECONDS, impersonation_headers
from vacate.webhook.callerwriter import WRITE_SECONDS
from vacate.webhook.reviewer import WebhookConfig
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

FLUSH = "flush.example.com"
TURNS = {"annotations": {f"{PREFIXES[0]}/priority_{FLUSH}": "10"}, "labels": {"app": "db"}}
ALICE = {"username": "alice", "groups": ["system:authenticated"]}
DENIED = 'admission webhook "policy.example.com" denied the request: not on Fridays'


def status(code: int, message: str, **details: Any) -> Obj:
    return {"kind": "Status", "status": "Failure", "code": code, "message": message, "details": details}


NO_IMPERSONATION = status(
    403,
    'users "alice" is forbidden: User "system:serviceaccount:vacate-system:vacate-webhook" cannot '
    'impersonate resource "users" in API group "" at the cluster scope',
    name="alice",
    kind="users",
)
NO_IMPERSONATION_ON = status(
    403,
    'pods "p" is forbidden: User "system:serviceaccount:vacate-system:vacate-webhook" cannot '
    'impersonate-on:user-info:create resource "pods/eviction" in API group "" in the namespace "d"',
)


class Company(InProcessTransport):
    """To a server where something else answers to dry runs of evictions, after a while."""

    def __init__(self, server: Embedded) -> None:
        super().__init__(server.server, ADMIN)
        self.answer: Obj | None = None
        self.lost = False
        self.released: asyncio.Event | None = None
        self.sent: list[Request] = []

    async def send(self, request: Request) -> Response:
        if request.path.endswith("/eviction"):
            assert request.query["dryRun"] == "All"
            self.sent.append(request)
            if self.released is not None:
                await self.released.wait()
            if self.lost:
                raise TransportError("no route")
            if self.answer is not None:
                return Response(self.answer["code"], encode(self.answer))
        return await super().send(request)


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as server:
        await server.seed(PODS, a_pod(meta=TURNS))
        await let_evict(server, "alice", "bob")
        yield server


@pytest.fixture
def company(server: Embedded) -> Company:
    return Company(server)


@pytest.fixture
def hook(server: Embedded, company: Company) -> Hook:
    return Hook(Client(company), server.clock, WebhookConfig(bridge=True))


async def evict(hook: Hook, user: Obj | None = None, **body: Any) -> ReviewAnswer:
    new = {"metadata": {"name": "p", "namespace": "d"}, **body}
    sent = review("CREATE", new=new, kind=PODS, namespace="d", subresource="eviction", user=user or ALICE)
    return await hook.ask("/validate/evictions", sent)


def requested(server: Embedded) -> bool:
    return server.stored(EVICTIONREQUESTS, "uid-p") is not None


@pytest.mark.parametrize(
    "answer",
    [
        status(403, DENIED),
        status(400, DENIED),
        status(
            403,
            'pods "p" is forbidden: User "x\\" cannot impersonate " cannot create resource "pods/eviction"',
        ),
        status(403, f'admission webhook "w" denied the request: {NO_IMPERSONATION["message"]}'),
        status(409, "the UID in the precondition does not match"),
        status(404, 'pods "p" not found'),
        status(422, "ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no"),
        status(
            429, DENIED, causes=[{"reason": "DisruptionBudget", "message": "forged"}], retryAfterSeconds=5
        ),
        status(429, "too many requests", retryAfterSeconds=1),
    ],
    ids=lambda one: f"{one['code']} {one['message'][:12]}",
)
async def test_what_the_caller_would_be_answered_is_the_answer(
    server: Embedded, company: Company, hook: Hook, answer: Obj
) -> None:
    company.answer = answer
    refused = (await evict(hook)).refusal
    assert (refused["code"], refused["message"]) == (answer["code"], answer["message"])
    assert "retryAfterSeconds" not in refused.get("details", {})
    assert not requested(server)
    company.answer = None
    assert "is requested" in (await evict(hook)).refusal["message"]
    assert requested(server)


async def test_the_same_eviction_is_sent_as_its_caller_once_for_a_pod(
    server: Embedded, company: Company, hook: Hook
) -> None:
    options = {"gracePeriodSeconds": 7, "preconditions": {"uid": "uid-p"}}
    user = {"username": "alice", "uid": "7", "groups": ["a", "b"], "extra": {"example.com/x y": ["1", "2"]}}
    for _ in range(3):
        assert (await evict(hook, user, deleteOptions=options)).refusal["code"] == 429
        server.clock.move(61)
    (sent,) = company.sent
    assert b'"gracePeriodSeconds":7' in sent.body
    assert b'"uid":"uid-p"' in sent.body
    shown = [(key, value) for key, value in sent.headers.items() if key.startswith("Impersonate")]
    assert shown == [
        ("Impersonate-User", "alice"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-example.com%2Fx%20y", "1"),
        ("Impersonate-Extra-example.com%2Fx%20y", "2"),
    ]
    # Another caller, who joins, is another question.
    company.answer = status(403, DENIED)
    bob = {"username": "bob", "groups": []}
    assert (await evict(hook, bob)).refusal["code"] == 403
    made = server.stored(EVICTIONREQUESTS, "uid-p")
    assert made is not None
    assert made["spec"]["requesters"] == [{"name": "alice.bridge.vacate.dev"}]


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        (User("alice", ("g",)), {"Impersonate-User": "alice", "Impersonate-Group": "g"}),
        (
            User("system:serviceaccount:d:a", ("system:serviceaccounts",), "u", {"k": ("v",)}),
            {"Impersonate-User": "system:serviceaccount:d:a"},
        ),
        (User("system:node:n", ("system:nodes",), "u"), {"Impersonate-User": "system:node:n"}),
        # Named like a node or an account, and neither: API servers let nobody act as such a user.
        (User("system:node:n", ("g",)), None),
        (User("system:serviceaccount:UP:x"), None),
        # What a header cannot say is not said in another way: it would be another user.
        (User(" alice"), None),
        (User("alice\r\nImpersonate-Group: system:masters"), None),
        (User("alice", ("g ",)), None),
        (User("alice", ("",)), None),
        (User("alice", (), "", {"Key": ("v",)}), None),
        (User("alice", (), "", {"key": ("v\n",)}), None),
    ],
)
def test_the_headers_say_who_it_is_or_nothing(user: User, sent: dict[str, str] | None) -> None:
    headers = impersonation_headers(user)
    assert (None if headers is None else dict(headers)) == sent


async def test_administrators_of_everything_are_not_asked_about(
    server: Embedded, company: Company, hook: Hook
) -> None:
    company.answer = status(403, DENIED)
    assert (await evict(hook, {"username": "root", "groups": ["system:masters"]})).refusal["code"] == 429
    assert requested(server)
    assert not company.sent


@pytest.mark.parametrize("budgets", [1, 2])
async def test_a_budget_that_refuses_is_what_the_request_waits_for(
    server: Embedded, company: Company, hook: Hook, budgets: int
) -> None:
    for number in range(budgets):
        budget = {"metadata": {"name": f"b{number}", "namespace": "d"},
                  "spec": {"selector": {"matchLabels": {"app": "db"}}, "minAvailable": 1}}  # fmt: skip
        await server.seed(PODDISRUPTIONBUDGETS, {**budget, "status": {"disruptionsAllowed": 0}})
    assert "is requested" in (await evict(hook)).refusal["message"]
    assert requested(server)
    assert len(company.sent) == 1


@pytest.mark.parametrize("code", [500, 503, 0])
async def test_a_check_that_fails_writes_nothing_and_holds_a_drain_for_two_minutes(
    server: Embedded, company: Company, hook: Hook, code: int
) -> None:
    company.answer = status(code, "failed calling webhook") if code else None
    company.lost = not code
    for _ in range(3):
        refused = (await evict(hook)).refusal
        assert refused["code"] == 429
        assert "whether alice may evict it is not known yet" in refused["message"]
        server.clock.move(40)
    server.clock.move(1)
    reply = await evict(hook)
    assert reply.allowed
    assert "pod/p is evicted past its interceptors" in reply.response["warnings"][0]
    assert not requested(server)
    company.answer, company.lost = None, False
    assert "is requested" in (await evict(hook)).refusal["message"]


@pytest.mark.parametrize("refused", [True, False])
async def test_a_slow_refusal_is_heard_by_the_next_attempt(
    server: Embedded, company: Company, hook: Hook, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    """Another webhook may take longer than an API server waits for us."""
    monkeypatch.setattr(evictionbridge, "ANSWER_SECONDS", WRITE_SECONDS + 0.05)
    company.released = asyncio.Event()
    company.answer = status(403, DENIED) if refused else None
    for _ in range(2):
        assert "is not known yet" in (await evict(hook)).refusal["message"]
    assert not requested(server)
    company.released.set()
    heard = (await evict(hook)).refusal
    assert (heard["code"], requested(server)) == ((403, False) if refused else (429, True))
    assert len(company.sent) == 1


CREATES = {"apiGroups": [EVICTIONREQUESTS.group], "resources": ["evictionrequests"], "verbs": ["create"]}
DELETES = {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}


@pytest.mark.parametrize("rules", [[], [CREATES], [DELETES], [CREATES, DELETES]], ids=len)
@pytest.mark.parametrize("unverified", UnverifiedCallers)
@pytest.mark.parametrize("answer", [NO_IMPERSONATION, NO_IMPERSONATION_ON], ids=["none", "on"])
async def test_without_impersonation_only_for_those_who_could_request_it_themselves(
    server: Embedded,
    company: Company,
    hook: Hook,
    rules: list[Obj],
    unverified: UnverifiedCallers,
    answer: Obj,
) -> None:
    await let_evict(server, "alice", name="more", more=rules)
    hook.terms = WebhookConfig(bridge=True, unverified_callers=unverified)
    company.answer = answer
    may = len(rules) == 2 or unverified is UnverifiedCallers.REQUEST
    refused = (await evict(hook)).refusal
    assert (refused["code"], requested(server)) == ((429, True) if may else (403, False))
    if not may:
        assert "--bridge-unverified-callers=request" in refused["message"]
        await evict(hook)
        assert len(company.sent) == 1  # such a server is not asked each time
        server.clock.move(UNSUPPORTED_SECONDS + 1)
        company.answer = None
        assert (await evict(hook)).refusal["code"] == 429
        assert requested(server)


async def test_one_caller_whom_nobody_may_act_as_changes_nothing_for_others(
    server: Embedded, company: Company, hook: Hook
) -> None:
    await let_evict(server, "alice", name="more")
    bob = {"username": "bob", "groups": []}
    company.answer = status(403, DENIED)
    assert (await evict(hook)).refusal["message"] == DENIED
    company.answer = NO_IMPERSONATION
    assert "--bridge-unverified-callers=request" in (await evict(hook, bob)).refusal["message"]
    company.answer = status(403, DENIED)
    assert (await evict(hook)).refusal["message"] == DENIED
    assert not requested(server)
