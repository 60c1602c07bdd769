"""Reviews of Evacuations: the webhook says what the embedded server says, and only where the gate is open."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from embedded.registry.given import NOW, POD_UID, RUNNING
from support.embedded import Answer, Embedded, embedded, namespace
from support.reviews import Hook, ReviewAnswer, refused_by_definition, review
from vacate.api.identity import StatusAuthority
from vacate.api.kinds import EVACUATIONS as KIND
from vacate.api.kinds import EVICTIONREQUESTS, NAMESPACES, PODS
from vacate.api.objects import Obj
from vacate.features import parse_feature_gates
from vacate.webhook.reviewer import WebhookConfig

pytestmark = pytest.mark.unit

MUTATE, VALIDATE = "/mutate/evacuations", "/validate/evacuations"
OPEN = parse_feature_gates("EvacuationAPI=true")
NAME = f"{POD_UID}-web"
INSTIGATOR = f"{KIND.group}/instigator_drain.example.com"
BACKUP, MIGRATE = "backup.example.com", "migrate.example.com"
REGISTERED = {
    f"{KIND.group}/priority_{BACKUP}": "2000",
    f"{KIND.group}/priority_{MIGRATE}": "11000/knowledgeable",
}
_PATH = KIND.collection_path("shop")


@dataclass
class Pair:
    server: Embedded
    hook: Hook


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    async with embedded(gates=OPEN) as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        pod = copy.deepcopy(RUNNING["web"])
        pod["metadata"]["annotations"] = dict(REGISTERED)
        await server.seed(PODS, pod)
        yield Pair(server, Hook.beside(server, WebhookConfig(gates=OPEN)))


def wanted(spec: Obj | None = None, **metadata: Any) -> Obj:
    return {
        "apiVersion": KIND.api_version,
        "kind": KIND.kind,
        "metadata": {"name": NAME, "namespace": "shop", "finalizers": [INSTIGATOR], **metadata},
        "spec": {"podRef": {"name": "web", "uid": POD_UID}, **(spec or {})},
    }


def asked(operation: str, **objects: Any) -> Obj:
    return review(operation, kind=KIND, **objects)


def same(theirs: Answer, ours: ReviewAnswer) -> None:
    """Both refuse for the same causes, or both let it pass; the rules of the definition are the server's."""
    if refused_by_definition(KIND, theirs.body):
        assert ours.allowed, ours.body
        return
    if theirs.code < 400:
        assert ours.allowed, ours.body
        return
    refusal = ours.refusal
    assert (theirs.code, theirs.body["reason"]) == (refusal["code"], refusal["reason"])
    assert theirs.body.get("details", {}).get("causes") == refusal.get("details", {}).get("causes")


CREATIONS: dict[str, Obj] = {
    "plain": wanted(),
    "another name": wanted(name="web"),
    "generated": wanted(name="", generateName="web-"),
    "a short deadline": wanted({"progressDeadlineSeconds": 599}),
    "a long deadline": wanted({"progressDeadlineSeconds": 21601}),
    "no such pod": wanted({"podRef": {"name": "db", "uid": POD_UID}}, name=f"{POD_UID}-db"),
    "another pod": wanted({"podRef": {"name": "web", "uid": "u"}}, name="u-web"),
    "a reserved evacuator": wanted({"evacuators": [{"evacuatorClass": "me.k8s.io", "priority": 1}]}),
    "an evacuator beside": wanted({"evacuators": [{"evacuatorClass": "x.example.com", "priority": 1}]}),
    "no instigator's name": wanted(finalizers=[f"{KIND.group}/instigator_A_B"]),
}


@pytest.mark.parametrize("obj", CREATIONS.values(), ids=CREATIONS.keys())
async def test_creation_is_answered_as_by_the_embedded_server(pair: Pair, obj: Obj) -> None:
    theirs = await pair.server.ask("POST", _PATH, obj, query={"dryRun": "All"})
    request = asked("CREATE", new=obj)
    ours = await pair.hook.ask(MUTATE, request)
    same(theirs, ours)
    if theirs.code < 400:
        made = ours.applied(request["request"]["object"])
        assert made["spec"] == theirs.body["spec"]
        assert made["metadata"]["labels"] == theirs.body["metadata"]["labels"]
        assert made["metadata"]["annotations"] == theirs.body["metadata"]["annotations"]


async def test_evacuators_come_from_the_pod_and_asking_again_changes_nothing(pair: Pair) -> None:
    request = asked("CREATE", new=wanted())
    made = (await pair.hook.ask(MUTATE, request)).applied(request["request"]["object"])
    assert made["spec"]["evacuators"] == [
        {"evacuatorClass": MIGRATE, "priority": 11000, "role": "knowledgeable"},
        {"evacuatorClass": BACKUP, "priority": 2000},
    ]
    again = asked("CREATE", new=made)
    assert (await pair.hook.ask(MUTATE, again)).patch == []
    assert (await pair.hook.ask(VALIDATE, again)).allowed
    turned = {**made, "spec": {**made["spec"], "evacuators": made["spec"]["evacuators"][::-1]}}
    refused = (await pair.hook.ask(VALIDATE, asked("CREATE", new=turned))).refusal
    assert "spec.evacuators: Forbidden: must not change" in refused["message"]


STEPS: dict[str, tuple[str, Obj]] = {
    "podRef": ("", {"spec": {"podRef": {"name": "web", "uid": "u"}}}),
    "deadline": ("", {"spec": {"progressDeadlineSeconds": 900}}),
    "evacuators": ("", {"spec": {"evacuators": []}}),
    "an instigator joins": ("", {"metadata": {"finalizers": [INSTIGATOR, f"{INSTIGATOR}.x"]}}),
    "turn out of order": ("status", {"status": {"activeEvacuatorClass": BACKUP}}),
    "report too early": ("status", {"status": {"evacuationProgressTimestamp": "2026-01-01T00:00:00Z"}}),
    "policy": ("status", {"status": {"evacuationCancellationPolicy": "Forbid"}}),
    "no policy": ("status", {"status": {"evacuationCancellationPolicy": "Perhaps"}}),
    "less refusals": ("status", {"status": {"failedEvictionCounter": 2}}),
    "only ended": (
        "status",
        {
            "status": {
                "conditions": [
                    {
                        "type": "Complete",
                        "status": "True",
                        "reason": "PodTerminated",
                        "message": "",
                        "lastTransitionTime": "2026-01-01T00:00:00Z",
                    }
                ]
            }
        },
    ),
}


@pytest.mark.parametrize(("subresource", "step"), STEPS.values(), ids=STEPS.keys())
async def test_a_step_is_answered_as_by_the_embedded_server(pair: Pair, subresource: str, step: Obj) -> None:
    stored = await _stored(pair)
    new = {**stored, **{part: {**stored.get(part, {}), **change} for part, change in step.items()}}
    path = KIND.object_path(NAME, "shop", subresource)
    theirs = await pair.server.ask("PUT", path, new, query={"dryRun": "All"})
    request = asked("UPDATE", new=new, old=stored, subresource=subresource)
    ours = await pair.hook.ask(MUTATE, request)
    same(theirs, ours)
    if theirs.code >= 400:
        words = theirs.body["message"].replace(BACKUP, "")
        assert not [word for word in ("nterceptor", "requester", "heartbeat") if word in words], words


async def _stored(pair: Pair) -> Obj:
    """An Evacuation whose eviction was refused three times."""
    made = (await pair.server.ask("POST", _PATH, wanted(), query={"dryRun": "All"})).body
    kept = await pair.server.seed(KIND, {**made, "status": {**made["status"], "failedEvictionCounter": 3}})
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, **kept}


async def test_a_guarded_evacuation_goes_when_its_pod_has_gone(pair: Pair) -> None:
    stored = await _stored(pair)
    stored["status"]["evacuationCancellationPolicy"] = "Forbid"
    refused = (await pair.hook.ask(VALIDATE, asked("DELETE", old=stored))).refusal
    assert 'the evacuation goes on as long as pod "web" exists' in refused["message"]
    query = {"gracePeriodSeconds": "0"}
    assert (await pair.server.ask("DELETE", PODS.object_path("web", "shop"), query=query)).code == 200
    assert (await pair.hook.ask(VALIDATE, asked("DELETE", old=stored))).allowed


async def test_the_refusal_of_the_second_api_for_a_pod_names_the_first(pair: Pair) -> None:
    await _stored(pair)
    target = {"podRef": {"name": "web", "uid": POD_UID}}
    request = {
        "apiVersion": EVICTIONREQUESTS.api_version,
        "kind": EVICTIONREQUESTS.kind,
        "metadata": {"name": POD_UID, "namespace": "shop"},
        "spec": {"target": target, "requesters": [{"name": "drain.example.com"}]},
    }
    refused = (await pair.hook.ask("/mutate/evictionrequests", review("CREATE", new=request))).refusal
    assert f'requested by Evacuation "{NAME}" already' in refused["message"]


async def test_nothing_is_created_while_the_gate_is_closed_and_the_rest_goes_on(pair: Pair) -> None:
    stored = await _stored(pair)
    pair.hook.terms = WebhookConfig()
    refused = (await pair.hook.ask(MUTATE, asked("CREATE", new=wanted()))).refusal
    assert refused["message"].endswith("the feature EvacuationAPI is switched off in this cluster")
    withdrawn = {**stored, "metadata": {**stored["metadata"], "finalizers": []}}
    assert (await pair.hook.ask(MUTATE, asked("UPDATE", new=withdrawn, old=stored))).allowed
    assert (await pair.hook.ask(VALIDATE, asked("DELETE", old=stored))).allowed


def test_the_kind_has_the_names_of_its_design() -> None:
    assert (
        KIND.collection_path("d") == "/apis/evacuation.coordination.k8s.io/v1alpha1/namespaces/d/evacuations"
    )


async def test_a_pod_that_has_only_terminated_does_not_complete_an_evacuation(pair: Pair) -> None:
    stored = await _stored(pair)
    _, step = STEPS["only ended"]
    new = {**stored, "status": {**stored["status"], **step["status"]}}
    pair.server.storage.authority = StatusAuthority(("admin",))
    ended = await pair.server.ask(
        "PATCH",
        PODS.object_path("web", "shop", "status"),
        {"status": {"phase": "Succeeded"}},
        content_type="application/merge-patch+json",
    )
    assert ended.code == 200
    refused = await pair.server.ask("PUT", KIND.object_path(NAME, "shop", "status"), new)
    assert 'supported values: "Cancelled", "PodDeleted"' in refused.body["message"]
