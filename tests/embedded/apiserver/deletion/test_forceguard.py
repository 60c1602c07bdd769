"""Force deletion on the embedded server: who may, who must confirm, and which Events report it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import Answer, Embedded, a_budget, a_pod, embedded
from vacate.admission.pods.forcedeletion import CONFIRMATION, GUARD_LABEL, Guard
from vacate.api.identity import MASTERS
from vacate.api.kinds import EVENTS, NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.metrics import Metrics
from vacate.wire.message import Peer

pytestmark = pytest.mark.unit

FORCE = {"gracePeriodSeconds": 0}
HERS = Peer("alice", (MASTERS,))
POD_PATH = PODS.object_path("p", "d")


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        one.storage.force_guard = Guard(unlabelled=True)
        one.storage.metrics = Metrics()
        yield one


async def force(server: Embedded, peer: Peer = HERS, **options: Any) -> Answer:
    return await server.ask("DELETE", POD_PATH, {**FORCE, **options}, peer=peer)


def counted(server: Embedded, result: str) -> float:
    assert server.storage.metrics is not None
    return server.storage.metrics.registry.get_sample_value(
        "vacate_pod_force_deletions_total", {"result": result}
    ) or 0.0  # fmt: skip


async def test_the_refusal_names_the_consequences_and_how_to_confirm(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    answer = await force(server)
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    for part in ("node n1", "may go on running", "vacate delete pod p -n d --force --confirm", "=uid-p"):
        assert part in answer.message
    kept = server.stored(PODS, "p")
    assert kept is not None
    assert "deletionTimestamp" not in kept["metadata"]
    assert counted(server, "refused") == 1


async def test_a_confirmed_force_deletion_is_an_event_with_the_users_name(server: Embedded) -> None:
    await server.seed(PODS, a_pod(meta={"annotations": {CONFIRMATION: "uid-p"}}))
    assert (await force(server)).code == 200
    assert server.stored(PODS, "p") is None
    (event,) = (await server.ask("GET", EVENTS.collection_path("d"))).body["items"]
    assert event["reason"] == "ForceDeleted"
    assert 'User "alice" force deleted the pod after confirming' in event["message"]
    assert counted(server, "confirmed") == 1


async def test_a_confirmation_holds_for_one_pod_only(server: Embedded) -> None:
    """A template, or the annotation of a predecessor, cannot confirm."""
    for value in ("true", "uid-of-the-predecessor", ""):
        await server.seed(PODS, a_pod(value or "empty", meta={"annotations": {CONFIRMATION: value}}))
        path = PODS.object_path(value or "empty", "d")
        assert (await server.ask("DELETE", path, FORCE, peer=HERS)).code == 403


async def event_messages(server: Embedded) -> list[str]:
    """The messages of the Events."""
    return [one["message"] for one in (await server.ask("GET", EVENTS.collection_path("d"))).body["items"]]


@pytest.mark.parametrize(
    "user",
    [
        "system:node:n1",
        "system:serviceaccount:kube-system:pod-garbage-collector",
        "system:serviceaccount:kube-system:generic-garbage-collector",
        "system:serviceaccount:kube-system:namespace-controller",
    ],
)
async def test_the_node_and_system_controllers_pass_by_identity(server: Embedded, user: str) -> None:
    await server.seed(PODS, a_pod())
    assert (await force(server, Peer(user, (MASTERS,)))).code == 200
    own = user == "system:node:n1"  # which has seen the processes end: that is how every pod goes
    assert counted(server, "node" if own else "system") == 1
    by_identity = [
        f'User "{user}" force deleted the pod by its identity; node n1' in one
        for one in await event_messages(server)
    ]
    assert by_identity == ([] if own else [True])


@pytest.mark.parametrize("user", ["system:node:n2", "system:serviceaccount:d:pod-garbage-collector"])
async def test_another_node_or_a_namesake_does_not_pass(server: Embedded, user: str) -> None:
    await server.seed(PODS, a_pod())
    assert (await force(server, Peer(user, (MASTERS,)))).code == 403


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {"nodeName": ""}},
        {"status": {"phase": "Succeeded"}},
        {"spec": {"terminationGracePeriodSeconds": 0}},
        {"meta": {"deletionTimestamp": "2026-03-01T12:00:00Z", "deletionGracePeriodSeconds": 0}},
    ],
)
async def test_what_leaves_no_processes_or_was_decided_before_is_no_force_deletion(
    server: Embedded, changes: dict[str, Any]
) -> None:
    await server.seed(PODS, a_pod(**changes))
    assert (await force(server)).code == 200
    assert (await server.ask("GET", EVENTS.collection_path("d"))).body["items"] == []


MEMBER: dict[str, Any] = {
    "meta": {"ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s",
                                  "controller": True}]},
    "spec": {"terminationGracePeriodSeconds": 0},
}  # fmt: skip


@pytest.mark.parametrize("options", [{}, FORCE], ids=["as-taint-eviction-does", "by-force"])
async def test_a_member_with_a_grace_period_of_0_is_recorded_as_force_deleted(
    server: Embedded, options: dict[str, Any]
) -> None:
    """One from before the guard. It is not refused: taint eviction would never end."""
    await server.seed(PODS, a_pod(**MEMBER))
    who = Peer("system:serviceaccount:kube-system:node-controller", (MASTERS,))
    assert (await server.ask("DELETE", POD_PATH, options, peer=who)).code == 200
    assert server.stored(PODS, "p") is None
    (event,) = (await server.ask("GET", EVENTS.collection_path("d"))).body["items"]
    assert event["reason"] == "ForceDeleted"
    assert "node-controller" in event["message"]
    assert "the pod's own grace period is 0" in event["message"]
    assert counted(server, "own-grace") == 1


async def test_a_new_member_needs_a_grace_period(server: Embedded) -> None:
    answer = await server.ask("POST", PODS.collection_path("d"), a_pod(**MEMBER), peer=HERS)
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert "spec.terminationGracePeriodSeconds" in answer.message
    alone, kind = a_pod("q", spec=MEMBER["spec"]), "application/merge-patch+json"
    assert (await server.ask("POST", PODS.collection_path("d"), alone, peer=HERS)).code == 201
    path, owned = PODS.object_path("q", "d"), {"metadata": MEMBER["meta"]}
    adopted = await server.ask("PATCH", path, owned, peer=HERS, content_type=kind)
    assert (adopted.code, adopted.message) == (403, answer.message.replace('"p"', '"q"'))
    server.storage.force_guard = Guard(unlabelled=False)
    assert (await server.ask("POST", PODS.collection_path("d"), a_pod(**MEMBER), peer=HERS)).code == 201


async def test_finalizers_do_not_stand_in_for_a_confirmation(server: Embedded) -> None:
    """A finalizer delays the removal; grace 0 would still take the pod from its node unseen."""
    await server.seed(PODS, a_pod(meta={"finalizers": ["example.com/f"]}))
    assert (await force(server)).code == 403


async def test_a_terminating_pod_cannot_be_forced_either_and_may_be_hurried(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    assert (await server.ask("DELETE", POD_PATH, {"gracePeriodSeconds": 1}, peer=HERS)).code == 200
    assert (await force(server)).code == 403
    assert server.stored(PODS, "p") is not None


@pytest.mark.parametrize(("label", "unlabelled", "code"), [
    ("disabled", True, 200), ("enabled", False, 403), (None, False, 200), (None, True, 403), ("x", True, 403),
])  # fmt: skip
async def test_a_namespace_opts_in_or_out_by_its_label(
    server: Embedded, label: str | None, unlabelled: bool, code: int
) -> None:
    server.storage.force_guard = Guard(unlabelled=unlabelled)
    change = {"metadata": {"labels": {GUARD_LABEL: label}}}
    kind = "application/merge-patch+json"
    assert (await server.ask("PATCH", NAMESPACES.object_path("d"), change, content_type=kind)).code == 200
    await server.seed(PODS, a_pod())
    assert (await force(server)).code == code
    assert counted(server, "unguarded") == (code == 200)
    opted_out = [
        'User "alice" force deleted the pod in a namespace without the guard' in one
        for one in await event_messages(server)
    ]
    assert opted_out == ([True] if label == "disabled" else [])


async def test_an_eviction_with_grace_0_is_refused_before_a_budget_is_spent(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=1))
    body: dict[str, Any] = {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": FORCE}
    refused = await server.ask("POST", f"{POD_PATH}/eviction", {**body, "metadata": {"name": "p"}}, peer=HERS)
    assert refused.code == 403
    budget = server.stored(PODDISRUPTIONBUDGETS, "b")
    assert budget is not None
    assert budget["status"]["disruptionsAllowed"] == 1
    confirmed = {**body, "metadata": {"name": "p", "annotations": {CONFIRMATION: "uid-p"}}}
    assert (await server.ask("POST", f"{POD_PATH}/eviction", confirmed, peer=HERS)).code == 201
    assert counted(server, "confirmed") == 1


async def test_a_collection_is_refused_and_a_dry_run_counts_nothing(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    assert (await server.ask("DELETE", PODS.collection_path("d"), FORCE, peer=HERS)).code == 403
    assert server.stored(PODS, "p") is not None
    before = counted(server, "refused")
    assert (await force(server, dryRun=["All"])).code == 403
    assert counted(server, "refused") == before
