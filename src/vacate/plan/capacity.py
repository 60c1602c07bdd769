"""How full zones are before a drain, at their fullest while it runs, and afterwards. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from vacate.api.objects import Obj, dig
from vacate.api.types import Node, Pod
from vacate.api.types.core import TERMINAL_PHASES
from vacate.client.codec import codec_for
from vacate.kube.scheduling.clusterview import ZONE
from vacate.kube.scheduling.requests import amounts, pod_requests

Place = tuple[str, str]
"""Namespace and name of a pod."""


class Share(msgspec.Struct, frozen=True):
    """Requests of pods as part of what nodes offer, in percent."""

    before: int
    fullest: int  # at any moment of the drain
    after: int


class Room(msgspec.Struct, frozen=True, rename="camel"):
    """How full a zone is, over those of its nodes that take pods at the moment."""

    zone: str
    cpu: Share
    memory: Share
    largest_cpu: float  # cores of the largest pod that still fits afterwards: what the emptiest node has free
    largest_memory: int  # bytes that the same node has free


@dataclass(slots=True)
class _Amount:
    """Thousandths of cores, bytes and pods."""

    cpu: int = 0
    memory: int = 0
    pods: int = 0

    def add(self, other: _Amount, sign: int = 1) -> None:
        self.cpu += sign * other.cpu
        self.memory += sign * other.memory
        self.pods += sign * other.pods


@dataclass(slots=True)
class _Zone:
    offered: _Amount = field(default_factory=_Amount)  # by nodes that take pods
    used: _Amount = field(default_factory=_Amount)  # on these
    before: tuple[int, int] = (0, 0)
    fullest: tuple[int, int] = (0, 0)

    def shares(self) -> tuple[int, int]:
        return _percent(self.used.cpu, self.offered.cpu), _percent(self.used.memory, self.offered.memory)

    def look(self) -> None:
        cpu, memory = self.shares()
        self.fullest = (max(self.fullest[0], cpu), max(self.fullest[1], memory))


@dataclass(slots=True)
class _Node:
    zone: _Zone
    offered: _Amount
    takes_pods: bool
    used: _Amount = field(default_factory=_Amount)


@dataclass(slots=True)
class Capacity:
    """Follows nodes and pods."""

    _zones: dict[str, _Zone] = field(default_factory=dict)
    _nodes: dict[str, _Node] = field(default_factory=dict)
    _pods: dict[Place, tuple[str, str, _Amount]] = field(default_factory=dict)  # UID and node by pod

    def begin(self) -> None:
        """What is there now is what was there before."""
        for zone in self._zones.values():
            zone.before = zone.fullest = zone.shares()

    def node(self, name: str, node: Obj | None) -> None:
        """A node as it is now; None where it is gone."""
        known = self._nodes.get(name)
        if known is None and node is not None:
            typed = codec_for(Node).convert(node)
            offered = amounts(typed.status.allocatable)
            zone = self._zones.setdefault(typed.metadata.labels.get(ZONE, ""), _Zone())
            amount = _Amount(offered.get("cpu", 0), offered.get("memory", 0), offered.get("pods", 0))
            known = self._nodes[name] = _Node(zone, amount, takes_pods=False)
        takes_pods = node is not None and not dig(node, "spec", "unschedulable")
        if known is None or known.takes_pods == takes_pods:
            return
        known.takes_pods = takes_pods
        sign = 1 if takes_pods else -1
        known.zone.offered.add(known.offered, sign)
        known.zone.used.add(known.used, sign)
        known.zone.look()

    def pod(self, place: Place, pod: Obj | None) -> None:
        """A pod as it is now; None where it is gone."""
        uid, name = ("", "") if pod is None else (pod["metadata"]["uid"], dig(pod, "spec", "nodeName") or "")
        if dig(pod or {}, "status", "phase") in TERMINAL_PHASES:
            uid = name = ""
        known = self._pods.get(place)
        if known is not None and known[:2] != (uid, name):
            self._count(known[1], known[2], -1)
            del self._pods[place]
        if pod is not None and name and place not in self._pods:
            wanted = pod_requests(codec_for(Pod).convert(pod))
            amount = _Amount(wanted.get("cpu", 0), wanted.get("memory", 0), 1)
            self._pods[place] = (uid, name, amount)
            self._count(name, amount, 1)

    def _count(self, name: str, amount: _Amount, sign: int) -> None:
        node = self._nodes.get(name)
        if node is None:
            return
        node.used.add(amount, sign)
        if node.takes_pods:
            node.zone.used.add(amount, sign)
            node.zone.look()

    def rooms(self) -> tuple[Room, ...]:
        """By zone: what was seen, and what still fits now."""
        return tuple(self._room(name, zone) for name, zone in sorted(self._zones.items()))

    def _room(self, name: str, zone: _Zone) -> Room:
        cpu, memory = (Share(*three) for three in zip(zone.before, zone.fullest, zone.shares(), strict=True))
        cores, free = max((_free(one) for one in self._open(zone)), default=(0, 0))
        return Room(name, cpu, memory, cores / 1000, free)

    def _open(self, zone: _Zone) -> Sequence[_Node]:
        """The nodes of the zone on which one more pod fits by the count of pods."""
        return [
            one
            for one in self._nodes.values()
            if one.zone is zone and one.takes_pods and one.used.pods < one.offered.pods
        ]


def _free(node: _Node) -> tuple[int, int]:
    return max(node.offered.cpu - node.used.cpu, 0), max(node.offered.memory - node.used.memory, 0)


def _percent(part: int, whole: int) -> int:
    return round(100 * part / whole) if whole else 0
