"""PURE. Exclusive volumes: which node and pods hold each of them, and which pods wait for it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.times import is_time, parse_time
from vacate.api.types import Pod
from vacate.errors import InvalidAttachment
from vacate.kube.exclusivevolumes import Holder, attachment_of, is_exclusive, waits_at_gate
from vacate.web.components import Column, age, cell, node_link, pod_link, row, section, table
from vacate.web.markup import Content, Element, el
from vacate.web.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class HeldVolume:
    """An exclusive volume, and the record of where it is attached."""

    name: str
    claim: str
    node: str = ""
    holders: tuple[Holder, ...] = ()
    since: dt.datetime | None = None
    awaited: tuple[Pod, ...] = ()
    trouble: str = ""  # where the record cannot be understood


def held_volumes(snapshot: Snapshot) -> list[HeldVolume]:
    """Every exclusive volume; those that are awaited first."""
    classes = {one.metadata.name: one for one in snapshot.classes}
    found = []
    waiting: dict[tuple[str, str], list[Pod]] = {}
    for pod in snapshot.pods:
        if waits_at_gate(pod):
            for claim in pod.claims:
                waiting.setdefault((pod.metadata.namespace, claim), []).append(pod)
    for one in snapshot.volumes:
        if not is_exclusive(one, classes.get(one.spec.storage_class_name)):
            continue
        ref = one.spec.claim_ref
        key = (ref.namespace, ref.name) if ref else ("", "")
        name, claim = one.metadata.name, "/".join(key) if ref else ""
        try:
            record = attachment_of(one)
        except InvalidAttachment as error:
            found.append(HeldVolume(name, claim, trouble=str(error)))
            continue
        pods = record.pods if record else ()
        since = parse_time(record.since) if record and record.since and is_time(record.since) else None
        held = {holder.uid for holder in pods}
        awaited = tuple(pod for pod in waiting.get(key, ()) if pod.metadata.uid not in held)
        found.append(HeldVolume(name, claim, record.node if record else "", pods, since, awaited))
    return sorted(found, key=lambda one: (not one.awaited, one.name))


def volumes_section(snapshot: Snapshot, volumes: Sequence[HeldVolume]) -> Element:
    """The volumes as a table."""
    columns = (
        Column("Volume"),
        Column("Held by"),
        Column("Node"),
        Column("Awaited by"),
        Column("For", "num"),
    )
    return section(
        "vol",
        "Exclusive volumes",
        table("Exclusive volumes", columns, [_row(snapshot, one) for one in volumes], key="volumes/table"),
        note="attached to one node at a time",
        key="volumes",
    )


def _row(snapshot: Snapshot, one: HeldVolume) -> Element:
    holders: list[Content] = [one.trouble] if one.trouble else []
    for place, holder in enumerate(one.holders):
        holders += [", "] if place else []
        holders += [pod_link(holder.namespace, holder.name), " (gone)" if holder.gone else ""]
    awaited: list[Content] = []
    for place, pod in enumerate(one.awaited[:5]):
        awaited += [", "] if place else []
        awaited.append(pod_link(pod.metadata.namespace, pod.metadata.name))
    return row(
        f"volumes/{one.name}",
        cell("wide name", one.name, el("span", "dim", f" {one.claim}") if one.claim else None),
        cell("wide", holders or "no pod", unit="held by"),
        cell("o9", node_link(one.node) if one.node else None, unit="on"),
        cell("wide", awaited or "no pod", unit="awaited by"),
        cell("num gone", age(one.since, snapshot.now) if one.since else None),
    )
