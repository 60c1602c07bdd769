"""PURE. Health: the manager, what the pages could not read, the user's rights, and versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate import __version__
from vacate.views.managerhealth import (
    ManagerHealth,
    manager_health,
    unattended_maintenance,
    unattended_request,
)
from vacate.web.components import DONE, OVER, STAY, STUCK, Page, age, heading, icon, remedies, verdict
from vacate.web.markup import Content, Element, el
from vacate.web.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Right:
    """Something that one can do with Vacate, and whether the user may."""

    verb: str  # as in `drain nodes`
    allowed: bool | None  # None where it could not be found out
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page reads beside the caches."""

    server: str = ""  # version of the API server
    embedded: bool = False
    rights: Sequence[Right] = ()


def health_of(snapshot: Snapshot, *, embedded: bool = False) -> ManagerHealth:
    """Whether a manager works, by its Lease and by what it has reported."""
    late = unattended_maintenance(*snapshot.maintenances) or unattended_request(snapshot.open_requests)
    return manager_health(snapshot.leases, snapshot.now, late, embedded=embedded, program=snapshot.program)


def health_page(snapshot: Snapshot, facts: Facts) -> Page:
    """Whether Vacate works, and what is in its way."""
    health = health_of(snapshot, embedded=facts.embedded)
    refused = [one for one in snapshot.unread if one.forbidden]
    if health.text:
        head = verdict(STUCK, "Vacate does not work as it should", health.text)
    elif refused:
        head = verdict(STAY, "Vacate works, and you may not see all of it")
    else:
        head = verdict(DONE, "Vacate works")
    main = [
        head,
        el(
            "section",
            "first",
            heading("do", "What you can do"),
            remedies(health.remedies, "health"),
            aria_labelledby="do",
            key="health-do",
        )
        if health.remedies
        else None,
        _parts(snapshot, facts, health),
        _rights(facts.rights) if facts.rights else None,
    ]
    mark = "▲ " if health.text else ""
    return Page(f"{mark}Health", "health", tuple(one for one in main if one is not None))


def _line(good: bool | None, name: str, *text: Content) -> Element:
    shape = DONE if good else STAY if good is None else STUCK
    return el(
        "li",
        "",
        icon(shape, "is-stuck" if shape == STUCK else ""),
        el("b", "", name),
        el("span", "", *text),
        key=f"health/{name}",
    )


def _parts(snapshot: Snapshot, facts: Facts, health: ManagerHealth) -> Element:
    lines = [_manager(snapshot, health)]
    for one in snapshot.unread:
        lines.append(_line(None, one.resource, one.reason))
    if snapshot.unreadable:
        names = "; ".join(f"{one.identity.name}: {one.reason}" for one in snapshot.unreadable[:5])
        lines.append(_line(False, "Unreadable objects", names))
    lines.append(_line(True, "Policies", f"{len(snapshot.policies)} FencingPolicies"))
    lines.append(_line(True, "Versions", f"vacate {__version__}, API server {facts.server or 'unknown'}"))
    return el(
        "section", "", heading("parts", "Parts"), el("ul", "oks", lines), aria_labelledby="parts", key="parts"
    )


def _manager(snapshot: Snapshot, health: ManagerHealth) -> Element:
    if snapshot.leases is None:
        return _line(None, "Manager", "you may not read its Lease")
    lease = max(snapshot.leases, key=lambda one: one.spec.renew_time or snapshot.now, default=None)
    if health.text or lease is None:
        return _line(False, "Manager", health.text)
    since = lease.spec.acquire_time
    held: list[Content] = [" leads since ", age(since, snapshot.now)] if since else [" leads"]
    return _line(
        True,
        "Manager",
        lease.spec.holder_identity,
        held,
        f", Lease {lease.metadata.namespace}/{lease.metadata.name}",
    )


def _rights(rights: Sequence[Right]) -> Element:
    lines = [
        el(
            "li",
            "",
            icon(DONE if one.allowed else OVER if one.allowed is False else STAY),
            el("b", "", one.verb),
            el("span", "", "you may" if one.allowed else one.reason or "you may not"),
            key=f"right/{one.verb}",
        )
        for one in rights
    ]
    return el(
        "section",
        "",
        heading("rights", "Your rights"),
        el("ul", "oks", lines),
        aria_labelledby="rights",
        key="rights",
    )
