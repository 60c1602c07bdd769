"""What a fence leaves on the Node: who began it, who finished it, and the taint that releases its pods."""

from __future__ import annotations

import datetime as dt
import re

from vacate.api.objects import Obj
from vacate.api.times import after, format_time, parse_time
from vacate.api.types import Node, condition
from vacate.api.types.fencingpolicy import MAX_AGENT_TIMEOUT
from vacate.errors import FencingFailed
from vacate.kube.nodes import OUT_OF_SERVICE, readiness
from vacate.kube.patches import guarded, guarded_by_uid

BEGUN, FENCED = "vacate.dev/fencing-begun", "vacate.dev/fenced"
LATEST_LOSS = "vacate.dev/fencing-latest-loss"
"""When the last node was lost before the fence began, by the clock that dates conditions of nodes."""

UNTIL = "vacate.dev/fencing-until"
"""Until when the process that began the fence carries it out. After that another may begin it."""

BOOT_ID = "vacate.dev/fencing-boot-id"
"""Of a storage fence: the boot ID of the node when it was fenced. The machine may have run on since."""

REQUESTED, APPROVED = "vacate.dev/fence-requested", "vacate.dev/fencing-approved"
"""A person asks for a fence, with the reason; a person approves one, naming since when the node is lost."""

FENCE_VERB = "fence"
"""What a user must be allowed to do to the node, by its role, to set one of these two."""

SLACK, CONFIRM_WITHIN = 60.0, 90.0
"""Seconds beside the calls of the agent, and in which all other nodes must have reported once."""
MAX_HELD = 3.0 * MAX_AGENT_TIMEOUT + SLACK + CONFIRM_WITHIN
"""Seconds. No attempt lasts longer: a time farther ahead was not written by Vacate."""

TAINT_VALUE = "fenced"
_MARKS = (BEGUN, LATEST_LOSS, UNTIL)
_POLICY = re.compile(r"FencingPolicy (\S+) at ")
_MAX_USER, _MAX_REASON = 300, 1024  # a policy's name has up to 253 characters


def mark(user: str, now: dt.datetime) -> str:
    """Who and when, for those who look later."""
    return f"{user[:_MAX_USER]} at {format_time(now)}"


def begun_patch(
    node: Node,
    user: str,
    now: dt.datetime,
    until: dt.datetime,
    latest_loss: dt.datetime | None = None,
    boot_id: str | None = None,
) -> Obj:
    """Written upon the version that was decided about: of two who fence one loses."""
    annotations: dict[str, str | None] = {
        BEGUN: mark(user, now), UNTIL: format_time(until), LATEST_LOSS: None,
    }  # fmt: skip
    if boot_id is not None:
        annotations[BOOT_ID] = boot_id  # else what an earlier attempt may have cut off stays noted
    if latest_loss is not None:
        annotations[LATEST_LOSS] = format_time(latest_loss)
    return guarded(node.metadata, {"metadata": {"annotations": annotations}})


def latest_loss_of(node: Node) -> dt.datetime | None:
    """What was written down when the fence of the node began; None where that cannot be read."""
    try:
        return parse_time(node.metadata.annotations.get(LATEST_LOSS, ""))
    except ValueError:
        return None


def has_begun(node: Node, user: str) -> bool:
    """Whether the fence that is begun on the node is this user's, and not one's whose name begins alike."""
    return node.metadata.annotations.get(BEGUN, "").startswith(f"{user[:_MAX_USER]} at ")


def owner_policy(node: Node) -> str:
    """The policy that began the fence of the node; empty where no policy did."""
    found = _POLICY.match(node.metadata.annotations.get(BEGUN, ""))
    return found[1] if found else ""


def carried_out_until(node: Node, now: dt.datetime) -> dt.datetime | None:
    """Until when the attempt that is begun on the node is carried out; None where none is."""
    marks = node.metadata.annotations
    try:
        if UNTIL in marks:
            until = parse_time(marks[UNTIL])
        else:  # of an earlier version
            until = after(parse_time(marks.get(BEGUN, "").rpartition(" at ")[2]), MAX_HELD)
    except ValueError:
        return None
    return until if BEGUN in marks and now < until <= after(now, MAX_HELD) else None


def is_storage_fence(node: Node) -> bool:
    """Whether the machine was cut off from its storage, and may have run on."""
    return BOOT_ID in node.metadata.annotations


def has_restarted(node: Node) -> bool:
    """Whether the node reports another boot than the one that was fenced: nothing from before runs."""
    before, now = node.metadata.annotations.get(BOOT_ID, ""), node.status.node_info.boot_id
    return bool(before) and bool(now) and before != now


def has_fenced(node: Node, user: str) -> bool:
    """Whether this user has fenced the node, and it is still out of service."""
    fenced = node.metadata.annotations.get(FENCED, "").startswith(f"{user[:_MAX_USER]} at ")
    return fenced and any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints)


def fenced_patch(whole: Obj, user: str, now: dt.datetime) -> Obj:
    """The out-of-service taint beside all others, and the marks; upon the version that was read."""
    taints = [
        *_other_taints(whole),
        {"key": OUT_OF_SERVICE, "value": TAINT_VALUE, "effect": "NoExecute", "timeAdded": format_time(now)},
    ]
    done = {**dict.fromkeys((*_MARKS, REQUESTED, APPROVED)), FENCED: mark(user, now)}
    return _marked(whole, done, {"spec": {"taints": taints}})


def unfenced_patch(whole: Obj) -> Obj:
    """Everything that a fence left is taken away, upon the version that was read."""
    gone = dict.fromkeys((*_MARKS, BOOT_ID, FENCED, REQUESTED, APPROVED))
    return _marked(whole, gone, {"spec": {"taints": _other_taints(whole) or None}})


def abandoned_patch(whole: Obj) -> Obj:
    """The marks of a fence that came to nothing are taken away; a taint that is there was set by others."""
    return _marked(whole, dict.fromkeys((*_MARKS, BOOT_ID, REQUESTED, APPROVED)), {})


def ended_patch(node: Node, now: dt.datetime, *, nothing_done: bool) -> Obj:
    """The attempt is no longer carried out. What it may have done stays noted for the next one."""
    changed = dict.fromkeys(_MARKS) if nothing_done else {UNTIL: format_time(now)}
    return guarded(node.metadata, {"metadata": {"annotations": changed}})


def approves(node: Node, since: dt.datetime | None) -> bool:
    """Whether a person has approved the fence of this very outage: an approval is good for one only."""
    return since is not None and node.metadata.annotations.get(APPROVED) == format_time(since)


def approval_patch(node: Node) -> tuple[Obj, str]:
    """What approves the fence of the present outage, and what to say; FencingFailed where there is none."""
    name, ready = node.metadata.name, condition(node.status.conditions, "Ready")
    if ready is None or ready.status != "Unknown" or ready.last_transition_time is None:
        raise FencingFailed(
            f"node {name} is not unreachable: there is nothing to approve. Nothing was changed"
        )
    since = format_time(ready.last_transition_time)
    return _annotate(node, APPROVED, since), f"the fence is approved (unreachable since {since})"


def request_patch(node: Node, reason: str) -> tuple[Obj, str]:
    """What requests a fence, and what to say."""
    if readiness(node) != "Unknown":
        raise FencingFailed(f"node {node.metadata.name} still reports: drain it instead. Nothing was changed")
    return _annotate(node, REQUESTED, reason[:_MAX_REASON] or "requested"), "a fence is requested"


def _annotate(node: Node, key: str, value: str) -> Obj:
    return guarded_by_uid(node.metadata.uid, {"metadata": {"annotations": {key: value}}})


def _marked(whole: Obj, annotations: dict[str, str | None], change: Obj) -> Obj:
    return guarded(whole["metadata"], {"metadata": {"annotations": annotations}, **change})


def _other_taints(whole: Obj) -> list[Obj]:
    return [one for one in whole.get("spec", {}).get("taints") or [] if one.get("key") != OUT_OF_SERVICE]
