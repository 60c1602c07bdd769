"""Roles: a user who has one can do what it is for, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.evictions.namespace import EvictionNamespace, pod_body, reason, run_vacate
from support.realcluster.audit import Call, confined
from support.realcluster.evictions import HOME, RealCluster
from support.realcluster.users import Right, User, done_by, refused, rights_of, unused, user
from vacate.api.installednames import (
    CERTIFICATES,
    CONFINES,
    INTERCEPTOR,
    INTERCEPTOR_DELETES,
    MANAGER,
    NODE_FENCER,
    NODE_MAINTAINER,
    REQUESTER,
    TLS_SECRET,
    VIEWER,
    WEBHOOK,
)
from vacate.api.kinds import (
    CLUSTERROLES,
    EVACUATIONS,
    EVENTS,
    EVICTIONREQUESTS,
    FENCINGPOLICIES,
    LIFECYCLE_EVICTIONS,
    NODEMAINTENANCES,
    NODES,
    PODS,
    ROLES,
    SECRETS,
    VALIDATINGADMISSIONPOLICYBINDINGS,
)
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.cli.main import COMMANDS
from vacate.client.client import Client
from vacate.entropy import system_entropy
from vacate.errors import Forbidden, NotFound, TooManyRequests
from vacate.eviction.callers import CALLERS
from vacate.fencing.annotations import REQUESTED
from vacate.sdk import EvictionContext, Interceptor, Requester
from vacate.webhook.certificates.rotator import CONFIGURATIONS
from vacate.wiring.controllers import CONTROLLERS, rules

PREPARE = "prepare.example.com"
EXERCISED = ("evictionrequest-controller", "nodemaintenance-controller")
"""The controllers whose whole work the manager does here."""
DELETE_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}
IMPERSONATED = ("user-info", "serviceaccount", "arbitrary-node")
USED_ELSEWHERE = {
    Right("deployments", "get", "apps"),  # for pods of workloads that have opted in to move
    Right("replicasets", "get", "apps"),
    Right("statefulsets", "get", "apps"),
    Right("nodes", "get"),  # where a pod returned under its name while its callers waited
    Right("events", "create"),  # for force deletions, which the tests of the webhook make
    *(Right("evacuations", verb, EVACUATIONS.group) for verb in ("create", "patch", "delete")),
    # Where lifecycle.k8s.io is served.
    *(Right("evictionrequests", verb, LIFECYCLE_EVICTIONS.group) for verb in ("get", "create", "patch")),
    # The API server records what was done as another user as done by that user.
    *(Right("*", f"impersonate:{sort}", "authentication.k8s.io") for sort in IMPERSONATED),
    *(Right("pods/eviction", f"impersonate-on:{sort}:create") for sort in IMPERSONATED),
}
"""Rights of the webhook that only features and cases use which are not seen here."""
READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}
FORGED = '{"admin.bridge.vacate.dev":{"until":"2099-01-01T00:00:00Z"}}'
LEFT = ("PodTerminated", "PodDeleted")
RULES = """
rules:
  - namespaceSelector: {matchExpressions: [{key: no-such-label, operator: DoesNotExist}]}
    interceptors: [{name: ruled.example.com, priority: 5}]
"""


async def test_a_requester_can_ask_and_withdraw_and_no_more(
    place: EvictionNamespace, real: RealCluster
) -> None:
    pod = await place.pod("web", PREPARE)
    jane = await user(place, real, "jane", REQUESTER, rules=[DELETE_PODS])
    async with jane.client() as client:
        requester = Requester(client, "jane.example.com", namespace=place.namespace)
        request = await requester.request("web", reason="kernel update")
        await place.until_active(pod, PREPARE)
        for change in ({"message": "mine"}, {"activeInterceptorCompleted": True}):
            with pytest.raises(Forbidden, match="evictionrequests/status"):
                await client.patch(
                    EVICTIONREQUESTS,
                    request.metadata.name,
                    {"status": change},
                    place.namespace,
                    subresource="status",
                )
        assert await requester.withdraw("web")
        assert not (await requester.wait("web")).pod_ended
        again = await requester.request("web")  # which replaces the request that is over
        assert not again.complete
        with pytest.raises(Forbidden):
            await client.patch(PODS, "web", {"metadata": {"labels": {"a": "b"}}}, place.namespace)
    await place.stays(pod)


async def test_a_requester_cannot_forge_who_calls_the_eviction_api(
    place: EvictionNamespace, real: RealCluster
) -> None:
    """The record is the eviction bridge's: by it a drain learns that a pod is gone."""
    pod = await place.pod("web", PREPARE)
    jane = await user(place, real, "jane", REQUESTER, rules=[DELETE_PODS])
    forged = {"metadata": {"annotations": {CALLERS: FORGED, "note": "mine"}}}
    async with jane.client() as client:
        request = await Requester(client, "jane.example.com", namespace=place.namespace).request("web")
        await client.patch(EVICTIONREQUESTS, request.metadata.name, forged, place.namespace)
        kept = await client.get(EVICTIONREQUESTS, request.metadata.name, place.namespace)
        assert kept["metadata"]["annotations"]["note"] == "mine"
        assert CALLERS not in kept["metadata"]["annotations"]
    await place.stays(pod)


async def test_commands_of_a_requester(place: EvictionNamespace, real: RealCluster) -> None:
    pod = await place.pod("web", PREPARE)
    jane = await user(place, real, "jane", REQUESTER, rules=[DELETE_PODS])
    where = ("-n", place.namespace)
    asked = await run_vacate(str(jane.kubeconfig), "evict", "web", "--reason", "kernel update", *where)
    assert asked.code == 0, asked
    explained = await run_vacate(str(jane.kubeconfig), "explain", "web", *where)
    assert explained.code == 0, explained
    back = await run_vacate(str(jane.kubeconfig), "cancel", "web", *where)
    assert back.code == 0, back
    assert reason(await place.until_complete(pod), "Complete") == "Cancelled"


PROGRAMS = {
    "up", "demo", "completion", "version", "manager", "webhook", "certificates", "hooks", "node",
    "shutdown-agent",
}  # fmt: skip
"""Commands that run with accounts of their own, or without a cluster."""
ELSEWHERE = {
    "install": "its checks of rights",
    "uninstall": "its checks of rights",
    "plan": "it reads what its user may read",
    "web": "it reads what its user may read",
    "check": "it says what its user may not see",
    "detach": "rights on PersistentVolumes, which no role of an installation has",
}
"""Commands for which an installation has no role."""


async def test_every_command_runs_with_the_role_for_its_users(
    place: EvictionNamespace, real: RealCluster
) -> None:
    """And what it leads to is done by confined accounts, while the policies about them are in force."""
    where, app = ("-n", place.namespace), place.namespace
    silent = await place.pod("silent", PREPARE)
    await place.pod("spare")
    await place.pod("kept", PREPARE)
    drained = await place.pod("drained", labels={"app": app})
    node = drained["spec"]["nodeName"]
    guest = await user(place, real, "guest", VIEWER, rules=[READ_PODS])
    jane = await user(place, real, "jane", REQUESTER, rules=[DELETE_PODS])
    ops = await user(place, real, "ops", NODE_MAINTAINER, everywhere=True)
    power = await user(place, real, "power", NODE_FENCER, everywhere=True)
    lost = await _lost_node(place)
    unread = await run_vacate(str(power.kubeconfig), "fence", lost, "--request", "a test")
    assert "no FencingPolicy selects node" in unread.err, unread
    await _fencing_policy(place, lost)
    drain = (node, "--force", "--ignore-daemonsets", "--pod-selector", f"app={app}")
    steps = (
        (jane, ("evict", "silent", *where)),
        (guest, ("status", *where)),
        (guest, ("explain", "silent", *where)),
        (guest, ("interceptors", *where)),
        (jane, ("skip", "silent", PREPARE, *where)),
        (jane, ("evict", "kept", *where)),
        (jane, ("cancel", "kept", *where)),
        (jane, ("delete", "pod", "spare", *where)),
        (ops, ("drain", *drain, "--timeout", "60s")),
        (ops, ("drains",)),
        (ops, ("uncordon", node)),
        (ops, ("deschedule", *where)),
        (power, ("fence", lost, "--request", "a test")),
    )
    try:
        for who, command in steps:
            done = await run_vacate(str(who.kubeconfig), *command)
            assert (done.code, "warning" in done.err) == (0, False), (command, done)
            if command[:2] == ("evict", "silent"):
                await place.until_active(silent, PREPARE)
    finally:
        marked = await place.client.get(NODES, lost)
        await place.client.delete(NODES, lost)
        await place.client.delete(FENCINGPOLICIES, lost)
    assert REQUESTED in marked["metadata"]["annotations"]
    noted = (await place.client.list(EVENTS, "default")).items
    assert (lost, "FenceRequested") in {(one["involvedObject"]["name"], one["reason"]) for one in noted}
    await place.gone(silent)
    await place.gone(drained)
    held = await place.pod("held", PREPARE, labels={"app": "held"})
    await place.budget("held", minAvailable=1)
    for command in (("evict", "held", *where), ("skip", "held", PREPARE, *where), ("retry", "held", *where)):
        done = await run_vacate(str(jane.kubeconfig), *command)
        assert done.code == 0, (command, done)
        if command[0] == "evict":
            await place.until_active(held, PREPARE)
        if command[0] == "skip":
            await place.until(lambda: _is_blocked(place, held), "the budget has refused")
    await _bridged(place)
    run = {command[0] for _, command in steps} | {"retry"}
    assert run | PROGRAMS | ELSEWHERE.keys() == COMMANDS.keys()
    bindings = (await place.client.list(VALIDATINGADMISSIONPOLICYBINDINGS)).items
    confining = [one for one in bindings if one["metadata"]["name"].startswith(CONFINES)]
    assert {tuple(one["spec"]["validationActions"]) for one in confining} == {("Deny",)}
    for account in (MANAGER, WEBHOOK, CERTIFICATES):
        wrote = done_by(real, f"system:serviceaccount:{HOME}:{account}")
        assert any(one.verb in ("create", "patch") and one.code < 300 for one in wrote), account
    assert confined(real.audit_log) == set()


async def _lost_node(place: EvictionNamespace) -> str:
    """A node that has fallen silent."""
    name = f"lost-{place.namespace}"
    named = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    await place.client.create(NODES, {"metadata": named, "spec": {"unschedulable": True}})
    ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    ready |= dict.fromkeys(("lastHeartbeatTime", "lastTransitionTime"), "2020-01-01T00:00:00Z")
    await place.client.patch(NODES, name, {"status": {"conditions": [ready]}}, subresource="status")
    return name


async def _fencing_policy(place: EvictionNamespace, node: str) -> None:
    """One for this node alone, which waits for an approval that does not come."""
    agent = {"command": {"program": "fence_redfish", "options": {"ip": "192.0.2.7"}}}
    chosen = {"matchLabels": {"kubernetes.io/hostname": node}}
    spec = {"nodeSelector": chosen, "approval": "Manual", "agent": agent}
    await place.client.create(FENCINGPOLICIES, {"metadata": {"name": node}, "spec": spec})


async def _bridged(place: EvictionNamespace) -> None:
    """A direct eviction, for which the webhook requests one."""
    pod = await place.pod("called", PREPARE)
    with pytest.raises(TooManyRequests):
        await place.client.evict("called", place.namespace)
    await place.until_active(pod, PREPARE)


async def _is_blocked(place: EvictionNamespace, pod: Obj) -> bool:
    status = (await place.request(pod)).status.pod_eviction_status
    return status is not None and status.failed_api_eviction_counter > 0


async def test_who_may_not_delete_the_pod_may_not_request_its_eviction(
    place: EvictionNamespace, real: RealCluster
) -> None:
    pod = await place.pod("web", PREPARE)
    sam = await user(place, real, "sam", REQUESTER)
    async with sam.client() as client:
        requester = Requester(client, "sam.example.com", namespace=place.namespace)
        with pytest.raises(Forbidden, match='cannot delete resource "pods"'):
            await requester.request("web")
        request = await place.ask(pod)  # by someone who may
        with pytest.raises(Forbidden, match='cannot delete resource "pods"'):
            await requester.request("web")  # joining it
        with pytest.raises(Forbidden, match='cannot delete resource "pods"'):
            await client.delete(EVICTIONREQUESTS, request.metadata.name, place.namespace)
    assert [one.name for one in (await place.request(pod)).spec.requesters] == ["drain.example.com"]


async def test_an_interceptor_can_do_what_the_sdk_does_and_no_more(
    place: EvictionNamespace, real: RealCluster
) -> None:
    evicted, deleted = await place.pod("evicted", PREPARE), await place.pod("deleted", PREPARE)
    actor = await user(place, real, "actor", INTERCEPTOR, INTERCEPTOR_DELETES)

    async def prepare(context: EvictionContext) -> None:
        await context.report("Working", cancellation="Forbid")
        for _ in range(2):  # the second time it is counted up
            context.event("Prepared", "All is saved.")
        if context.pod.metadata.name == "evicted":
            await context.evict()
        else:
            await context.delete(reason="it has no budget")

    one = Interceptor(PREPARE, prepare, namespace=place.namespace)
    async with actor.client() as client:
        async with place.serving(one, client=client):
            for pod in (evicted, deleted):
                await place.ask(pod)
            for pod in (evicted, deleted):
                assert reason(await place.until_complete(pod), "Complete") in LEFT
        done = done_by(real, actor.user)
        assert refused(done) == set()
        await cannot_ask(place, client, await place.pod("other", PREPARE))
    for name in (INTERCEPTOR, INTERCEPTOR_DELETES):
        role = await place.client.get(CLUSTERROLES, name)
        # Those of the other APIs: realcluster/test_lifecycle.py has a program with the role.
        others = (EVACUATIONS.group, LIFECYCLE_EVICTIONS.group)
        rights = [one for one in rights_of(role["rules"]) if one.group not in others]
        assert needless(rights, done) == set()


async def test_an_interceptor_may_not_delete_pods_by_itself(
    place: EvictionNamespace, real: RealCluster
) -> None:
    """Not even that whose turn it is: deleting passes all budgets."""
    await place.pod("web", PREPARE)
    actor = await user(place, real, "careful", INTERCEPTOR)
    async with actor.client() as client:
        with pytest.raises(Forbidden, match='cannot delete resource "pods"'):
            await client.delete(PODS, "web", place.namespace)


async def cannot_ask(place: EvictionNamespace, client: Client, pod: Obj) -> None:
    """Interceptors answer; they request no eviction and cancel none."""
    requester = Requester(client, "actor.example.com", namespace=place.namespace)
    with pytest.raises(Forbidden, match="cannot create resource"):
        await requester.request("other")
    name, change = pod["metadata"]["uid"], {"spec": {"requesters": [{"name": "actor.example.com"}]}}
    await place.ask(pod)
    with pytest.raises(Forbidden, match="cannot patch resource"):
        await client.patch(EVICTIONREQUESTS, name, change, place.namespace)
    with pytest.raises(Forbidden, match="cannot delete resource"):
        await client.delete(EVICTIONREQUESTS, name, place.namespace)
    with pytest.raises(Forbidden):
        await client.patch(PODS, "other", {"metadata": {"labels": {"a": "b"}}}, place.namespace)


async def test_a_viewer_only_looks(place: EvictionNamespace, real: RealCluster) -> None:
    pod = await place.pod("web", PREPARE)
    await place.ask(pod)
    guest = await user(place, real, "guest", VIEWER, rules=[READ_PODS])
    shown = await run_vacate(str(guest.kubeconfig), "status", "web", "-n", place.namespace)
    assert (shown.code, "Intercepting" in shown.out or "Pending" in shown.out) == (0, True), shown
    async with guest.client() as client:
        with pytest.raises(Forbidden):
            await client.delete(EVICTIONREQUESTS, pod["metadata"]["uid"], place.namespace)


def needless(rights: Iterable[Right], done: list[Call]) -> set[Right]:
    """Rights without a use, apart from lists: clients that watch list where a server cannot stream them."""
    found = unused(rights, done)
    return {one for one in found if not (one.verb == "list" and replace(one, verb="watch") not in found)}


async def test_the_manager_has_the_rights_that_it_uses(place: EvictionNamespace, real: RealCluster) -> None:
    """All that it ever does: hand over, evict, be refused twice, look for a pod that nobody saw go, drain."""
    blocked, gone = await place.pod("blocked", labels={"app": "blocked"}), await place.pod("gone", PREPARE)
    await _gone_unseen(place, real)
    await place.budget("blocked", minAvailable=1)
    await place.ask(blocked)
    await place.ask(gone)
    request = await place.until_active(gone, PREPARE)
    await place.report(request, activeInterceptorCompleted=True)
    await place.until_complete(gone)
    await place.until(lambda: _reported_twice(place, blocked), "the refusal is reported a second time")
    await _drain_twice(place)
    done = done_by(real, f"system:serviceaccount:{HOME}:{MANAGER}")
    assert refused(done) == set()
    exercised = [row for row in CONTROLLERS if row.component in EXERCISED]
    assert len(exercised) == len(EXERCISED)
    # Admission asks whether a requester may delete the pod; the manager deletes pods of DaemonSets alone, and
    # looks only for their owners. It patches pods where TerminationReasonAnnotations is on, and makes
    # Evacuations where a NodeMaintenance says so. It reads a NodeMaintenance only where its cache is behind,
    # and workloads only where a budget holds a pod of theirs that is prepared. It records in the status of a
    # pod only that a request is superseded.
    spare = {
        *(Right("evacuations", verb, EVACUATIONS.group) for verb in ("create", "delete", "get", "patch")),
        Right("pods", "delete"),
        Right("pods", "patch"),
        Right("pods/status", "patch"),
        Right("nodes", "get"),
        *(Right(one, "get", "apps") for one in ("daemonsets", "deployments", "replicasets", "statefulsets")),
        Right("nodemaintenances", "get", NODEMAINTENANCES.group),
        # Where LifecycleAPI is on.
        *(Right("evictions", verb, LIFECYCLE_EVICTIONS.group) for verb in ("list", "watch")),
        *(
            Right("evictionrequests", verb, LIFECYCLE_EVICTIONS.group)
            for verb in ("create", "delete", "get", "patch")
        ),
    }
    assert needless(rights_of(one.to_obj() for one in rules(exercised)), done) <= spare
    role = await place.client.get(CLUSTERROLES, MANAGER)
    assert set(rights_of(role["rules"])) == set(rights_of(one.to_obj() for one in rules()))


async def _drain_twice(place: EvictionNamespace) -> None:
    """Called off and begun anew: the second time the cancelled request is replaced."""
    pod = await place.pod("drained", PREPARE, labels={"app": "drained"})
    name, node = f"rights-{place.namespace}", pod["spec"]["nodeName"]
    pods = {"selector": {"matchLabels": {"app": "drained"}}, "unmanagedPods": "Evict"}
    body = {"metadata": {"name": name}, "spec": {"nodes": [node], "pods": pods}}

    async def called_off() -> bool:
        try:
            await place.client.get(NODEMAINTENANCES, name)
        except NotFound:
            return True
        return False

    async def prepared() -> bool:
        try:
            found = await place.request(pod)
        except NotFound:
            return False
        return found.status.active_interceptor_name == PREPARE

    for _ in range(2):
        await place.client.create(NODEMAINTENANCES, body)
        await place.until(prepared, "the eviction is requested")
        await place.client.delete(NODEMAINTENANCES, name)
        await place.until(called_off, "the maintenance is called off")
        await place.until_complete(pod)


async def _gone_unseen(place: EvictionNamespace, real: RealCluster) -> None:
    pod = await place.pod("unseen", PREPARE)
    await place.ask(pod)
    await place.until_active(pod, PREPARE)
    for manager in real.managers:
        assert manager.stop() == 0
    await place.client.delete(PODS, "unseen", place.namespace)
    await place.gone(pod)
    real.start_managers()
    assert reason(await place.until_complete(pod), "Complete") == "PodDeleted"


async def _reported_twice(place: EvictionNamespace, pod: Obj) -> bool:
    found = await place.events(pod["metadata"]["uid"], "EvictionRefused")
    return any(one.get("count", 1) > 1 for one in found)


async def test_the_webhook_has_the_rights_that_it_uses(
    place: EvictionNamespace, real: RealCluster, tmp_path: Path
) -> None:
    """All that it ever does: review, look up namespaces, and request the evictions of direct callers."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    real.install("--pod-rules", str(rules))
    try:
        assert real.webhook.stop() == 0
        real.start_webhook("--rules", str(rules))
        await place.until(lambda: _ruled(place), "a new pod is annotated by rule")
        await place.ask(await place.pod("web", PREPARE))
        await _bridge(place)
        # A requester of an eviction must be allowed to delete the pod.
        await _compare(place, real, WEBHOOK, {Right("pods", "delete")}, USED_ELSEWHERE)
    finally:
        real.install()
        real.webhook.kill()
        real.start_webhook()


async def _bridge(place: EvictionNamespace) -> None:
    """A direct eviction from its first attempt to a budget's refusal, cancelled in between."""
    pod = await place.pod("bridged", PREPARE, labels={"app": "bridged"})
    await place.budget("bridged", minAvailable=1)

    async def evict(cause: str) -> Any:
        with pytest.raises(TooManyRequests) as caught:
            await place.client.evict("bridged", place.namespace)
        return caught.value.has_cause(cause)

    assert await evict("EvictionRequest")
    await place.until_active(pod, PREPARE)
    await place.client.patch(
        EVICTIONREQUESTS, pod["metadata"]["uid"], {"spec": {"requesters": []}}, place.namespace
    )
    await place.until_complete(pod)
    assert await evict("EvictionRequest")  # which replaces the request that is over
    request = await place.until_active(pod, PREPARE)
    recorded = request.metadata.annotations[CALLERS]

    async def recorded_again() -> bool:
        await evict("EvictionRequest")
        return (await place.request(pod)).metadata.annotations[CALLERS] != recorded

    await place.until(recorded_again, "a later attempt is recorded")
    await place.report(await place.request(pod), activeInterceptorCompleted=True)
    await place.until(lambda: evict("DisruptionBudget"), "the budget is asked")


async def test_who_keeps_the_certificates_has_the_rights_that_it_uses(
    place: EvictionNamespace, real: RealCluster
) -> None:
    """All that it ever does: make, renew and publish the certificate."""
    assert real.certificates.stop() == 0
    # A name that the certificate does not have yet.
    real.certificates.start("--host", "webhook.example.com")
    try:
        await place.until(lambda: _renewed(real), "the certificate is renewed")
        await _compare(place, real, CERTIFICATES)
    finally:
        real.certificates.kill()
        real.certificates.start()


async def test_the_account_of_the_webhook_cannot_take_over_admission(
    place: EvictionNamespace, real: RealCluster
) -> None:
    """What an attacker who runs code in the webhook can do with its token."""
    async with User(WEBHOOK, real.account(HOME, WEBHOOK)).client() as client:
        for kind, name in CONFIGURATIONS:
            with pytest.raises(Forbidden):
                await client.patch(kind, name, {"webhooks": []})
            with pytest.raises(Forbidden):
                await client.delete(kind, name)
        secret = {"metadata": {"name": "mine"}, "type": "Opaque"}
        with pytest.raises(Forbidden):
            await client.create(SECRETS, secret, HOME)
        with pytest.raises(Forbidden):
            await client.get(SECRETS, TLS_SECRET, HOME)


async def test_a_webhook_that_sees_no_pods_may_not_read_namespaces(
    place: EvictionNamespace, real: RealCluster
) -> None:
    real.install("--no-pod-webhooks")
    try:
        role = await place.client.get(CLUSTERROLES, WEBHOOK)
        assert {"namespaces", "deployments"}.isdisjoint(right.resource for right in rights_of(role["rules"]))
    finally:
        real.install()


async def _ruled(place: EvictionNamespace) -> bool:
    """Whether the rule is in force: an API server follows a new configuration by and by."""
    name = f"ruled-{system_entropy().uid()[:8]}"
    pod = await place.client.create(PODS, pod_body(name), place.namespace)
    await place.client.delete(PODS, name, place.namespace, DeleteOptions(grace_period_seconds=0))
    return any("ruled.example.com" in key for key in pod["metadata"].get("annotations", {}))


async def _renewed(real: RealCluster) -> bool:
    done = done_by(real, f"system:serviceaccount:{HOME}:{CERTIFICATES}")
    return any((one.verb, one.resource) == ("patch", "secrets") for one in done)


async def _compare(
    place: EvictionNamespace,
    real: RealCluster,
    name: str,
    asked_for: Collection[Right] = frozenset(),
    elsewhere: Collection[Right] = frozenset(),
) -> None:
    done = done_by(real, f"system:serviceaccount:{HOME}:{name}")
    assert refused(done) == set()
    everywhere = await place.client.get(CLUSTERROLES, name)
    assert needless(rights_of(everywhere["rules"]), done) - set(elsewhere) == set(asked_for)
    if name == WEBHOOK:
        with pytest.raises(NotFound):
            await place.client.get(ROLES, name, HOME)
        return
    at_home = await place.client.get(ROLES, name, HOME)
    here = [one for one in done if one.namespace == HOME]
    assert needless(rights_of(at_home["rules"]), here) == set()
