"""Reviews of EvictionRequests: who may ask, what is revealed to whom, and what others may not undo."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from embedded.registry.given import NOW, POD_UID, RUNNING, a, changed, stored
from support.arms import objects as make
from support.embedded import Embedded, embedded, namespace
from support.oddversions import ABSENT, CONFLICT, VERSIONS
from support.reviews import ADMIN_INFO, MUTATE, VALIDATE, Hook, ReviewAnswer, review
from vacate.api.identity import MASTERS
from vacate.api.kinds import EVACUATIONS, LIFECYCLE_REQUESTS, NAMESPACES, PODS, ROLEBINDINGS, ROLES, Kind
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.objects import Obj, encode
from vacate.features import parse_feature_gates
from vacate.webhook import reviewer
from vacate.webhook.admissionreview import ReviewResult, read_review
from vacate.webhook.evictionrequests import EVICTION_REQUEST_REVIEWS
from vacate.webhook.lookups import AccessCheck, LookupResults, ObjectLookup
from vacate.webhook.reviewer import Review, WebhookConfig, review_with

pytestmark = pytest.mark.unit

ANN: Obj = {"username": "ann", "groups": ["system:authenticated"]}
OPS: Obj = {"username": "olga", "uid": "7", "groups": ["ops"], "extra": {"scopes": ["a", "b"]}}
STAMP = "vacate.dev/admitted"
LIFECYCLE = "/validate/lifecyclerequests"


@dataclass
class Stage:
    server: Embedded
    hook: Hook


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with embedded() as server:
        server.clock.moment = NOW
        await server.seed(NAMESPACES, namespace("shop"))
        await server.seed(PODS, copy.deepcopy(RUNNING["web"]))
        yield Stage(server, Hook.beside(server))


def wanted(**changes: Any) -> Obj:
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, **a(KIND, changes)}


def kept(**changes: Any) -> Obj:
    obj = changed(stored(KIND), {key.replace("__", "."): value for key, value in changes.items()})
    return {"apiVersion": KIND.api_version, "kind": KIND.kind, **obj}


FORBIDS = {"status__evictionRequestCancellationPolicy": "Forbid"}


async def test_who_may_not_delete_the_pod_learns_nothing_about_it(stage: Stage) -> None:
    there = await stage.hook.ask(MUTATE, review("CREATE", new=wanted(), user=ANN))
    missing = wanted()
    missing["spec"]["target"]["podRef"]["name"] = "nobody"
    gone = await stage.hook.ask(MUTATE, review("CREATE", new=missing, user=ANN))
    for answer in (there, gone):
        assert answer.refusal["code"] == 403
        assert answer.refusal["message"].endswith(
            'is forbidden: User "ann" cannot delete resource "pods" in API group "" in the namespace "shop"'
        )
    assert there.refusal == gone.refusal


def test_rights_are_asked_for_before_the_pod() -> None:
    asked = read_review(encode(review("CREATE", new=wanted(), user=OPS)))
    mutate: Review = lambda ask, ctx, _: EVICTION_REQUEST_REVIEWS.mutate(ask, ctx)  # noqa: E731
    first = review_with(mutate, asked, LookupResults(), WebhookConfig(), NOW)
    assert first == AccessCheck("delete", "", "v1", "pods", "", "shop", "web")
    answer = review_with(
        mutate, asked, LookupResults().with_right(first, allowed=False), WebhookConfig(), NOW
    )
    assert isinstance(answer, ReviewResult)
    assert not answer.allowed
    allowed = LookupResults().with_right(first, allowed=True)
    second = review_with(mutate, asked, allowed, WebhookConfig(), NOW)
    assert second == ObjectLookup(PODS, "shop", "web")
    verdict = review_with(mutate, asked, allowed.with_object(second, RUNNING["web"]), WebhookConfig(), NOW)
    assert isinstance(verdict, ReviewResult)
    assert verdict.allowed


GATES = parse_feature_gates("EvacuationAPI=true")


@pytest.mark.parametrize(
    ("path", "step", "looked_up"),
    [
        (MUTATE, "CREATE", [PODS, EVACUATIONS]),
        (MUTATE, "UPDATE", [PODS]),
        (MUTATE, "UPDATE of status", []),
        (MUTATE, "DELETE", []),
        (VALIDATE, "CREATE", [PODS]),
        (VALIDATE, "UPDATE", []),
        (VALIDATE, "UPDATE of status", []),
        (VALIDATE, "DELETE", [PODS]),
    ],
)
async def test_a_review_runs_once(
    stage: Stage, path: str, step: str, looked_up: list[Kind], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it asks is looked up before it begins."""
    runs: list[LookupResults] = []

    def spy(*given: Any) -> Any:
        runs.append(given[2])
        return review_with(*given)

    monkeypatch.setattr(reviewer, "review_with", spy)
    stage.hook.terms = WebhookConfig(GATES)
    operation, _, sub = step.partition(" of ")
    old = None if operation == "CREATE" else kept(**FORBIDS)
    answer = await stage.hook.ask(path, review(operation, new=kept(), old=old, subresource=sub))
    assert answer.code == 200
    assert [[one.kind for one in known.objects] for known in runs] == [looked_up]


async def test_groups_count(stage: Stage) -> None:
    role = make.role("delete-pods", make.rule("delete", "pods"))
    binding = make.binding("delete-pods", "Role", "delete-pods", "ops")
    binding["subjects"][0]["kind"] = "Group"
    for kind, obj in ((ROLES, role), (ROLEBINDINGS, binding)):
        obj["metadata"]["namespace"] = "shop"
        assert (await stage.server.ask("POST", kind.collection_path("shop"), obj)).code == 201
    assert (await stage.hook.ask(MUTATE, review("CREATE", new=wanted(), user=OPS))).allowed
    outsider = {**OPS, "groups": ["dev"]}
    assert not (await stage.hook.ask(MUTATE, review("CREATE", new=wanted(), user=outsider))).allowed


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
async def test_changing_needs_the_right_too(stage: Stage, path: str) -> None:
    new, old = kept(), kept()
    new["spec"]["requesters"] = []
    answer = await stage.hook.ask(path, review("UPDATE", new=new, old=old, user=ANN))
    assert answer.refusal["code"] == 403
    assert (await stage.hook.ask(path, review("UPDATE", new=new, old=old))).allowed


AGENT = "system:serviceaccount:vacate-shutdown-agent:vacate-shutdown-agent"
TENANT = "system:serviceaccount:shop:vacate-shutdown-agent"
BOUND_TO = "authentication.kubernetes.io/node-name"
NODES_OF: dict[str, tuple[Obj, bool]] = {
    "its agent": ({"username": AGENT, "extra": {BOUND_TO: ["node-1"]}}, True),
    "another's agent": ({"username": AGENT, "extra": {BOUND_TO: ["node-2"]}}, False),
    "an agent of no node": ({"username": AGENT}, False),
    "a tenant's account of its name": ({"username": TENANT, "extra": {BOUND_TO: ["node-2"]}}, True),
    "its kubelet": ({"username": "system:node:node-1"}, True),
    "another's kubelet": ({"username": "system:node:node-2"}, False),
    "who is no node": ({"username": "system:serviceaccount:a:b", "extra": {BOUND_TO: ["node-2"]}}, True),
}


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
@pytest.mark.parametrize(("user", "own"), NODES_OF.values(), ids=NODES_OF)
async def test_a_node_requests_evictions_of_its_own_pods_only(
    stage: Stage, operation: str, user: Obj, own: bool
) -> None:
    """Though it has the right to delete all pods, which roles cannot narrow."""
    await stage.server.ask("DELETE", PODS.object_path("web", "shop"), query={"gracePeriodSeconds": "0"})
    placed = changed(copy.deepcopy(RUNNING["web"]), {"spec.nodeName": "node-1"})
    await stage.server.seed(PODS, placed)
    old, new = kept(), kept()
    new["spec"]["requesters"] = []
    asked = {
        "CREATE": review("CREATE", new=wanted(), user={**user, "groups": [MASTERS]}),
        "UPDATE": review("UPDATE", new=new, old=old, user={**user, "groups": [MASTERS]}),
        "DELETE": review("DELETE", old=old, user={**user, "groups": [MASTERS]}),
    }[operation]
    for path in (
        [MUTATE, VALIDATE] if operation == "UPDATE" else [VALIDATE if operation == "DELETE" else MUTATE]
    ):
        answer = await stage.hook.ask(path, asked)
        assert answer.allowed is own, answer
        if not own:
            assert "of its own pods only" in answer.refusal["message"]


@pytest.mark.parametrize(("user", "own"), NODES_OF.values(), ids=NODES_OF)
async def test_a_node_requests_no_others_by_kubernetes_own_api(stage: Stage, user: Obj, own: bool) -> None:
    """Where a policy sees no pod that the API server's cache does not have yet."""
    placed = changed(copy.deepcopy(RUNNING["web"]), {"spec.nodeName": "node-1"})
    await stage.server.ask("DELETE", PODS.object_path("web", "shop"), query={"gracePeriodSeconds": "0"})
    await stage.server.seed(PODS, placed)
    is_node = user["username"] == AGENT or user["username"].startswith("system:node:")
    known = {"name": "web", "uid": POD_UID}
    for pod, there in ((known, True), ({**known, "uid": "another"}, False), ({"name": "no"}, False)):
        spec = {"target": {"pod": pod}, "requester": "a.example.com/b", "intent": "Eviction"}
        obj = {"metadata": {"name": "mine"}, "spec": spec}
        asked: dict[str, Any] = {"kind": LIFECYCLE_REQUESTS, "user": {**user, "groups": [MASTERS]}}
        created = await stage.hook.ask(LIFECYCLE, review("CREATE", new=obj, **asked))
        assert created.allowed is (not is_node or (own and there)), (pod, created)
        assert created.allowed or "of its own pods only" in created.refusal["message"]
        # It withdraws from what is gone; no pod ever gets that UID again.
        updated = await stage.hook.ask(LIFECYCLE, review("UPDATE", new=obj, old=obj, **asked))
        assert updated.allowed is (own or (not there and user != {"username": AGENT})), (pod, updated)


@pytest.mark.parametrize("version", VERSIONS)
async def test_only_the_mutating_side_leaves_a_conflict_to_the_server(stage: Stage, version: str) -> None:
    """It would answer an error of the step from a state that the client has never seen."""
    old = kept()
    written, code = VERSIONS[version]
    conflict = code == CONFLICT or version in ("zero", "zeros")  # which are refused as missing
    late = {"heartbeatTime": "2030-01-01T00:00:00Z"}
    for sub, change in (("", {"spec__type": "Hard"}), ("status", {"status": {**old["status"], **late}})):
        new = kept(**change)
        new["metadata"]["resourceVersion"] = written("7")
        if new["metadata"]["resourceVersion"] == ABSENT:
            del new["metadata"]["resourceVersion"]
        asked = review("UPDATE", new=new, old=old, subresource=sub)
        mutated = await stage.hook.ask(MUTATE, asked)
        assert conflict or mutated.refusal["code"] == 422
        assert not conflict or (mutated.allowed and mutated.patch == [])
        assert (await stage.hook.ask(VALIDATE, asked)).refusal["code"] == 422


async def test_deletion_is_guarded_while_the_pod_is_there(stage: Stage) -> None:
    guarded = kept(**FORBIDS)
    answer = await stage.hook.ask(VALIDATE, review("DELETE", old=guarded))
    assert answer.refusal["code"] == 403
    assert "status.evictionRequestCancellationPolicy is Forbid" in answer.refusal["message"]
    assert (await stage.hook.ask(VALIDATE, review("DELETE", old=kept()))).allowed
    assert (await stage.hook.ask(VALIDATE, review("DELETE", old=kept(), user=ANN))).refusal["code"] == 403
    await stage.server.ask("DELETE", PODS.object_path("web", "shop"), {"gracePeriodSeconds": 0})
    assert (await stage.hook.ask(VALIDATE, review("DELETE", old=guarded))).allowed


async def test_deletion_says_what_the_embedded_server_says(stage: Stage) -> None:
    obj = stored(KIND, {})
    obj["status"]["evictionRequestCancellationPolicy"] = "Forbid"
    del obj["metadata"]["resourceVersion"]
    old = await stage.server.seed(KIND, obj)
    theirs = await stage.server.ask("DELETE", KIND.object_path(POD_UID, "shop"))
    ours = await stage.hook.ask(VALIDATE, review("DELETE", old={**kept(), **old}))
    assert ours.refusal == theirs.body


async def test_a_made_up_name_is_refused_as_such(stage: Stage) -> None:
    obj = wanted()
    del obj["metadata"]["name"]
    obj["metadata"]["generateName"] = "leave-"
    answer = await stage.hook.ask(MUTATE, review("CREATE", new=obj))
    causes = answer.refusal["details"]["causes"]
    assert [(one["field"], one["reason"]) for one in causes] == [
        ("metadata.generateName", "FieldValueForbidden")
    ]


async def test_asked_again_it_knows_its_own_work(stage: Stage) -> None:
    sent = review("CREATE", new=wanted())
    once = (await stage.hook.ask(MUTATE, sent)).applied(sent["request"]["object"])
    assert once["spec"]["interceptors"]
    again = await stage.hook.ask(MUTATE, review("CREATE", new=once))
    assert again.allowed
    assert again.patch == []
    assert (await stage.hook.ask(VALIDATE, review("CREATE", new=once))).allowed


async def test_a_forged_stamp_does_not_let_interceptors_in(stage: Stage) -> None:
    obj = wanted()
    obj["metadata"]["annotations"] = {STAMP: "true"}
    obj["spec"]["interceptors"] = [{"name": "mine.example.com"}]
    answer = await stage.hook.ask(MUTATE, review("CREATE", new=obj))
    assert "spec.interceptors: Forbidden: must not be set on creation" in answer.refusal["message"]


async def test_what_others_change_after_us_is_refused(stage: Stage) -> None:
    sent = review("CREATE", new=wanted())
    made = (await stage.hook.ask(MUTATE, sent)).applied(sent["request"]["object"])
    made["spec"]["interceptors"] = made["spec"]["interceptors"][:1]
    del made["metadata"]["annotations"][STAMP]
    answer = await stage.hook.ask(VALIDATE, review("CREATE", new=made))
    assert [one["field"] for one in answer.refusal["details"]["causes"]] == [
        f"metadata.annotations[{STAMP}]",
        "spec.interceptors",
    ]


async def test_the_stamp_stays_as_it_is(stage: Stage) -> None:
    old = kept()
    del old["metadata"]["annotations"]
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {STAMP: "true"}
    sent = review("UPDATE", new=new, old=old)
    answer = await stage.hook.ask(MUTATE, sent)
    assert STAMP not in answer.applied(sent["request"]["object"])["metadata"].get("annotations", {})
    assert not (await stage.hook.ask(VALIDATE, sent)).allowed


async def test_creation_is_refused_while_the_feature_is_off(stage: Stage) -> None:
    stage.hook.terms = WebhookConfig(parse_feature_gates("EvictionRequestAPI=false"))
    for path in (MUTATE, VALIDATE):
        answer = await stage.hook.ask(path, review("CREATE", new=wanted()))
        assert answer.refusal["code"] == 403
        assert "EvictionRequestAPI is switched off" in answer.refusal["message"]
    new = kept(spec__requesters=[])
    assert (await stage.hook.ask(MUTATE, review("UPDATE", new=new, old=kept()))).allowed


async def test_a_field_of_a_newer_definition_is_left_alone(stage: Stage) -> None:
    sent = review("CREATE", new=wanted())
    sent["request"]["object"]["spec"]["later"] = {"a": 1}
    answer = await stage.hook.ask(MUTATE, sent)
    assert answer.applied(sent["request"]["object"])["spec"]["later"] == {"a": 1}


async def test_extra_allowed_names(stage: Stage) -> None:
    pod = copy.deepcopy(RUNNING["web"])
    pod["metadata"] |= {"name": "api", "uid": "u-api"}
    del pod["spec"]["evictionInterceptors"]
    key = "interceptor.evictionrequest.coordination.k8s.io/priority_actor.k8s.io"
    pod["metadata"]["annotations"] = {key: "5"}
    await stage.server.seed(PODS, pod)
    obj = wanted(**{"metadata.name": "u-api", "spec.target.podRef": {"name": "api", "uid": "u-api"}})
    asked = review("CREATE", new=obj)
    ignored = (await stage.hook.ask(MUTATE, asked)).applied(asked["request"]["object"])
    assert "interceptors" not in ignored["spec"]
    assert "reserved" in ignored["metadata"]["annotations"]["vacate.dev/ignored-registration"]
    stage.hook.terms = WebhookConfig(allowed_interceptors=("actor.k8s.io",))
    sent = review("CREATE", new=obj)
    answer = await stage.hook.ask(MUTATE, sent)
    assert answer.applied(sent["request"]["object"])["spec"]["interceptors"] == [{"name": "actor.k8s.io"}]


async def test_a_pod_that_cannot_exist_is_not_found(stage: Stage) -> None:
    obj = wanted(**{"spec.target.podRef.name": "../secrets/x"})
    answer = await stage.hook.ask(MUTATE, review("CREATE", new=obj, user=ADMIN_INFO))
    assert "spec.target.podRef.name: Not found" in answer.refusal["message"]


async def test_connect_and_the_like_are_none_of_our_business(stage: Stage) -> None:
    answer: ReviewAnswer = await stage.hook.ask(VALIDATE, review("CONNECT", new=wanted()))
    assert answer.allowed
