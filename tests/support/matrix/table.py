"""The cases, and the one body that runs each of them.

Each case holds a drain in one way. The drain must say so, with a remedy; then the cause is removed where
somebody would remove it, and the drain must end by itself within the time that the case states.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import click

from support.matrix.place import STOP, Place, Refusal, is_ready
from vacate.api.kinds import (
    CONFIGMAPS,
    DAEMONSETS,
    DEPLOYMENTS,
    EVACUATIONS,
    EVENTS,
    HORIZONTALPODAUTOSCALERS,
    LIFECYCLE_EVICTIONS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    STATEFULSETS,
    Kind,
)
from vacate.api.objects import Obj, dig
from vacate.api.times import format_time
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import DELETE_PREPARED, OPT_IN
from vacate.cli.main import cli
from vacate.client.codec import codec_for
from vacate.client.requests import STRATEGIC_PATCH
from vacate.errors import ApiError
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECTS
from vacate.eviction.dialects.turn_conditions import declined_type, failed_type
from vacate.eviction.model import Limits, Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.eviction.registration import PREFIXES
from vacate.runtime.reconcile import MAX_RETRY_SECONDS

Step = Callable[[Place], Awaitable[None]]

REPORTED_WITHIN = 20.0
"""Seconds from the start of a drain until it reports what holds it."""
ENDS_WITHIN = MAX_RETRY_SECONDS + 10.0
"""Seconds from the removal of a cause until the drain has ended: until it is tried again, and for the end of
one pod, the requests and reports about it."""
REAL, EMBEDDED = frozenset({"real"}), frozenset({"embedded"})
LIVE = REAL | EMBEDDED
EVERYWHERE = LIVE | {"simulated"}
NO_WEBHOOKS = {"embedded": "its API server calls no webhooks: none can be away"}
POLICIES = {"real": "a policy refuses it there, beside the other cases; a missing right would hold them all"}
SILENT = "silent.example.com"
RESPONDER = f"{SILENT}/backup"
FINALIZER = "example.com/held"


async def nothing(_place: Place) -> None:
    """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way in which a drain is held."""

    name: str
    appear: Step  # what holds the drain
    remove: Step
    reports: tuple[
        str, ...
    ] = ()  # the kinds of blockers, one of which is reported; none where nothing can be
    names: str = ""  # what the blocker's message or name must have
    reported_within: float = REPORTED_WITHIN
    ends_within: float = ENDS_WITHIN
    spec: dict[str, Any] = field(default_factory=dict)  # of the NodeMaintenance
    given: Step = nothing  # what is there before, so that the rest may appear at any moment of the drain
    after: Step = nothing  # a step after the drain was begun
    finish: Step = nothing  # what others do once the cause is removed, in the time that the case states
    passed: str = ""  # the reason of an Event of the pod, where the drain may be past it before anybody looks
    event: str = ""  # the reason of an Event about the drain, where its status cannot report it
    progress: str = ""  # what the message of the node must have, where an interceptor says what it waits for
    limits: Limits = field(default_factory=Limits)  # of the installation
    takes_away: bool = False  # a part of the cluster, which must not be started again meanwhile
    alone: frozenset[str] = frozenset()  # where it would hold other drains of the same cluster
    not_in: Mapping[str, str] = field(default_factory=dict)  # places where it cannot run, and why

    @property
    def request_kinds(self) -> list[Dialect]:
        """The kinds of requests by which its drain may work."""
        return [one for one in DIALECTS.values() if one.request_kind not in EXEMPT.get(self.name, {})]

    @property
    def places(self) -> frozenset[str]:
        """Where it runs."""
        return EVERYWHERE - self.not_in.keys()


async def run_case(
    place: Place,
    case: Case,
    pause: Callable[[], Awaitable[None]] | None = None,
    late: Callable[[], Awaitable[None]] | None = None,
) -> float:
    """The cause appears, is reported, and goes; returns the seconds from then until the drain has ended.

    It appears before the drain begins, or as long after that as `late` takes.
    """
    await case.given(place)
    if late is None:
        await case.appear(place)
    await place.drain(**case.spec)
    if late is not None:
        await late()
        await case.appear(place)
    await case.after(place)
    if case.reports:
        await place.until(
            lambda: _reported(place, case), f"{case.name}: {case.reports}", case.reported_within
        )
    if case.event:
        await place.until(lambda: _evented(place, case), f"{case.name}: {case.event}", case.reported_within)
    if case.progress:
        await place.until(lambda: _shown(place, case), f"{case.name}: {case.progress}", case.reported_within)
    if pause is not None:
        await pause()
    since = place.moment()
    await case.remove(place)
    began, removed = place.now(), place.moment()
    await case.finish(place)
    left = began + case.ends_within - place.now()
    await place.until(place.is_drained, f"{case.name}: the drain ends", left)
    await place.check_progress(case.name, since, removed, case.ends_within)
    return place.now() - began


async def _shown(place: Place, case: Case) -> bool | None:
    rows = (await place.status()).get("nodes", [])
    return any(case.progress in one.get("message", "") for one in rows) or None


async def _evented(place: Place, case: Case) -> bool | None:
    found = (await place.client.list(EVENTS, "default")).items
    shown = [one for one in found if one["involvedObject"].get("name") == place.drain_name]
    return any(one["reason"] == case.event and case.names in one["message"] for one in shown) or None


async def _reported(place: Place, case: Case) -> Obj | None:
    """The blocker that the case causes. All that are shown have a remedy, and say since when."""
    shown = (await place.status()).get("blockers", [])
    for one in shown:
        assert one["message"], one
        assert one["remedy"], one
        assert one["since"], one
        for remedy in one["remedies"]:
            _can_be_typed(remedy.get("command", ""))
    text = case.names.replace("NAMESPACE", place.namespace)
    if case.passed:
        events = (await place.client.list(EVENTS, place.namespace)).items
        found = [one for one in events if one["reason"] == case.passed and text in one["message"]]
        if found:
            return dict(found[0])
    return next(
        (
            one
            for one in shown
            if one["kind"] in case.reports
            and text in f"{one.get('name', '')} {one['message']} {one['remedy']}"
        ),
        None,
    )


def _can_be_typed(line: str) -> None:
    """A command of ours that is proposed is one that takes these arguments."""
    program, *words = shlex.split(line) or [""]
    if program == "vacate":
        found = cli.get_command(click.Context(cli), words[0])
        assert found is not None, line
        found.make_context(words[0], words[1:]).close()


# Budgets


async def _one_pod(place: Place) -> None:
    await place.pod("p")


async def _budget(place: Place) -> None:
    await place.budget("strict", minAvailable=1)


async def _strict_budget(place: Place) -> None:
    await place.pod("p")
    await _budget(place)


async def _open_budget(place: Place) -> None:
    change = {"spec": {"minAvailable": 0}}
    await place.client.patch(PODDISRUPTIONBUDGETS, "strict", change, place.namespace)


async def _delete_budget(place: Place) -> None:
    await place.delete(PODDISRUPTIONBUDGETS, "strict")


async def _two_budgets(place: Place) -> None:
    await _budget(place)
    await place.budget("other", minAvailable=0)


async def _unready_peer(place: Place) -> None:
    """Two pods, of which one must be healthy; the one that would be left is not."""
    await place.pod("p")
    await _unready_peer_of(place)


async def _unready_peer_of(place: Place) -> None:
    never = {"sim.vacate.dev/ready-seconds": "never"}
    await place.pod("peer", node=place.nodes[1], annotations=never, ready=False)
    await place.budget("strict", minAvailable=1)


async def _ready_peer(place: Place) -> None:
    """The peer is replaced by one that becomes ready."""
    await place.client.delete(PODS, "peer", place.namespace)
    await place.pod("peer-2", node=place.nodes[1])


async def _unready_pods(place: Place) -> None:
    """Two pods, of which one must be healthy; neither is."""
    await place.pod("p", annotations={"sim.vacate.dev/ready-seconds": "never"}, ready=False)
    await _unready_peer_of(place)


async def _unready_pod(place: Place) -> None:
    """The only pod of a budget, which never becomes ready."""
    await place.pod("p", annotations={"sim.vacate.dev/ready-seconds": "never"}, ready=False)
    await place.budget("strict", minAvailable=1)


async def _let_unready_go(place: Place) -> None:
    change = {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}
    await place.client.patch(PODDISRUPTIONBUDGETS, "strict", change, place.namespace)


# Requests


def _ending(result: str) -> Step:
    """An interceptor ends its turn that way as soon as it has it, and a budget holds the pod then."""

    async def end(place: Place) -> None:
        request, name = await place.turn(_silent(place)), _silent(place)
        sort = declined_type(name) if result == "Declined" else failed_type(name)
        await place.report(request, await _condition(place, sort, "True"), activeInterceptorCompleted=True)

    return end


async def _condition(place: Place, sort: str, status: str) -> Obj:
    now = format_time(await place.server_time())
    return {
        "type": sort,
        "status": status,
        "reason": "Tried",
        "message": "no disk",
        "lastTransitionTime": now,
    }


def _silent(place: Place) -> str:
    return place.interceptor(SILENT)


async def _take_back(place: Place) -> None:
    """The interceptor asks for another turn."""
    request = await place.until(lambda: _blocked(place), "the request is blocked", place.setup_seconds)
    await place.report(request, await _condition(place, declined_type(_silent(place)), "False"))


async def _complete_again(place: Place) -> None:
    """The interceptor has its turn again, and completes it when the budget lets the pod go."""
    again = await place.turn(_silent(place))
    await place.delete(PODDISRUPTIONBUDGETS, "strict")
    await place.report(again, activeInterceptorCompleted=True)


async def _blocked(place: Place) -> EvictionRequest | None:
    found = [one for one in await place.requests() if not one.complete]
    return next((one for one in found if recorded_stage(one) is Stage.BLOCKED), None)


async def _intercepted_behind_budget(place: Place) -> None:
    await place.pod("p", _silent(place))
    await place.budget("strict", minAvailable=1)


async def _silent_interceptor(place: Place) -> None:
    await place.pod("p", _silent(place))


async def _complete_turn(place: Place) -> None:
    """The interceptor is there after all, and completes its turn, which faults may have delayed."""
    await place.report(await place.turn(_silent(place)), activeInterceptorCompleted=True)


async def _pinned_request(place: Place) -> None:
    """A request of somebody else, cancelled and deleted, that a finalizer holds under the only name.

    An interceptor has its turn until then: otherwise the pod would be evicted for that request at once.
    """
    await _pin(place, await place.pod("p", _silent(place)))


async def _pin(place: Place, pod: Obj) -> None:
    kind = place.dialect.kind
    body = place.dialect.new_request(codec_for(Pod).convert(pod), "tenant.example.com", "", None)
    body["metadata"].setdefault("finalizers", []).append(FINALIZER)
    name = (await place.client.create(kind, body, place.namespace))["metadata"]["name"]
    await place.client.delete(kind, name, place.namespace)
    await place.client.patch(kind, name, {"metadata": {"finalizers": [FINALIZER]}}, place.namespace)


async def _unpin_request(place: Place) -> None:
    for one in await place.requests():
        change = {"metadata": {"finalizers": None}}
        await place.client.patch(place.dialect.kind, one.metadata.name, change, place.namespace)


async def _complete_new_turn(place: Place) -> None:
    """The drain requests the eviction anew, and the interceptor has its turn; or it was past that before."""

    async def end() -> bool | None:
        for one in await place.requests():
            now = one.status
            if one.complete or now.active_interceptor_name != _silent(place):
                continue
            if not now.active_interceptor_completed:
                with contextlib.suppress(ApiError):  # the pod was evicted past the old request meanwhile
                    await place.report(one, activeInterceptorCompleted=True)
                    return True
        return await place.is_drained()

    await place.until(end, "the pod is requested anew or gone", place.setup_seconds)


# Pods and nodes


async def _finalizer_of_pod(place: Place) -> None:
    await place.pod("p", finalizers=[FINALIZER], terminationGracePeriodSeconds=1)


async def _release_pod(place: Place) -> None:
    await place.client.patch(PODS, "p", {"metadata": {"finalizers": None}}, place.namespace)


async def _delete_pod(place: Place) -> None:
    await place.client.delete(PODS, "p", place.namespace)


async def _local_data(place: Place) -> None:
    await place.pod("p", volumes=[{"name": "data", "emptyDir": {}}])


def _pods_may_go(**rules: str) -> Step:
    async def change(place: Place) -> None:
        patch = {"spec": {"pods": rules}}
        await place.client.patch(NODEMAINTENANCES, place.drain_name, patch)

    return change


def _other_drain(key: str) -> Step:
    return lambda place: _held_elsewhere(place, key)


async def _held_elsewhere(place: Place, key: str) -> None:
    """Another drain, of another node, that a budget holds."""
    await place.pod("p")
    await place.pod("held", node=place.nodes[1], labels={"app": f"{place.namespace}-other"})
    selector = {"matchLabels": {"app": f"{place.namespace}-other"}}
    await place.budget("strict", minAvailable=1, selector=selector)
    pods = {"unmanagedPods": "Evict", "selector": selector}
    body = {
        "apiVersion": NODEMAINTENANCES.api_version,
        "kind": NODEMAINTENANCES.kind,
        "metadata": {"name": f"other-{place.namespace}"},
        "spec": {"nodes": [place.nodes[1]], "topologyKey": key, "pods": pods},
    }
    await place.client.create(NODEMAINTENANCES, body)

    async def begun() -> bool | None:
        rows = (await place.status(f"other-{place.namespace}")).get("nodes", [])
        return bool(rows and rows[0].get("startTime")) or None

    await place.until(begun, "the other drain has begun", place.setup_seconds)


def _stop(part: str) -> Step:
    return lambda place: place.stop(part)


def _start(part: str) -> Step:
    return lambda place: place.start(part)


async def _workload(place: Place, kind: Kind, name: str, annotations: dict[str, str], **spec: Any) -> None:
    """A workload whose pods the drain is about."""
    labels = {"app": place.namespace}
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"selector": {"matchLabels": labels}, "template": _template(place), **spec},
    }
    await place.client.create(kind, body, place.namespace)


def _template(place: Place, **annotations: str) -> Obj:
    meta = {"labels": {"app": place.namespace}, "annotations": {**STOP, **annotations}}
    return {"metadata": meta, "spec": {"containers": [{"name": "main", "image": "app:1"}]}}


async def _daemon_pod(place: Place) -> None:
    await _workload(place, DAEMONSETS, "agent", {})
    await place.until(lambda: _daemon_on(place), "the DaemonSet has a pod on the node", place.setup_seconds)


async def _daemon_on(place: Place) -> Obj | None:
    found = (await place.client.list(PODS, place.namespace)).items
    return next((one for one in found if one["spec"].get("nodeName") == place.node), None)


async def _pinned_daemon_pod(place: Place) -> None:
    await _daemon_pod(place)
    await _pin(place, await _daemon_on(place) or {})


async def _silent_evacuator(place: Place) -> None:
    """Somebody else has created an Evacuation, whose evacuator nobody runs."""
    turn = {f"{PREFIXES[1]}/priority_{SILENT}": "10"}
    pod = codec_for(Pod).convert(await place.pod("p", annotations=turn))
    made = EVACUATION.new_request(pod, "tenant.example.com", "", None)
    await place.client.create(EVACUATIONS, made, place.namespace)


async def _complete_evacuation(place: Place) -> None:
    (one,) = (await place.client.list(EVACUATIONS, place.namespace)).items
    done = EVACUATION.status_patch({"status": {"activeInterceptorCompleted": True}})
    await place.client.patch(
        EVACUATIONS, one["metadata"]["name"], done, place.namespace, subresource="status"
    )


async def _silent_responder(place: Place) -> None:
    """Somebody else has created an EvictionRequest of lifecycle.k8s.io, whose responder nobody runs."""
    responders = [{"name": RESPONDER, "priority": 20_000}]
    meta = (await place.pod("p", evictionResponders=responders))["metadata"]
    target = {"pod": {"name": meta["name"], "uid": meta["uid"]}}
    body = {
        "apiVersion": LIFECYCLE_REQUESTS.api_version,
        "kind": LIFECYCLE_REQUESTS.kind,
        "metadata": {"name": "tenant"},
        "spec": {"target": target, "requester": "example.com/tenant", "intent": "Eviction"},
    }
    await place.client.create(LIFECYCLE_REQUESTS, body, place.namespace)


async def _begun(place: Place) -> Obj | None:
    found = (await place.client.list(LIFECYCLE_EVICTIONS, place.namespace)).items
    return next((one for one in found if dig(one, "status", "responders")), None)


async def _complete_response(place: Place) -> None:
    one = await place.until(lambda: _begun(place), "the first turn has begun", place.setup_seconds)
    probe = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "now"}}
    now = (await place.client.create(CONFIGMAPS, probe, place.namespace))["metadata"]["creationTimestamp"]
    done = {"status": {"responders": [{"name": RESPONDER, "completionTime": now}]}}
    name = one["metadata"]["name"]
    await place.client.patch(
        LIFECYCLE_EVICTIONS, name, done, place.namespace, patch_type=STRATEGIC_PATCH, subresource="status"
    )


async def _moving_deployment(place: Place) -> None:
    """One replica that has opted in to be moved."""
    await _single_replica(place, {OPT_IN: "true"})


async def _no_room(place: Place) -> None:
    await _fit(place, place.nodes[1], None)


async def _fit(place: Place, node: str, value: str | None = "true") -> None:
    """Whether the pods of this place fit a node: a cordon would hold those of others as well."""
    await place.client.patch(NODES, node, {"metadata": {"labels": {_label(place): value}}})


def _label(place: Place) -> str:
    return f"example.com/{place.namespace}"


async def _staying_deployment(place: Place) -> None:
    """One replica behind a strict budget, whose owner has not opted in."""
    await _single_replica(place, {})


async def _opt_in(place: Place) -> None:
    """In lifecycle.k8s.io, where responders are fixed, the pods are created again, as the remedy says."""
    change: Obj = {"metadata": {"annotations": {OPT_IN: "true"}}}
    if place.dialect is LIFECYCLE:
        restarted = {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}
        change["spec"] = {"template": {"metadata": restarted}}
    await place.client.patch(DEPLOYMENTS, "web", change, place.namespace)


async def _single_replica(place: Place, annotations: dict[str, str], *interceptors: str, **spec: str) -> None:
    """A Deployment whose pod is on the node that is drained, and whose next one fits another node.

    Drains of others cordon nodes as well, which its pods tolerate.
    """
    await _fit(place, place.node)
    turns, responders = place.registration(*interceptors)
    template = _template(place, **turns)
    template["spec"] |= {"nodeSelector": {_label(place): "true"}, **responders, **spec}
    template["spec"]["tolerations"] = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    await _workload(place, DEPLOYMENTS, "web", annotations, replicas=1, template=template)
    await _placed_and_elsewhere_next(place, registered=bool(annotations or interceptors))


async def _placed_and_elsewhere_next(place: Place, *, registered: bool) -> None:
    """Once the only pod is there, behind a strict budget."""

    async def placed() -> bool | None:
        found = (await place.client.list(PODS, place.namespace)).items
        complete = bool(found) and (not registered or place.dialect.registration(found[0]).interceptors)
        return bool(complete and is_ready(found[0])) or None

    await place.until(placed, "the pod is placed and registered", place.setup_seconds)
    await _fit(place, place.node, None)
    await _fit(place, place.nodes[1])
    await place.budget("strict", minAvailable=1)


async def _intercepted_deployment(place: Place) -> None:
    """One replica with a budget of its own, and an interceptor."""
    await _single_replica(place, {}, _silent(place))


async def _let_prepared_go(place: Place) -> None:
    change = {"metadata": {"annotations": {DELETE_PREPARED: "true"}}}
    await place.client.patch(DEPLOYMENTS, "web", change, place.namespace)


async def _single_member(place: Place) -> None:
    """A StatefulSet of one member that is to go once it is prepared, but which only people may delete."""
    annotations = {OPT_IN: "true", DELETE_PREPARED: "true"}
    template = _template(place)
    template["spec"]["nodeSelector"] = {_label(place): "true"}
    template["spec"]["tolerations"] = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    await _fit(place, place.node)
    on_delete = {"type": "OnDelete"}
    await _workload(
        place, STATEFULSETS, "db", annotations, replicas=1, template=template, updateStrategy=on_delete
    )
    await _placed_and_elsewhere_next(place, registered=True)


async def _roll_members(place: Place) -> None:
    change = {"spec": {"updateStrategy": {"type": "RollingUpdate"}}}
    await place.client.patch(STATEFULSETS, "db", change, place.namespace)


async def _no_quota(place: Place) -> None:
    await place.refuse(Refusal("quota", "POST", PODS, link="controllers"))


async def _moving_with_class(place: Place) -> None:
    await _create_class(place)
    await _single_replica(place, {OPT_IN: "true"}, priorityClassName=_class(place))


async def _delete_class(place: Place) -> None:
    """Pods name a PriorityClass that is gone: admission refuses the replacement."""
    await place.delete(PRIORITYCLASSES, _class(place))


async def _create_class(place: Place) -> None:
    body = {"apiVersion": PRIORITYCLASSES.api_version, "kind": PRIORITYCLASSES.kind, "value": 1}
    await place.client.create(PRIORITYCLASSES, {**body, "metadata": {"name": _class(place)}})


def _class(place: Place) -> str:
    return f"class-{place.namespace}"


async def _scaled_deployment(place: Place) -> None:
    """Its autoscaler allows no second replica."""
    body = {
        "apiVersion": HORIZONTALPODAUTOSCALERS.api_version,
        "kind": HORIZONTALPODAUTOSCALERS.kind,
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1,
            "maxReplicas": 1,
        },
    }
    await place.client.create(HORIZONTALPODAUTOSCALERS, body, place.namespace)
    await _single_replica(place, {OPT_IN: "true"})


async def _raise_ceiling(place: Place) -> None:
    change = {"spec": {"maxReplicas": 2}}
    await place.client.patch(HORIZONTALPODAUTOSCALERS, "web", change, place.namespace)


async def _recreate(place: Place) -> None:
    """It terminates all of its pods at once, so that its interceptor declines."""
    await _replace_by(place, {"type": "Recreate", "rollingUpdate": None})


async def _roll(place: Place) -> None:
    await _replace_by(place, {"type": "RollingUpdate"})


async def _replace_by(place: Place, strategy: Obj) -> None:
    await place.client.patch(DEPLOYMENTS, "web", {"spec": {"strategy": strategy}}, place.namespace)


async def _rolling_deployment(place: Place) -> None:
    """The pods of its new template never become ready."""
    await _single_replica(place, {OPT_IN: "true"})
    await _roll_out(place, "never")

    async def rolling() -> bool | None:
        return len((await place.client.list(PODS, place.namespace)).items) > 1 or None

    await place.until(rolling, "the rollout has begun", place.setup_seconds)


async def _finish_rollout(place: Place) -> None:
    await _roll_out(place, "0.1")


async def _roll_out(place: Place, ready_seconds: str) -> None:
    template = _template(place, **{"sim.vacate.dev/ready-seconds": ready_seconds})
    await place.client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, place.namespace)


async def _room(place: Place) -> None:
    await _fit(place, place.nodes[1])


KindOf = Callable[[Place], Kind]


def _is(kind: Kind) -> KindOf:
    return lambda _: kind


def _request_kind(place: Place) -> Kind:
    """What the drain creates."""
    return place.dialect.for_requester("drain").kind


def _process_kind(place: Place) -> Kind:
    """What has the status of an eviction: in lifecycle.k8s.io another kind than the request."""
    return place.dialect.kind


def _refusing(by: str, method: str, kind: KindOf, subresource: str = "") -> Step:
    return lambda place: place.refuse(Refusal(by, method, kind(place), subresource))


async def _refuse_by_quota(place: Place) -> None:
    await place.refuse(Refusal("quota", "POST", _request_kind(place)))
    await _pods_may_go(unmanagedPods="Evict")(place)


async def _allow(place: Place) -> None:
    await place.allow()


BY = {
    "policy": "ValidatingAdmissionPolicy",
    "webhook": "denied the request",
    "away": "failed calling webhook",
    "quota": "exceeded quota",
    "rights": "cannot",
}


def _refused(
    what: str,
    by: str,
    request: tuple[str, KindOf, str],
    report: str = "",
    pods: Step = _one_pod,
    remove: Step = _allow,
    event: str = "",
    finish: Step = nothing,
    **spec: Any,
) -> list[Case]:
    """What Vacate is refused, once for each of the means that refuse it."""
    return [
        Case(
            f"{what} refused by {one}",
            _refusing(one, *request),
            remove,
            (report,) if report else (),
            BY[one],
            spec=spec,
            given=pods,
            event=event,
            finish=finish,
            # What another drain of the node has written there already is not written again, nor refused.
            alone=LIVE if one == "rights" or what == "conditions of nodes" else frozenset(),
            not_in=NO_WEBHOOKS
            if one == "away"
            else POLICIES
            if one == "rights" and what != "requests"
            else {},
        )
        for one in by.split()
    ]


CASES = (
    Case("a budget that is opened", _budget, _open_budget, ("DisruptionBudget",), "strict", given=_one_pod),
    Case(
        "a budget that is deleted", _budget, _delete_budget, ("DisruptionBudget",), "strict", given=_one_pod
    ),
    Case("several budgets", _two_budgets, _delete_budget, ("DisruptionBudget",), "several", given=_one_pod),
    Case("an unready pod of the budget", _unready_peer, _ready_peer, ("DisruptionBudget",), "strict"),
    Case(
        "an interceptor that is silent",
        _silent_interceptor,
        nothing,
        ("Interceptor", "Evacuator", "Responder"),
        SILENT,
        finish=_complete_turn,
        reported_within=80.0,
    ),
    Case(
        "an interceptor that declines",
        _intercepted_behind_budget,
        _take_back,
        ("DisruptionBudget",),
        "strict",
        after=_ending("Declined"),
        finish=_complete_again,
    ),
    Case(
        "an interceptor that fails",
        _intercepted_behind_budget,
        _open_budget,
        ("DisruptionBudget",),
        "strict",
        after=_ending("Failed"),
    ),
    Case("an unready pod", _unready_pod, _let_unready_go, ("DisruptionBudget",), "strict"),
    Case(  # which its budget lets go then, although it allows no disruption
        "an unready pod whose peer recovers", _unready_pods, _ready_peer, ("DisruptionBudget",), "strict"
    ),
    Case(
        "a finalizer of the request",
        _pinned_request,
        _unpin_request,
        ("RequestPinned",),
        FINALIZER,
        finish=_complete_new_turn,
    ),
    Case("a finalizer of the request, which stays", _pinned_request, nothing, ("RequestPinned",), FINALIZER),
    Case(
        "a finalizer of the request for a DaemonSet pod, which stays",
        _pinned_daemon_pod,
        nothing,
        ("RequestPinned",),
        FINALIZER,
        passed="EvictedPastRequest",
        spec={"pods": {"daemonSetPods": "Evict"}},
    ),
    Case(
        "a finalizer of the pod",
        _finalizer_of_pod,
        _release_pod,
        ("Terminating",),
        FINALIZER,
        reported_within=80.0,
    ),
    Case(
        "an unmanaged pod that is deleted",
        _one_pod,
        _delete_pod,
        ("UnmanagedPod",),
        "--force",
        spec={"pods": {"unmanagedPods": "Refuse"}},
    ),
    Case(
        "an unmanaged pod that is allowed to go",
        _one_pod,
        _pods_may_go(unmanagedPods="Evict"),
        ("UnmanagedPod",),
        "--force",
        spec={"pods": {"unmanagedPods": "Refuse"}},
    ),
    Case(
        "local data",
        _local_data,
        _pods_may_go(localDataPods="Evict"),
        ("LocalData",),
        "--delete-emptydir-data",
        spec={"pods": {"localDataPods": "Refuse"}},
    ),
    Case(
        "a drain of another zone",
        _other_drain("kubernetes.io/hostname"),
        _open_budget,
        ("Turn",),
        "other-NAMESPACE",
        alone=EVERYWHERE,
    ),
    Case(
        "as many nodes as the installation allows",
        _other_drain(""),
        _open_budget,
        ("Turn",),
        "--max-draining-nodes",
        limits=Limits(draining_nodes=1),
        alone=LIVE,
    ),
    Case(
        "a DaemonSet pod",
        _daemon_pod,
        _pods_may_go(daemonSetPods="Ignore"),
        ("DaemonSetPod",),
        "--ignore-daemonsets",
        spec={"pods": {"daemonSetPods": "Refuse"}},
    ),
    Case(
        "a silent evacuator of the other kind of request",
        _silent_evacuator,
        _complete_evacuation,
        ("Evacuator",),
        SILENT,
        reported_within=80.0,
    ),
    Case(
        "a silent responder of lifecycle.k8s.io",
        _silent_responder,
        _complete_response,
        ("Responder",),
        RESPONDER,
        reported_within=80.0,
        not_in=dict.fromkeys(LIVE, "its gate is closed there; tests/e2e/process/test_lifecycle.py opens it"),
    ),
    Case(
        "a surge without room",
        _no_room,
        _room,
        ("Replacement",),
        "make room",
        given=_moving_deployment,
        reported_within=40.0,
    ),
    Case(
        "a surge without quota",
        _no_quota,
        _allow,
        ("Replacement",),
        BY["quota"],
        given=_moving_deployment,
        reported_within=40.0,
        ends_within=ENDS_WITHIN + 15.0,  # the ReplicaSet controller tries again ever more rarely
    ),
    Case(
        "a surge whose pods are refused",
        _delete_class,
        _create_class,
        ("Replacement",),
        "PriorityClass",
        given=_moving_with_class,
        reported_within=40.0,
        ends_within=ENDS_WITHIN + 15.0,
    ),
    Case(
        "a surge beyond maxReplicas",
        _scaled_deployment,
        _raise_ceiling,
        ("DisruptionBudget",),
        "strict",
        reported_within=40.0,
        ends_within=ENDS_WITHIN + 30.0,  # another turn, the autoscaler, and a replacement that becomes ready
    ),
    Case(
        "a surge that the strategy does not allow",
        _recreate,
        _roll,
        ("DisruptionBudget",),
        "Recreate",
        given=_moving_deployment,
        reported_within=40.0,
        ends_within=ENDS_WITHIN + 15.0,  # another turn, and a replacement that becomes ready
    ),
    Case(
        "a member that only people may delete",
        nothing,
        _roll_members,
        ("DisruptionBudget",),
        "OnDelete",
        given=_single_member,
        reported_within=40.0,
        ends_within=ENDS_WITHIN + 15.0,  # another turn
    ),
    Case(
        "a rollout that does not end",
        _rolling_deployment,
        _finish_rollout,
        progress="Waiting for the rollout of Deployment web to end",
        reported_within=40.0,
        ends_within=ENDS_WITHIN + 15.0,
    ),
    Case(
        "an owner who has not opted in",
        _staying_deployment,
        _opt_in,
        ("DisruptionBudget",),
        "strict",
        ends_within=ENDS_WITHIN + 15.0,  # a new request, a replacement that becomes ready, and the pod's end
    ),
    Case(
        "a prepared pod behind its own budget",
        _intercepted_deployment,
        _let_prepared_go,
        ("DisruptionBudget",),
        "strict",
        after=_complete_turn,
    ),
    Case(
        "no manager",
        _stop("manager"),
        _start("manager"),
        given=_one_pod,
        takes_away=True,
        alone=EVERYWHERE,
    ),
    Case(
        "no API server",
        nothing,
        _start("server"),
        given=_one_pod,
        after=_stop("server"),
        takes_away=True,
        alone=EVERYWHERE,
    ),
    Case(
        "a node that is not ready",
        _stop("node"),
        _start("node"),
        ("NodeNotReady",),
        "kubelet",
        given=_one_pod,
        reported_within=120.0,
        ends_within=60.0,  # the node registers again, and ends the pod with its whole grace period
        alone=EVERYWHERE,
    ),
    Case(
        "requests refused by quota",
        _one_pod,
        _allow,
        ("RequestRefused",),
        "quota",
        spec={"pods": {"unmanagedPods": "Refuse"}},  # no request is made before there is a quota
        after=_refuse_by_quota,
        alone=EMBEDDED,
    ),
    *_refused("requests", "policy webhook away rights", ("POST", _request_kind, ""), "RequestRefused"),
    *_refused(  # where its interceptors cannot be given their turns
        "statuses of requests",
        "policy rights",
        ("PATCH", _process_kind, "status"),
        "WriteRefused",
        _silent_interceptor,
        finish=_complete_turn,
    ),
    *_refused("new Evictions", "policy rights", ("POST", _process_kind, ""), "WriteRefused"),
    *_refused("evictions", "policy webhook rights", ("POST", _is(PODS), "eviction"), "EvictionRefused"),
    *_refused("cordons", "policy webhook rights", ("PATCH", _is(NODES), ""), "CordonRefused"),
    *_refused(  # the drain ends all the same
        "conditions of nodes",
        "policy rights",
        ("PATCH", _is(NODES), "status"),
        "ConditionsRefused",
        _strict_budget,
        _open_budget,
    ),
    *_refused("statuses", "policy rights", ("PATCH", _is(NODEMAINTENANCES), "status"), event="WriteRefused"),
    *_refused(
        "finalizers of drains", "webhook rights", ("PATCH", _is(NODEMAINTENANCES), ""), event="WriteRefused"
    ),
    *_refused(
        "deletions at the deadline",
        "policy rights",
        ("DELETE", _is(PODS), ""),
        "DeletionRefused",
        _strict_budget,
        deadlineSeconds=1,
        onDeadline="Delete",
    ),
)
UNREPORTED: Mapping[str, str] = {
    "no manager": "it is what reports; the commands say that none works",
    "no API server": "nothing can be read; the commands say so",
}
"""By case: why the drain itself cannot report it. tests/cli has what the commands say."""

_NAMES_DIFFER = {"Lifecycle": "requests of others have other names, and are in the way of none"}
_NO_EVICTIONS = dict.fromkeys(("EvictionRequest", "Evacuation"), "the request is the process itself")
EXEMPT: Mapping[str, Mapping[str, str]] = {
    "a finalizer of the request": _NAMES_DIFFER,
    "a finalizer of the request, which stays": _NAMES_DIFFER,
    "a finalizer of the request for a DaemonSet pod, which stays": _NAMES_DIFFER,
    **{f"new Evictions refused by {one}": _NO_EVICTIONS for one in ("policy", "rights")},
}
"""By case: the kinds of requests with which it cannot be, and why."""

BY_NAME = {case.name: case for case in CASES}
