"""PURE. Nodes: all of them, and one with its pods in the order in which they go, its fencing and volumes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from vacate.api.types import Node, Pod
from vacate.api.types.fencingpolicy import AWAITING_APPROVAL, FencingPolicy, NodeFencing
from vacate.api.types.nodemaintenance import DRAINED, PARALLEL, NodeMaintenance, NodeProgress, PodRules
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import shown_stage
from vacate.maintenance.pods import Treatment, Verdict, assess_pod, order_of, selector_from
from vacate.views.causes import Cause
from vacate.views.noderows import FENCED, NODE_DOWN, NOT_READY, READY, SHUTTING_DOWN, NodeRow, node_rows
from vacate.views.phrases import NOTHING, counted
from vacate.views.statusrows import row_of, unchanged_since
from vacate.web.components import (
    DONE,
    LIMIT,
    MOVE,
    SELF,
    STAY,
    STUCK,
    WAIT,
    Column,
    Page,
    age,
    ahead,
    cell,
    chip,
    clock,
    crumb,
    drain_link,
    filter_box,
    fold,
    icon,
    matching,
    more,
    node_link,
    page_of,
    pod_link,
    row,
    section,
    state,
    table,
    unmatched,
    verdict,
)
from vacate.web.markup import Content, Element, el
from vacate.web.pages.cards import causes_section
from vacate.web.pages.drainsection import WORDS, node_shape
from vacate.web.pages.pod import request_shape
from vacate.web.pages.volumes import HeldVolume, held_volumes, volumes_section
from vacate.web.snapshot import Snapshot, is_under_way

_SHAPES = {NODE_DOWN: STUCK, FENCED: DONE, SHUTTING_DOWN: MOVE, NOT_READY: SELF, READY: DONE}
_WORDS = {NODE_DOWN: "Lost", FENCED: "Fenced", SHUTTING_DOWN: "Shutting down", NOT_READY: "Not ready"}


def nodes_page(snapshot: Snapshot, query: str = "") -> Page:
    """All nodes, those in trouble first."""
    rows = node_rows(snapshot.nodes, snapshot.pods, snapshot.policies, snapshot.now)
    drains = {row.name: (one, row) for one in snapshot.maintenances for row in one.status.nodes}
    found = [one for one in rows if matching(query, one.name.lower(), one.state.lower(), one.message.lower())]
    found.sort(key=lambda one: (one.state != NODE_DOWN, _urgency(one, drains, snapshot.stuck_nodes)))
    lost = [one for one in rows if one.state == NODE_DOWN]
    title = "Nodes"
    if lost:
        title = f"{len(lost)} lost: Nodes"
        words = f"Lost: {counted(len(lost), 'node does', 'nodes do')} not report"
        fencing = el("a", "", "Fencing", href="/fencing")
        head = verdict(STUCK, words, f"Of {len(rows)} nodes. What to do about it is under ", fencing, ".")
    elif stuck := sum(node_shape(row, snapshot.stuck_nodes) == STUCK for _, row in drains.values()):
        title = f"{stuck} stuck: Nodes"
        head = verdict(
            STUCK, f"{counted(stuck, 'node is', 'nodes are')} stuck in a drain", f"{_reporting(rows)}."
        )
    else:
        head = verdict(DONE if all(one.state != NOT_READY for one in rows) else SELF, _reporting(rows))
    body = [_node_row(snapshot, one, drains.get(one.name)) for one in found[:LIMIT]]
    columns = (
        Column("Node"),
        Column("State"),
        Column("Drain"),
        Column("What it means"),
        Column("Pods", "num"),
    )
    main = (
        head,
        filter_box("/nodes", query, "Filter by name or state") if snapshot.nodes or query else None,
        table("Nodes", columns, body, key="nodes/table") if found else None,
        unmatched(query, found, "node"),
        more(len(found), "nodes"),
    )
    return page_of(title, "nodes", main)


def _reporting(rows: Sequence[NodeRow]) -> str:
    """Who reports, of nodes of which none is lost."""
    late = sum(one.state == NOT_READY for one in rows)
    if late:
        return f"{counted(late, 'node is', 'nodes are')} not ready, of {len(rows)}"
    return f"All {len(rows)} nodes report" if len(rows) != 1 else "The only node reports"


Drains = dict[str, tuple[NodeMaintenance, NodeProgress]]


def _urgency(one: NodeRow, drains: Drains, stuck: Collection[str]) -> tuple[int, str]:
    order = (STUCK, MOVE, SELF)
    shapes = [_SHAPES[one.state]] + ([node_shape(drains[one.name][1], stuck)] if one.name in drains else [])
    return min(order.index(shape) if shape in order else 9 for shape in shapes), one.name


def _node_row(
    snapshot: Snapshot,
    one: NodeRow,
    drain: tuple[NodeMaintenance, NodeProgress] | None,
) -> Element:
    shown: Content = None
    if drain is not None:
        shape = node_shape(drain[1], snapshot.stuck_nodes)
        shown = [chip(shape, WORDS[shape]), " ", drain_link(drain[0].metadata.name, "dim")]
    pods = len(snapshot.pods_by_node.get(one.name, ()))
    means = one.message
    if drain is not None and one.state == READY:
        means = "" if drain[1].phase == DRAINED else drain[1].message
    return row(
        f"nodes/{one.name}",
        cell("", node_link(one.name, "name")),
        cell("o1", chip(_SHAPES[one.state], _WORDS.get(one.state, one.state))),
        cell("wide", shown),
        cell("wide", means),
        cell("num", str(pods), el("span", "unit", " pod" if pods == 1 else " pods")),
    )


def node_page(snapshot: Snapshot, name: str, acts: Content = None) -> Page | None:
    """One node; None where there is none of this name."""
    node = snapshot.node(name)
    if node is None:
        return None
    drain = snapshot.draining(name)
    progress = next((one for one in drain.status.nodes if one.name == name), None) if drain else None
    causes = [
        replace(one, waiting=tuple(who for who in one.waiting if who.node == name), more=())
        for one in snapshot.causes
        if any(who.node == name for who in one.waiting)
    ]
    if drain is not None and is_under_way(drain):
        causes = [*snapshot.of_manager, *causes]
    pods = snapshot.pods_by_node.get(name, [])
    found = node_rows([node], pods, snapshot.policies, snapshot.now)[0]
    volumes = [one for one in held_volumes(snapshot) if one.node == name]
    steps: list[Content] = [el("a", "", "Nodes", href="/nodes")]
    if drain is not None:
        steps = [el("a", "", "Drains", href="/drains"), drain_link(drain.metadata.name)]
    main = [
        crumb(*steps, name),
        _verdict(snapshot, found, drain, progress, causes, acts),
        causes_section(snapshot, causes),
        _states(snapshot, node, found, drain, volumes),
        _pods_section(snapshot, name, pods, drain, progress),
        volumes_section(snapshot, volumes) if volumes else None,
    ]
    return page_of(name, "nodes", main)


def _verdict(
    snapshot: Snapshot,
    found: NodeRow,
    drain: NodeMaintenance | None,
    progress: NodeProgress | None,
    causes: Sequence[Cause],
    acts: Content,
) -> Element:
    name = found.name
    if found.state == NODE_DOWN:
        waits = f": {counted(found.waiting, 'pod waits', 'pods wait')} for it" if found.waiting else ""
        return verdict(STUCK, f"{name} is lost{waits}", _sentence(found.message), acts=acts)
    if drain is None or progress is None:
        words = {READY: "reports", NOT_READY: "is not ready", FENCED: "is fenced"}
        headline = f"{name} {words.get(found.state, 'is shutting down')}, and is not drained"
        if held := sum(one.needs_person for one in causes):  # by requests outside of drains
            stuck = f"Stuck: {counted(held, 'cause needs', 'causes need')} you"
            return verdict(STUCK, stuck, f"{headline}.", acts=acts)
        return verdict(_SHAPES[found.state], headline, _sentence(found.message), acts=acts)
    shape = node_shape(progress, snapshot.stuck_nodes)
    shape = STUCK if snapshot.of_manager and shape != DONE else shape
    counts = f"{progress.pods_evicted} of {counted(progress.pods_total, 'pod is', 'pods are')} gone"
    if shape == DONE:
        return verdict(DONE, f"{name} is drained: {counts}", acts=acts)
    if shape == WAIT:
        headline = f"{name} waits for its turn to be drained"
        return verdict(WAIT, headline, _sentence(progress.message), acts=acts)
    finish = progress.estimated_finish_time
    left: list[Content] = []
    if shape != STUCK and finish is not None and finish > snapshot.now:
        left = ["About ", el("b", "", ahead(finish, snapshot.now)), " left, until ", clock(finish), ". "]
    word = {STUCK: "is stuck", SELF: "is held for now"}.get(shape, "is draining")
    return verdict(shape, f"{name} {word}: {counts}", *left, _sentence(progress.message), acts=acts)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text and not text.endswith(".") else text


def _states(
    snapshot: Snapshot,
    node: Node,
    found: NodeRow,
    drain: NodeMaintenance | None,
    volumes: Sequence[HeldVolume],
) -> Element:
    return el(
        "dl",
        "states",
        _scheduling(node, drain),
        state("Shutdown", "Shutting down", found.message)
        if found.state == SHUTTING_DOWN
        else state("Shutdown", "Not shutting down"),
        _fencing(snapshot, node, found),
        _volume_state(snapshot, volumes),
        key="states",
    )


def _scheduling(node: Node, drain: NodeMaintenance | None) -> Element:
    if not node.spec.unschedulable:
        return state("Scheduling", "Takes pods")
    by: list[Content] = (
        ["by drain ", drain_link(drain.metadata.name)] if drain else ["by hand, or by another tool"]
    )
    return state("Scheduling", "Cordoned", *by)


def _fencing(snapshot: Snapshot, node: Node, found: NodeRow) -> Element:
    name, policy, fencing = node.metadata.name, None, None
    for one in snapshot.policies:
        for entry in one.status.nodes:
            if entry.name == name and entry.uid == node.metadata.uid:
                policy, fencing = one, entry
    if policy is not None and fencing is not None:
        return _fenced(policy, fencing)
    word = {NODE_DOWN: "Lost", FENCED: "Fenced", NOT_READY: "Not ready"}.get(found.state, "Reports")
    since = f"for {found.since}" if found.since != NOTHING else ""
    none = "no policy fences it" if not snapshot.policies else "no policy is about to fence it"
    if snapshot.hidden("fencingpolicies"):
        none = "policies are hidden from you"
    return state("Fencing", word, f"{since}; {none}" if since else none)


def _fenced(policy: FencingPolicy, fencing: NodeFencing) -> Element:
    waits = fencing.phase == AWAITING_APPROVAL
    word: list[Content] = [icon(STUCK), "Awaits approval"] if waits else [fencing.phase]
    title = el("span", "is-stuck", word) if waits else word
    return state("Fencing", title, "Policy ", policy.metadata.name, ". ", _sentence(fencing.message))


def _volume_state(snapshot: Snapshot, volumes: Sequence[HeldVolume]) -> Element:
    if hidden := snapshot.hidden("persistentvolumes") or snapshot.hidden("pods"):
        return state("Exclusive volumes", "Not known", hidden)
    if not volumes:
        return state("Exclusive volumes", "None held")
    awaited = sum(bool(one.awaited) for one in volumes)
    return state(
        "Exclusive volumes",
        f"{len(volumes)} held",
        f"{awaited} of them awaited by another pod." if awaited else "None of them is awaited.",
    )


@dataclass(frozen=True, slots=True)
class _Going:
    pod: Pod
    verdict: Verdict
    last: bool
    priority: int


def _pods_section(
    snapshot: Snapshot,
    name: str,
    pods: Sequence[Pod],
    drain: NodeMaintenance | None,
    progress: NodeProgress | None,
) -> Element:
    rules = drain.spec.pods if drain else PodRules(daemon_set_pods="Ignore")
    selector = selector_from(rules.selector)
    by_priority = drain is None or drain.spec.order != PARALLEL
    assessed = [(pod, assess_pod(pod, rules, selector)) for pod in pods]
    going = sorted(
        (
            _Going(pod, verdict, *order_of(pod, verdict, by_priority=by_priority))
            for pod, verdict in assessed
            if verdict.treatment is not Treatment.STAY
        ),
        key=lambda one: (one.last, one.priority, one.pod.metadata.namespace, one.pod.metadata.name),
    )
    staying = [(pod, verdict) for pod, verdict in assessed if verdict.treatment is Treatment.STAY]
    evicted = progress.pods_evicted if progress else 0
    note = (
        "in the order in which they go"
        if drain and progress and progress.phase != DRAINED
        else ("in the order in which a drain would evict them")
    )
    columns = (
        Column("#", "num"),
        Column("Pod"),
        Column("Stage"),
        Column("Waits for"),
        Column("For", "num"),
        Column("Gone in", "num"),
    )
    gone = None
    if evicted:
        gone = el("p", "line", chip(DONE, "Gone"), " ", el("b", "", str(evicted)))
    body = _grouped(snapshot, going[:LIMIT], evicted, moving=drain is not None)
    return section(
        "pods",
        "Pods",
        gone,
        table("Pods in the order in which they go", columns, body, key="pods/table", classes="pods")
        if going
        else el("p", "dim", snapshot.hidden("pods") or "No pod is left that would go."),
        more(len(going), "pods"),
        _stay(staying),
        note=note,
        key="pods",
    )


def _grouped(snapshot: Snapshot, going: Sequence[_Going], evicted: int, *, moving: bool) -> list[Element]:
    made: list[Element] = []
    before: tuple[bool, int] | None = None
    for place, one in enumerate(going, evicted + 1):
        rank = (one.last, one.priority)
        if rank != before:
            alike = sum((other.last, other.priority) == rank for other in going)
            title = "DaemonSet pods" if one.last else f"Priority {one.priority}"
            when = "" if not moving else (", first" if before is None else ", after these")
            head = el(
                "th",
                "",
                f"{title} ",
                el("span", "", f"{counted(alike, 'pod')}{when}"),
                colspan="6",
                role="rowheader",
            )
            made.append(el("tr", "group", head, role="row", key=f"pods/group/{one.last}/{one.priority}"))
            before = rank
        made.append(_pod_row(snapshot, place, one, moving=moving))
    return made


def _pod_row(snapshot: Snapshot, place: int, one: _Going, *, moving: bool) -> Element:
    meta = one.pod.metadata
    request = snapshot.requests_by_pod.get(meta.uid)
    since = ends = None
    waits = one.verdict.message
    if request is not None and not request.complete:
        made = row_of(request, snapshot.budgets, snapshot.now)
        held = snapshot.causes_by_pod.get((meta.namespace, meta.name), ())
        shape, word = request_shape(request, held), made.stage
        since = unchanged_since(request)
        waits = next((text for text in (made.active, made.blocked_by) if text != NOTHING), "")
        waits = str(held[0].heading) if held else waits
        if shown_stage(request) is Stage.INTERCEPTING:
            ends = request.status.expected_interceptor_finish_time
    elif one.verdict.treatment is Treatment.HOLD:
        shape, word = STUCK, "Held"
    else:
        shape, word = WAIT, "Waiting" if moving else one.pod.status.phase
    if one.pod.terminating:
        shape, word = (shape if shape == STUCK else MOVE), "Terminating"
        ends = meta.deletion_timestamp
        waits = waits or "the end of its grace period"
    coming = ends is not None and ends > snapshot.now
    return row(
        f"pods/{meta.uid}",
        cell("num gone dim", str(place)),
        cell("o0", pod_link(meta.namespace, meta.name)),
        cell("o1", chip(shape, word) if moving or shape != WAIT else word),
        cell("l2", waits),
        cell("num gone", age(since, snapshot.now) if since else None),
        cell("num", ahead(ends, snapshot.now) if ends is not None and coming else None, unit="gone in"),
    )


def _stay(staying: Sequence[tuple[Pod, Verdict]]) -> Element | None:
    if not staying:
        return None
    summary = [chip(STAY, "Stay"), el("span", "", el("b", "", str(len(staying))))]
    lines = [
        el(
            "li",
            "",
            pod_link(pod.metadata.namespace, pod.metadata.name),
            el("span", "dim", f": {why.message}"),
            key=f"stay/{pod.metadata.uid}",
        )
        for pod, why in staying
    ]
    return fold("stay", summary, el("ul", "", lines))
