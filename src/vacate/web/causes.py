"""PURE. The blockers of all drains, grouped by what holds them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.types.nodemaintenance import Blocker
from vacate.views.model import Remedy
from vacate.views.phrases import advice, command_line
from vacate.web.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod, or a node without one, that a cause holds."""

    namespace: str
    pod: str
    node: str
    since: dt.datetime | None
    maintenance: str


@dataclass(frozen=True, slots=True)
class Heading:
    """What holds, in three parts, so that the name can be a link."""

    what: str
    name: str
    verdict: str

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.name, self.verdict) if part)


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that holds pods or nodes, with all that wait for it."""

    kind: str
    namespace: str
    name: str
    heading: Heading
    since: dt.datetime | None
    needs_person: bool
    end: dt.datetime | None
    message: str
    remedies: tuple[Remedy, ...]
    waiting: tuple[WaitingPod, ...]
    more: tuple[WaitingPod, ...] = ()
    otherwise: str = ""

    @property
    def key(self) -> str:
        """What identifies it among others, also later."""
        return "/".join((self.kind, self.namespace, self.name))


def causes_of(snapshot: Snapshot) -> list[Cause]:
    """What holds the drains of the cluster: what needs a person first, then by age, longest first."""
    found: dict[tuple[str, str, str], list[tuple[str, Blocker]]] = {}
    for one in snapshot.maintenances:
        for row in one.status.blockers:
            key = (row.kind, row.namespace if row.name else "", row.name or row.pod or row.node)
            found.setdefault(key, []).append((one.metadata.name, row))
    made = [_cause(key, rows, snapshot) for key, rows in found.items()]
    return sorted(made, key=lambda one: (not one.needs_person, one.since or snapshot.now, one.key))


def _cause(key: tuple[str, str, str], rows: list[tuple[str, Blocker]], snapshot: Snapshot) -> Cause:
    first = rows[0][1]
    remedies = [Remedy(advice(first.remedy))] if first.remedy else []
    if first.pod:
        look = command_line(snapshot.program, "explain", f"pod/{first.pod}", "-n", first.namespace)
        remedies.append(Remedy(f"See what holds {first.pod}", look))
    return Cause(
        *key,
        heading=Heading(first.kind, f"{key[1]}/{key[2]}" if key[1] else key[2], ""),
        since=min((row.since for _, row in rows if row.since), default=None),
        needs_person=first.kind != "Turn",
        end=None,
        message=advice(first.message),
        remedies=tuple(remedies),
        waiting=tuple(WaitingPod(row.namespace, row.pod, row.node, row.since, own) for own, row in rows),
    )
