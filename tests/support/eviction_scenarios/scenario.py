"""A drawn scenario: pods, interceptors, who wants what, and what goes wrong, all as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from support.eviction_scenarios.behaviour import Behaviour, draw_behaviour
from support.eviction_scenarios.draws import Draws
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.registry import OWN_DIALECTS
from vacate.sim.faults.plan import FaultRates

INTERCEPTORS = ("backup.example.com", "drain.example.com", "own.example.com")
REQUESTERS = ("upgrade.example.com", "descheduler.example.com", "ops.example.com")
NODES = ("node-1", "node-2")
LENGTH = 1500.0
"""Seconds of trouble before the calm, unless specified otherwise."""


@dataclass(frozen=True, slots=True)
class PodPlan:
    """One pod, and again each time that it is made anew."""

    name: str
    node: str
    interceptors: tuple[str, ...]
    deadline: int
    grace: int
    stop: float
    run: float | None = None  # ends by itself after so long
    guarded: bool = False  # by the disruption budget
    daemon: bool = False
    finalizer: bool = False


@dataclass(frozen=True, slots=True)
class ScenarioEvent:
    """Something that somebody does at some time."""

    at: float
    what: str
    who: str = ""  # a pod, a process or a node
    by: str = ""  # a requester
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """All of it."""

    pods: tuple[PodPlan, ...]
    behaviours: Mapping[tuple[str, str], Behaviour]  # by interceptor and pod
    by_sdk: Mapping[str, bool]  # which interceptors are made with the SDK
    events: tuple[ScenarioEvent, ...]
    fault_rates: FaultRates
    skews: Mapping[str, float]
    managers: int = 1
    elected: bool = False  # whether one manager works at a time
    collected: bool = True  # whether requests go with their pods; else the controller alone ends them
    shuffle: bool = False
    length: float = LENGTH
    apis: Mapping[str, Dialect] = field(default_factory=dict)  # by requester; EvictionRequests by default

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """The APIs of the requesters, that of EvictionRequests first."""
        return tuple(one for one in OWN_DIALECTS if one is EVICTION_REQUEST or one in self.apis.values())

    @property
    def peaceful(self) -> bool:
        """Whether nothing keeps the controllers from their work."""
        theirs = ("crash server", *managers(self.managers))
        calm = self.fault_rates.requests == 0 and self.fault_rates.watches == 0
        return calm and not any(one.what in theirs or one.who in theirs for one in self.events)

    @property
    def processes(self) -> tuple[str, ...]:
        """All processes that can crash or be cut off."""
        return (*managers(self.managers), *self.by_sdk)


def managers(count: int) -> tuple[str, ...]:
    """The names of the controllers' processes."""
    return tuple(f"manager-{n + 1}" for n in range(count))


def draw_apis(draws: Draws) -> dict[str, Dialect]:
    """By which API each requester asks: at least one by Evacuations."""
    every = list(OWN_DIALECTS)
    return {name: every[-1] if place == 0 else draws.pick(every) for place, name in enumerate(_order(draws))}


def _order(draws: Draws) -> list[str]:
    return draws.some(REQUESTERS, len(REQUESTERS))


def draw_scenario(draws: Draws) -> Scenario:
    """A random scenario; the same draws give the same scenario."""
    count = 2 if draws.chance(0.3) else 1
    pods = tuple(_pod(draws, f"pod-{n}") for n in range(draws.number(2, 4)))
    processes = (*managers(count), *INTERCEPTORS)
    skewed = draws.chance(0.5)
    return Scenario(
        pods=pods,
        behaviours={
            (name, pod.name): draw_behaviour(draws, pod.deadline) for pod in pods for name in pod.interceptors
        },
        by_sdk={name: draws.chance(0.7) for name in INTERCEPTORS},
        events=_events(draws, pods, processes),
        fault_rates=_fault_rates(draws),
        skews={
            name: draws.pick((-10.0, -5.0, 0.0, 5.0, 10.0)) if skewed else 0.0
            for name in (*processes, *REQUESTERS)
        },
        managers=count,
        elected=count > 1 and draws.chance(0.5),
        collected=draws.chance(0.4),
        shuffle=draws.chance(0.3),
    )


def _pod(draws: Draws, name: str) -> PodPlan:
    return PodPlan(
        name=name,
        node=draws.pick(NODES),
        interceptors=tuple(draws.some(INTERCEPTORS, draws.pick((0, 1, 2, 2, 3)))),
        deadline=draws.pick((600, 600, 900)),
        grace=draws.pick((0, 5, 30)),
        stop=draws.seconds(0, 20),
        run=draws.seconds(100, LENGTH) if draws.chance(0.1) else None,
        guarded=draws.chance(0.5),
        daemon=draws.chance(0.08),
        finalizer=draws.chance(0.1),
    )


def _fault_rates(draws: Draws) -> FaultRates:
    if draws.chance(0.2):
        return FaultRates()
    return FaultRates(
        requests=draws.pick((0.0, 0.05, 0.15, 0.3)),
        watches=draws.pick((0.0, 0.2, 0.5)),
        delay=draws.pick((2.0, 5.0, 12.0)),
    )


def _events(draws: Draws, pods: tuple[PodPlan, ...], processes: tuple[str, ...]) -> tuple[ScenarioEvent, ...]:
    found = [ScenarioEvent(draws.seconds(5, 120), _first(draws), pod.name, REQUESTERS[0]) for pod in pods]
    for _ in range(draws.number(3, 14)):
        found += _by_users(draws, pods)
    if draws.chance(0.7):
        found += [_trouble(draws, processes) for _ in range(draws.number(1, 6))]
    if draws.chance(0.08):
        found.append(ScenarioEvent(draws.seconds(200, LENGTH), "delete namespace"))
    return tuple(sorted(found, key=lambda one: one.at))


_USER_ACTIONS = (
    "ask", "ask", "ask by sdk", "ask by sdk", "withdraw", "withdraw", "withdraw by sdk", "keep requested",
    "remove names", "remove names", "remove names", "delete request", "delete request", "override",
    "delete pod", "make pod", "make pod", "replace pod", "replace pod", "open budget", "close budget",
    "close budget", "evict pod", "release pod",
)  # fmt: skip
_TROUBLES = ("crash", "crash", "crash", "cut", "cut", "crash server", "crash node")


def _first(draws: Draws) -> str:
    return draws.pick(("ask", "ask", "ask by sdk", "ask by sdk", "ask by sdk", "keep requested"))


def _by_users(draws: Draws, pods: tuple[PodPlan, ...]) -> list[ScenarioEvent]:
    at, what, pod = draws.seconds(0, LENGTH), draws.pick(_USER_ACTIONS), draws.pick(pods).name
    found = [ScenarioEvent(at, what, pod, draws.pick((*REQUESTERS, REQUESTERS[0], REQUESTERS[0])))]
    if what in ("make pod", "replace pod") and draws.chance(0.8):
        # At once: caches of pods may be older than those of requests.
        found.append(
            ScenarioEvent(at + draws.pick((0.0, 0.0, 1.0, 20.0)), "ask", pod, draws.pick(REQUESTERS))
        )
    return found


def _trouble(draws: Draws, processes: tuple[str, ...]) -> ScenarioEvent:
    what = draws.pick(_TROUBLES)
    who = draws.pick(NODES) if what == "crash node" else draws.pick(processes)
    return ScenarioEvent(draws.seconds(0, LENGTH), what, who, seconds=draws.pick((0.5, 5.0, 60.0, 400.0)))
