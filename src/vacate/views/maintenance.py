"""A NodeMaintenance as lines of text: a bar and the estimate for each node, and what holds it."""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from msgspec.structs import replace as replace_fields

from vacate.api.types.core import Pod
from vacate.api.types.nodemaintenance import (
    BLOCKED,
    DRAINED,
    DRAINING,
    PENDING,
    Blocker,
    NodeMaintenance,
    NodeMaintenanceStatus,
    NodeProgress,
)
from vacate.views.causes import Cause, blocker_remedies, causes_of
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import command_line, counted, sentence, span

FULL, EMPTY = "█", "░"
_BAR, _PHASE = 20, 8
_BARS = (_BAR, 10, 0)
_MIN_NAME = 8
_COUNTED = (DRAINING, BLOCKED, DRAINED)
_NARROW = 60
_UNFOLDED = 3  # as many nodes are shown one by one, also when they are drained
_REMEDIES = 3
_UNLIMITED = 1_000_000
_SECOND, _WORTH_SAYING = dt.timedelta(seconds=1), dt.timedelta(seconds=30)
NEEDS_PERSON, BY_ITSELF = "Needs a person:", "Ends by itself:"


def bar(percent: int, width: int = _BAR) -> str:
    """How much is done, drawn."""
    done = max(0, min(percent, 100)) * width // 100
    return FULL * done + EMPTY * (width - done)


def node_line(row: NodeProgress, now: dt.datetime, width: int = 80, name_width: int = 20) -> str:
    """`node-1  ████░░  40%  Draining  2/5 pods, about 3m left`, within the width."""
    name = f"{row.name:<{name_width}}"
    return _fit("  ".join([name, *_columns(row, now, _BAR if width >= _NARROW else 0)]), width)


def node_lines(rows: Sequence[NodeProgress], now: dt.datetime, width: int) -> list[str]:
    """The nodes, each on a line. Where there is little room bars are short, then gone, then names are cut."""
    longest = max((len(row.name) for row in rows), default=0)
    counted_rows = [row for row in rows if row.start_time is not None and row.phase in _COUNTED]
    sizes = _BARS if width >= _NARROW else (0,)

    def needed(size: int) -> int:
        return max((len("  ".join(["", *_columns(row, now, size)])) for row in counted_rows), default=0)

    size = next((one for one in sizes if longest + needed(one) <= width), 0)
    names = max(min(longest, width - needed(size)), _MIN_NAME)
    return [
        _fit("  ".join([f"{_fit(row.name, names):<{names}}", *_columns(row, now, size)]), width)
        for row in rows
    ]


def _columns(row: NodeProgress, now: dt.datetime, size: int) -> list[str]:
    """What stands behind the name, with a bar of this size."""
    if row.start_time is None:
        return [f"{row.phase:<{_PHASE}}", row.message]
    drawn = f"{bar(row.percent, size)} " if size else ""
    columns = [f"{drawn}{row.percent:>3}%", f"{row.phase:<{_PHASE}}"]
    if row.phase == DRAINED:
        return [*columns, f"{_evicted(row)}{_ignored(row)}"]
    if row.phase in _COUNTED:
        # While all that is left is held, nobody knows when it ends.
        left = left_of(row.estimated_finish_time, now) if row.phase != BLOCKED else ""
        return [*columns, f"{row.pods_evicted}/{row.pods_total} pods{left}"]
    return [*columns, row.message]


def left_of(finish: dt.datetime | None, now: dt.datetime) -> str:
    """`, about 3m left`; nothing where that is unknown."""
    if finish is None or finish - now < _SECOND:
        return ""
    return f", about {span(finish - now)} left"


def blocker_lines(blocker: Blocker, width: int = 80) -> list[str]:
    """What holds a pod, and below it what would help."""
    what = f"pod {blocker.namespace}/{blocker.pod}" if blocker.pod else f"node {blocker.node}"
    return [
        *wrapped(f"! {what}: {blocker.message}", width, 2),
        *wrapped(f"→ {blocker.remedy}", width, 4),
    ]


def with_drains(
    explanation: Explanation, drains: Sequence[NodeMaintenance], pod: Pod | None, program: str = "vacate"
) -> Explanation:
    """The explanation of a pod without a request, with the drains of its node, and what holds them."""
    awaited: list[str] = []
    remedies: list[Remedy] = []
    for one in drains if pod is not None else ():
        name = one.metadata.name
        held = [row for row in one.status.blockers if _concerns(row, pod)]
        if not held:
            awaited.append(f"NodeMaintenance {name} drains its node, and has not requested its eviction yet.")
        for row in held:
            awaited.append(f"NodeMaintenance {name} drains its node and is held: {sentence(row.message)}")
            remedies += blocker_remedies(row)
        remedies.append(Remedy("Follow the drain.", command_line(program, "drain", "--follow", name)))
    return replace(
        explanation,
        awaited=(*explanation.awaited, *awaited),
        remedies=(*remedies, *explanation.remedies),
    )


def is_draining(maintenance: NodeMaintenance, node: str) -> bool:
    """Whether the node is drained by it, or is to be."""
    going = maintenance.metadata.deletion_timestamp is None and maintenance.status.phase != DRAINED
    return going and node in maintenance.spec.nodes


def _concerns(row: Blocker, pod: Pod | None) -> bool:
    if pod is None:
        return False
    if not row.pod:
        return row.node == pod.spec.node_name
    return (row.namespace, row.pod) == (pod.metadata.namespace, pod.metadata.name)


def refused_lines(
    maintenances: Iterable[NodeMaintenance], namespace: str, pods: Sequence[str], width: int
) -> list[str]:
    """Evictions that drains want and that are refused: no request shows why. Empty selections mean all."""
    lines = []
    for one in maintenances:
        for row in one.status.blockers:
            chosen = namespace in ("", row.namespace) and (not pods or row.pod in pods)
            if row.kind in ("RequestRefused", "WriteRefused") and chosen:
                lines.append(f"nodemaintenance/{one.metadata.name} is held:")
                lines += blocker_lines(row, width)
    return lines


def wrapped(text: str, width: int, indent: int) -> list[str]:
    """Lines that break between words only: a name that is broken at its hyphens cannot be copied."""
    first, others = " " * indent, " " * (indent + 2)
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False)


def overview(
    maintenance: NodeMaintenance, now: dt.datetime, width: int = 80, height: int = 40, *, moves: bool = True
) -> list[str]:
    """The whole, within a screen: a total, nodes that are being drained, what holds them, and the others.

    Where nothing `moves`, because no manager works, nothing is estimated.
    """
    status = maintenance.status
    if not moves:
        status = replace_fields(
            status, nodes=[replace_fields(r, estimated_finish_time=None) for r in status.nodes]
        )
    several = len(status.nodes) > 1
    active = [row for row in status.nodes if row.phase in (DRAINING, BLOCKED)]
    drained = [row for row in status.nodes if row.phase == DRAINED]
    folded = len(drained) > 1 and len(status.nodes) > _UNFOLDED
    rest = [row for row in status.nodes if row not in active and not (folded and row.phase == DRAINED)]
    rows = [*active, *rest]
    head = [_fit(total_line(maintenance, now, moves=moves), width)] if several else []
    foot = [_fit(f"{counted(len(drained), 'node')} drained: {_names(drained)}", width)] if folded else []
    held = held_lines(maintenance, now, width, max(height // 2, 6))
    shown = rows[: max(3, height - len(head) - len(foot) - len(held) - 1)]
    lines = [*head, *node_lines(shown, now, width)]
    if len(rows) > len(shown):
        lines.append(f"… and {counted(len(rows) - len(shown), 'more node')}")
    lines += foot
    return [*lines, *held_lines(maintenance, now, width, max(height - len(lines), 6))]


def total_line(maintenance: NodeMaintenance, now: dt.datetime, *, moves: bool = True) -> str:
    """All nodes of a drain in one line."""
    status = maintenance.status
    drained = sum(row.phase == DRAINED for row in status.nodes)
    blocked = sum(row.phase == BLOCKED for row in status.nodes)
    nodes = counted(len(status.nodes) or len(maintenance.spec.nodes), "node")
    begun = any(row.start_time for row in status.nodes)
    parts = [f"{drained} of {nodes} drained" if begun else f"{nodes} to drain"]
    if done := pods_done(status):
        parts.append(f"{done} {'pod' if done == '1' else 'pods'} evicted")
    if blocked:
        parts.append(f"{blocked} blocked")
    left = left_of(status.estimated_finish_time, now) if moves and not blocked else ""
    return f"{', '.join(parts)}{left}"


def pods_done(status: NodeMaintenanceStatus) -> str:
    """`3/7` evicted pods. While nodes wait for their turn nobody has counted theirs: `3`, and nothing before
    the first.
    """
    if status.pods_total and all(row.start_time for row in status.nodes):
        return f"{status.pods_evicted}/{status.pods_total}"
    return str(status.pods_evicted or "")


def held_lines(
    maintenance: NodeMaintenance, now: dt.datetime, width: int, height: int | None = None
) -> list[str]:
    """What holds a drain, by cause: first what needs a person, then what ends by itself.

    With a height it is for a screen that is drawn again and again: no line is longer than its width, no more
    causes than fit, and no commands of those that need a person, which are written above it.
    """
    causes = causes_of([maintenance], now)
    reported = maintenance.status.blockers_total
    room = _UNLIMITED if height is None else max(height - 1, 4)
    lines, named = _cause_section(causes, now, width, room, cut=height is not None)
    hidden = max(reported, sum(len(one.waiting) for one in causes)) - named
    return [*lines, f"  … and {counted(hidden, 'more blocker')}"] if hidden > 0 else lines


def cause_sections(causes: Sequence[Cause], now: dt.datetime, width: int) -> list[str]:
    """All of them, under a heading for those that need a person and one for those that end by themselves."""
    return _cause_section(causes, now, width, _UNLIMITED)[0]


def _cause_section(
    causes: Sequence[Cause], now: dt.datetime, width: int, height: int, *, cut: bool = False
) -> tuple[list[str], int]:
    """The lines that fit, and how many blockers they name."""
    lines: list[str] = []
    named, heading = 0, ""
    ways = 1 if cut and len(causes) > 1 else _REMEDIES  # rather all causes than all remedies of one
    for one in causes:
        title = NEEDS_PERSON if one.needs_person else BY_ITSELF
        made = [*([title] if title != heading else []), *cause_lines(one, now, width, cut=cut, ways=ways)]
        if named and len(lines) + len(made) > height:
            break  # the last line says how many more there are
        lines += made
        heading, named = title, named + len(one.waiting)
    return lines, named


def cause_lines(
    cause: Cause, now: dt.datetime, width: int = 80, *, cut: bool = False, ways: int = _REMEDIES
) -> list[str]:
    """What holds pods, with the first of them, and below it what would help.

    Commands stay on one line, however long, so that they can be copied. With `cut` no line is longer: of what
    ends by itself the commands that fit are shown.
    """
    first = cause.waiting[0]
    what = f"pod {first.namespace}/{first.pod}" if first.pod else f"node {first.node}"
    others = len(cause.waiting) - 1
    more = f" and {counted(others, 'more pod' if first.pod else 'more')}" if others else ""
    since = cause.since
    long = f" (for {span(now - since)})" if since is not None and now - since >= _WORTH_SAYING else ""
    sign = "!" if cause.needs_person else "·"
    lines = wrapped(f"{sign} {what}{more}: {cause.message.rstrip('.')}{long}", width, 2)
    for way in cause.remedies[:ways]:
        text = f"{way.text[:1].lower()}{way.text[1:].rstrip('.')}"
        command = f"      {way.command}"
        if way.command and (not cut or (len(command) <= width and not cause.needs_person)):
            lines += [*wrapped(f"→ {text}:", width, 4), command]
        else:
            lines += wrapped(f"→ {text}", width, 4)
    return lines


def _names(rows: Sequence[NodeProgress]) -> str:
    return ", ".join(row.name for row in rows)


def progress_line(maintenance: NodeMaintenance) -> str:
    """How far the whole is, in one line."""
    status = maintenance.status
    pods = f"{status.pods_evicted} of {counted(status.pods_total, 'pod')} evicted so far"
    if not status.pods_total:
        begun = any(row.start_time is not None for row in status.nodes)
        pods = "there is no pod to evict" if begun else "the pods are counted when a node's turn comes"
    elif status.phase == DRAINED:
        pods = f"{counted(status.pods_evicted, 'pod')} evicted"
    elif not status.pods_evicted:
        pods = f"{counted(status.pods_total, 'pod')} to evict"
    return f"{status.phase or PENDING}, {status.message}; {pods}" if status.message else pods


def summary(maintenance: NodeMaintenance, now: dt.datetime) -> list[str]:
    """What became of each node."""
    lines = []
    for row in maintenance.status.nodes:
        took = "" if row.start_time is None else f" in {span((row.drained_time or now) - row.start_time)}"
        if row.phase == DRAINED:
            lines.append(f"node/{row.name} drained{took}: {_evicted(row)}{_ignored(row)}")
        else:
            lines.append(f"node/{row.name} is {row.phase.lower()}: {row.message}")
    return lines


def _evicted(row: NodeProgress) -> str:
    forced = f" ({row.pods_forced} past a disruption budget or an interceptor)" if row.pods_forced else ""
    return f"{counted(row.pods_evicted, 'pod')} evicted{forced}"


def _ignored(row: NodeProgress) -> str:
    return f", {row.pods_ignored} left alone" if row.pods_ignored else ""


def _fit(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
