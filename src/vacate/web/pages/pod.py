"""PURE. A pod and the request about it: what holds it, what comes next, and its turns as a picture."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.text import plain
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import shown_stage
from vacate.eviction.requesternames import is_maintenance, maintenance_of
from vacate.views.causes import Cause
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import span
from vacate.views.remedies import reason_of
from vacate.views.turns import TurnState
from vacate.web.components import (
    DONE,
    MOVE,
    OVER,
    SELF,
    STUCK,
    WAIT,
    Page,
    age,
    ahead,
    broken,
    clock,
    crumb,
    drain_link,
    local_times,
    node_link,
    page_of,
    pairs,
    quoted,
    remedies,
    section,
    verdict,
)
from vacate.web.markup import Content, Element, el
from vacate.web.snapshot import Snapshot
from vacate.web.timeline import timeline


def pod_page(
    snapshot: Snapshot, namespace: str, name: str, explanation: Explanation, acts: Content = None
) -> Page:
    """The pod, with the sentences of `vacate explain`."""
    request = snapshot.request_about(namespace, name)
    if request is not None and explanation.request != request.metadata.name:
        request = None  # the caches and the explanation are of different moments
    held = snapshot.causes_by_pod.get((namespace, name), ())
    if request is not None and not request.complete:
        held = (*snapshot.of_manager, *held)
    shape = pod_shape(explanation, request, held)
    headline = explanation.headline.removesuffix(".")
    main = [
        _crumb(snapshot, namespace, name),
        verdict(shape, headline, local_times(" ".join(explanation.awaited[:2]), snapshot.now), acts=acts),
        _first_columns(snapshot, explanation),
        _turns(snapshot, request, explanation),
        _last_columns(snapshot, request, explanation),
    ]
    word = explanation.stage.value if explanation.stage else "Pod"
    return page_of(f"{word}: {name}", "requests", main)


def pod_shape(explanation: Explanation, request: EvictionRequest | None, held: Sequence[Cause]) -> str:
    """The state of the pod's eviction as a shape; `held` is what holds it."""
    stage = explanation.stage
    if any(turn.state in (TurnState.HELD, TurnState.OVERDUE) for turn in explanation.turns):
        return STUCK
    if any(one.needs_person for one in held):
        return STUCK
    if stage is Stage.BLOCKED:
        return SELF if held else STUCK
    if stage in (Stage.INTERCEPTING, Stage.EVICTING, Stage.TERMINATING):
        return MOVE
    if stage in (Stage.CANCELLED, Stage.SUPERSEDED):
        return OVER
    return DONE if request is not None and request.complete else WAIT


def request_shape(request: EvictionRequest, held: Sequence[Cause]) -> str:
    """The same of a request in a list, without an explanation."""
    stage = shown_stage(request)
    if any(one.needs_person for one in held):
        return STUCK
    if request.complete:
        return OVER if stage in (Stage.CANCELLED, Stage.SUPERSEDED) else DONE
    return SELF if stage is Stage.BLOCKED else MOVE


def _crumb(snapshot: Snapshot, namespace: str, name: str) -> Element:
    pod = snapshot.pod(namespace, name)
    node = pod.spec.node_name if pod is not None else ""
    drain = snapshot.draining(node) if node else None
    steps: list[Content] = [el("a", "", "Requests", href="/requests")]
    if drain is not None:
        steps = [el("a", "", "Drains", href="/drains"), drain_link(drain.metadata.name)]
    return crumb(*steps, *([node_link(node)] if node else []), f"{namespace}/{name}")


def _first_columns(snapshot: Snapshot, explanation: Explanation) -> Element:
    can = section(
        "can",
        "What you can do",
        remedies(_ways(snapshot, explanation), "can") or el("p", "dim", "Nothing is needed."),
        key="can",
    )
    when: Content = None
    if explanation.next_at is not None and explanation.next_at > snapshot.now:
        when = el("p", "when", "In ", ahead(explanation.next_at, snapshot.now), " at the latest")
    sentences = [*explanation.next, *explanation.awaited[2:]]
    nothing = "Nothing: no eviction is requested." if explanation.stage is None else "Nothing more."
    next_ = section(
        "next",
        "What happens next",
        when,
        el(
            "div",
            "sent",
            [el("p", "", local_times(one, snapshot.now)) for one in sentences] or el("p", "", nothing),
        ),
        key="next",
    )
    return el("div", "two", can, next_, key="first-columns")


def _ways(snapshot: Snapshot, explanation: Explanation) -> list[Remedy]:
    """What helps: first about what holds the pod, then what the explanation knows beside that."""
    causes = snapshot.causes_by_pod.get((explanation.namespace, explanation.pod), ())
    held = [way for one in causes for way in one.remedies]
    known = {way.command for way in held if way.command}
    return [*held, *(way for way in explanation.remedies if way.command not in known)]


def _turns(snapshot: Snapshot, request: EvictionRequest | None, explanation: Explanation) -> Element | None:
    if request is None or request.metadata.creation_timestamp is None:
        return None
    created = request.metadata.creation_timestamp
    pod = snapshot.pod(request.metadata.namespace, explanation.pod)
    if pod is not None and pod.metadata.uid != request.pod_uid:
        pod = None
    ticks = snapshot.heartbeats.get(request.metadata.uid, ())
    note = ("requested ", age(created, snapshot.now), " ago, at ", clock(created, seconds=True))
    picture = timeline(request, explanation, pod, ticks, snapshot.now)
    return section("turns", "Turns", picture, note=note, key="turns")


def _last_columns(
    snapshot: Snapshot, request: EvictionRequest | None, explanation: Explanation
) -> Element | None:
    sentences = [*explanation.requested, *map(str, explanation.turns), *explanation.all_happened]
    happened = section(
        "happened",
        "What has happened",
        el(
            "ul",
            "sent",
            [el("li", "", local_times(one, snapshot.now)) for one in sentences]
            or el("li", "", "Nothing yet."),
        ),
        key="happened",
    )
    return el("div", "two", happened, _request(snapshot, request, explanation), key="last-columns")


def _request(snapshot: Snapshot, request: EvictionRequest | None, explanation: Explanation) -> Element:
    pod = snapshot.pod(explanation.namespace, explanation.pod)
    rows: list[tuple[str, Content]] = []
    if request is not None:
        who: list[Content] = []
        for place, one in enumerate(request.spec.requesters):
            who += [", "] if place else []
            who.append(_requester(snapshot, request, one.name))
        rows.append(("Requesters", who or "none any more"))
        if reason := reason_of(request):
            rows.append(("Reason", quoted(reason)))
        policy = request.status.eviction_request_cancellation_policy
        rows.append(("Cancellation", "Forbidden by an interceptor" if policy == "Forbid" else "Allowed"))
        rows.append(("Heartbeat deadline", span(request.spec.heartbeat_deadline)))
        message = plain(request.status.message).removesuffix(".")
        if not any(message in one for one in explanation.sentences) and not message.endswith(" is active"):
            rows.append(("Last message", quoted(message)))
    if pod is not None:
        if pod.spec.node_name:
            rows.append(("Node", node_link(pod.spec.node_name)))
        owner = pod.metadata.controller
        rows.append(("Owner", f"{owner.kind} {owner.name}" if owner else "none: nothing re-creates it"))
        rows.append(("Priority", str(pod.spec.priority or 0)))
        rows.append(("Phase", pod.status.phase or "unknown"))
    if request is not None:
        rows.append((request.kind.kind, request.metadata.name))
    title = "Request" if request is not None else "Pod"
    return section("req", title, pairs(*rows), key="req")


def of_drains(snapshot: Snapshot, namespace: str, name: str) -> str:
    """Why a request cannot be cancelled that only drains have made; empty where it can."""
    request = snapshot.request_about(namespace, name)
    names = [one.name for one in request.spec.requesters] if request is not None else []
    if request is None or not all(map(is_maintenance, names)):
        return ""
    goes_on = any(_drain_named(snapshot, request, one) for one in names)
    return "The drain would request it again: cancel the drain." if goes_on else ""


def _drain_named(snapshot: Snapshot, request: EvictionRequest, requester: str) -> str:
    """The drain that is this requester; empty where it is none, or is gone."""
    limit = dialect_of(request).max_requester
    name = maintenance_of(requester, limit) if is_maintenance(requester) else None
    return name if name is not None and snapshot.maintenance(name) is not None else ""


def _requester(snapshot: Snapshot, request: EvictionRequest, name: str) -> Content:
    drain = _drain_named(snapshot, request, name)
    return [drain_link(drain), " (drain)"] if drain else broken(name)
