"""PURE. Whether a manager works, by its Lease and by what it has reported; and what helps where none does.

A manager renews its Lease every few seconds while it works, and writes into the Lease what holds it up. The
times in it are the API server's, as `now` has to be.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from vacate.api.installednames import DEFAULT_NAMESPACE, MANAGER, TROUBLE, VIEWER
from vacate.api.text import plain
from vacate.api.times import EARLIEST
from vacate.api.types import Lease, ObjectMeta
from vacate.api.types.evictionrequest import INTERCEPTOR_ASSIGNED, PROGRESSING, EvictionRequest
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.eviction.model import Stage
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import ago, command_line, sentence, span
from vacate.views.refusals import refusal_of

SILENT_AFTER = dt.timedelta(seconds=7)
"""An object that no controller has reported on for so long is attended to by none.

A command that looks every two seconds has to say so within ten."""

_DEFAULT_DURATION = 15


class ManagerState(Enum):
    """What is known of the manager."""

    WORKS = "Works"
    ABSENT = "Absent"  # no Lease, or one that was given back
    STOPPED = "Stopped"  # it does not renew its Lease
    HELD_UP = "HeldUp"  # it says itself what is in its way
    SILENT = "Silent"  # it renews its Lease and reports nothing
    REFUSED = "Refused"  # it works, and may not write
    UNKNOWN = "Unknown"  # the Lease cannot be read


@dataclass(frozen=True, slots=True)
class Unattended:
    """An object that waits for its controller, and since when."""

    name: str  # as in nodemaintenance/drain-a
    since: dt.datetime
    uid: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ManagerHealth:
    """What is known, as a sentence with its remedies; both are empty where the manager works."""

    state: ManagerState
    text: str = ""
    remedies: tuple[Remedy, ...] = ()
    embedded: bool = False  # whether this is a cluster of `vacate up`, of which nothing can be missing

    @property
    def line(self) -> str:
        """All of it in one line: what is wrong, and the commands that help."""
        commands = [f"{one.text}: {one.command}" if one.command else one.text for one in self.remedies]
        return " ".join([self.text, *(f"{one}." for one in commands)])


WORKS = ManagerHealth(ManagerState.WORKS)


def manager_health(
    leases: Sequence[Lease] | None,
    now: dt.datetime,
    unattended: Unattended | None = None,
    *,
    refused: str = "",
    embedded: bool = False,
    program: str = "vacate",
) -> ManagerHealth:
    """What the Leases of that name show; None where they cannot be read.

    `unattended` is what waits for a controller, where nothing that waits has been attended to; `refused` is
    what the API server answers where the manager writes to it.
    """
    late = unattended if unattended is not None and now - unattended.since >= SILENT_AFTER else None
    if leases is None:
        return _unknown(late, now) if late is not None else ManagerHealth(ManagerState.UNKNOWN)
    if not leases:
        text = f"No manager works: there is no Lease {MANAGER} in any namespace."
        return ManagerHealth(ManagerState.ABSENT, text, _start(DEFAULT_NAMESPACE, embedded, program))
    lease = max(leases, key=_renewed)
    where, holder = lease.metadata.namespace, plain(lease.spec.holder_identity)
    trouble = sentence(lease.metadata.annotations.get(TROUBLE, ""))
    if not holder or now - _renewed(lease) > _renewal_due(lease):
        state = ManagerState.STOPPED if holder else ManagerState.ABSENT
        stopped = f"No manager works{_since(lease, holder, now)}."
        text = f"{stopped} The one that would says: {trouble}" if trouble else stopped
        return ManagerHealth(state, text, _start(where, embedded, program))
    if trouble:
        held_up = f"The manager {holder} is held up: {trouble}"
        return ManagerHealth(ManagerState.HELD_UP, held_up, _look(where, embedded, program))
    if late is not None and refused:
        text = f"The API server refuses what the manager writes to {late.name}: {sentence(refused)}"
        remedy = Remedy(sentence(refusal_of(refused).remedy).removesuffix("."))
        return ManagerHealth(ManagerState.REFUSED, text, (remedy,))
    if late is not None:
        silent = (
            f"The manager {holder} holds its Lease and has reported nothing on {late.name}, which was "
            f"created {ago(late.since, now)}."
        )
        return ManagerHealth(ManagerState.SILENT, silent, _look(where, embedded, program))
    return WORKS


def with_manager(explanation: Explanation, health: ManagerHealth) -> Explanation:
    """The explanation with what is wrong about the manager, where the eviction waits for it."""
    over = explanation.stage in (Stage.COMPLETE, Stage.CANCELLED) or not (
        explanation.stage or explanation.next
    )
    if over or not health.text:
        return explanation
    remedies = tuple(Remedy(sentence(one.text), one.command) for one in health.remedies)
    return replace(
        explanation,
        awaited=(health.text, *explanation.awaited),
        remedies=(*remedies, *explanation.remedies),
    )


def unattended_maintenance(*maintenances: NodeMaintenance) -> Unattended | None:
    """The oldest that its controller has not seen yet; None where one was seen that is not older."""
    return _unattended(
        (f"nodemaintenance/{one.metadata.name}", one.metadata, one.status.observed_generation)
        for one in maintenances
    )


def unattended_request(requests: Iterable[EvictionRequest]) -> Unattended | None:
    """The oldest open request that no controller has reported on; None where one was that is not older."""
    opened = [one for one in requests if not one.complete]
    return _unattended((_called(one), one.metadata, one.status.conditions) for one in opened)


def waiting_requests(requests: Iterable[EvictionRequest]) -> list[Unattended]:
    """The open requests, each since its controller has last written of its progress."""
    return [
        Unattended(_called(one), since, one.metadata.uid, one.metadata.namespace)
        for one in requests
        if not one.complete and (since := _last_progress(one)) is not None
    ]


def _last_progress(request: EvictionRequest) -> dt.datetime | None:
    made = request.metadata.creation_timestamp
    own = (condition(request.status.conditions, sort) for sort in (PROGRESSING, INTERCEPTOR_ASSIGNED))
    written = [one.last_transition_time for one in own if one is not None and one.last_transition_time]
    return max(written, default=made)


def _unattended(found: Iterable[tuple[str, ObjectMeta, object]]) -> Unattended | None:
    """Of names, metadata, and what was reported: what was reported on shows that a manager works."""
    rows = [(Unattended(name, meta.creation_timestamp, meta.uid, meta.namespace), bool(reported))
            for name, meta, reported in found if meta.creation_timestamp is not None]  # fmt: skip
    waiting = min((one for one, reported in rows if not reported), key=lambda one: one.since, default=None)
    if waiting is None or any(one.since >= waiting.since for one, reported in rows if reported):
        return None
    return waiting


def _called(request: EvictionRequest) -> str:
    return f"the request for pod/{request.pod_name}" if request.pod_name else request.metadata.name


def _renewed(lease: Lease) -> dt.datetime:
    return lease.spec.renew_time or EARLIEST


def _renewal_due(lease: Lease) -> dt.timedelta:
    """Half of the time after which another takes over: by then it should have been renewed three times."""
    return dt.timedelta(seconds=(lease.spec.lease_duration_seconds or _DEFAULT_DURATION) / 2)


def _since(lease: Lease, holder: str, now: dt.datetime) -> str:
    where, renewed = f"{lease.metadata.namespace}/{lease.metadata.name}", lease.spec.renew_time
    if renewed is None:
        return f": no process holds Lease {where}"
    since = f" since {renewed.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
    length = span(now - renewed)
    if holder:
        return f"{since}: {holder} has not renewed Lease {where} for {length}"
    return f"{since}: Lease {where} was given back {length} ago"


def _unknown(late: Unattended, now: dt.datetime) -> ManagerHealth:
    text = (
        f"Nothing has been reported on {late.name}, which was created {ago(late.since, now)}: perhaps no "
        f"manager works. You may not read Lease {MANAGER}, which would show it (ClusterRole {VIEWER} may)."
    )
    ask = Remedy("An administrator sees it with", _pods(DEFAULT_NAMESPACE))
    return ManagerHealth(ManagerState.UNKNOWN, text, (ask,))


def _pods(namespace: str) -> str:
    return command_line("kubectl", "-n", namespace, "get", "pods")


def _start(namespace: str, embedded: bool, program: str) -> tuple[Remedy, ...]:
    if embedded:
        return (
            Remedy("Run one beside this embedded cluster", f"{program} manager"),
            Remedy(f"Or start the cluster again with {program} up, without --no-evictions"),
        )
    return (
        Remedy("See whether its pods run", _pods(namespace)),
        *_look(namespace, embedded, program),
        Remedy("Install it, or install it again", f"{program} install"),
    )


def _look(namespace: str, embedded: bool, program: str) -> tuple[Remedy, ...]:
    if embedded:
        return (Remedy(f"Look at the output of {program} manager, or of {program} up"),)
    logs = command_line("kubectl", "-n", namespace, "logs", f"deployment/{MANAGER}")
    return Remedy("See what it logs", logs), Remedy("See what else is wrong", f"{program} check")
