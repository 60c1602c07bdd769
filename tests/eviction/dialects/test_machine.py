"""The engine against arbitrary interceptors, requesters, clocks and failures, checked after every step.

VACATE_MACHINE_EXAMPLES=20000 pytest tests/eviction/dialects/test_machine.py
"""

from __future__ import annotations

import copy
import datetime as dt
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from eviction.dialects.given import FIRST, LAST, SECOND, condition, pod
from eviction.dialects.model_controller import ModelController
from eviction.dialects.model_invariants import (
    SKEW,
    condition_of,
    counter_of,
    deadline_of,
    is_complete,
    theirs,
)
from eviction.dialects.model_server import ANOTHER_UID, DEADLINE_SECONDS, Fates, Server, a_server
from support.effort import examples
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time, parse_time
from vacate.eviction.model import AlreadyComplete, Hold

pytestmark = pytest.mark.unit

EXAMPLES = int(os.environ.get("VACATE_MACHINE_EXAMPLES", examples(150)))
NAMES = (FIRST, SECOND, LAST)
SKEWS = st.sampled_from([-10.0, -3.2, 0.0, 0.000_001, 7.5, 10.0])
AROUND_THE_DEADLINE = [DEADLINE_SECONDS + more for more in (-20, -10, -1, 0, 1, 10, 20)]
SPANS = st.one_of(
    st.sampled_from([0.000_001, 1, 5, 30, DEADLINE_SECONDS / 10, DEADLINE_SECONDS / 10 - 1]),
    st.sampled_from(AROUND_THE_DEADLINE),
    st.floats(0, 1000),
)
FATES = st.builds(
    Fates,
    write=st.sampled_from(["arrives", "arrives", "arrives", "is lost", "is unanswered"]),
    eviction=st.sampled_from(["accepted", "refused", "refused", "fails", "is unanswered"]),
    chance=st.sampled_from([0.0, 0.5, 0.99]),
    repeated=st.sampled_from([1] * 8 + [10_000]),
)
WORLDS = st.tuples(
    st.sampled_from([0, 1, 1, 2, 2, 3]),  # how many interceptors
    st.sampled_from([True] * 15 + [False]),  # whether it passed admission
    st.sampled_from([False, False, True]),  # whether its pod is a DaemonSet's
    st.tuples(SKEWS, SKEWS),
)
WHICH = st.integers(0, 1)
FEW = st.integers(0, 3)


def grown(machine: EvictionMachine) -> bool:
    """What ends a process comes when there has been one: otherwise most runs are about ends."""
    return len(machine.server.requests) > 5


class EvictionMachine(RuleBasedStateMachine):
    """One request, one pod, two controllers, and everyone else."""

    @initialize(world=WORLDS)
    def begin(self, world: tuple[int, bool, bool, tuple[float, float]]) -> None:
        count, self.admitted, self.daemon, skews = world
        self.server = a_server(NAMES[:count], admitted=self.admitted, daemon=self.daemon)
        spans = [dt.timedelta(seconds=skew) for skew in skews]
        self.controllers = [ModelController(self.server, skew, self.server.now + skew) for skew in spans]
        self.over: Obj | None = None

    @precondition(lambda self: self.over and self.server.ours is None)
    @rule(world=WORLDS)
    def another_request(self, world: tuple[int, bool, bool, tuple[float, float]]) -> None:
        """This one is over and its pod is gone: the rest of the run is better spent on a new one."""
        self.begin(world)

    # Time, controllers

    @rule(seconds=SPANS)
    def time_passes(self, seconds: float) -> None:
        self.server.now += dt.timedelta(seconds=seconds)

    @rule(which=WHICH, requests=FEW, pods=FEW)
    def something_arrives(self, which: int, requests: int, pods: int) -> None:
        self.controllers[which].catch_up(requests, pods)

    @rule(which=WHICH, fates=FATES)
    def a_controller_acts(self, which: int, fates: Fates) -> None:
        self.controllers[which].step(fates)

    @rule(which=WHICH, fates=FATES)
    def a_controller_catches_up_and_acts(self, which: int, fates: Fates) -> None:
        self.controllers[which].catch_up()
        self.controllers[which].step(fates)

    @rule(which=WHICH, chance=st.sampled_from([0.0, 0.5]))
    def a_controller_starts_anew(self, which: int, chance: float) -> None:
        self.controllers[which].restart(chance)

    @rule(which=WHICH)
    def a_watch_breaks(self, which: int) -> None:
        self.controllers[which].lose_watch()

    @rule(which=WHICH, fates=FATES)
    def a_budget_wakes_a_request(self, which: int, fates: Fates) -> None:
        self.controllers[which].next_attempt = None
        self.a_controller_catches_up_and_acts(which, fates)

    @rule(which=WHICH, times=st.integers(2, 4))
    def a_budget_stays_shut(self, which: int, times: int) -> None:
        for _ in range(times):
            self.a_budget_wakes_a_request(which, Fates(eviction="refused"))

    @rule(which=WHICH, seconds=SPANS, fates=FATES)
    def a_controller_is_away_and_acts_as_soon_as_it_is_back(
        self, which: int, seconds: float, fates: Fates
    ) -> None:
        self.time_passes(seconds)
        self.a_controller_starts_anew(which, 0.0)
        self.a_controller_acts(which, fates)

    # Interceptors

    @rule(which=WHICH, skew=SKEWS)
    def an_interceptor_has_done_its_part_at_once(self, which: int, skew: float) -> None:
        self.a_controller_catches_up_and_acts(which, Fates())
        self.an_interceptor_reports(skew, careful=True, finish=False, note=False)
        self.an_interceptor_completes()
        self.a_controller_catches_up_and_acts(which, Fates())

    @rule(which=WHICH, fates=FATES)
    def an_interceptor_reports_too_late_for_the_cache(self, which: int, fates: Fates) -> None:
        controller = self.controllers[which]
        controller.catch_up()
        self.server.now = max(self.server.now, deadline_of(self.server.request) + SKEW)
        self.an_interceptor_reports(0.0, careful=True, finish=False, note=False)
        controller.step(fates)

    @rule(skew=SKEWS, careful=st.booleans(), finish=st.booleans(), note=st.booleans())
    def an_interceptor_reports(self, skew: float, careful: bool, finish: bool, note: bool) -> None:
        self._write(lambda obj: self._report(obj, skew, careful=careful, finish=finish, note=note))

    def _write(self, edit: Callable[[Obj], None]) -> None:
        self.server.change(edit, "status")

    def _report(self, obj: Obj, skew: float, *, careful: bool, finish: bool, note: bool) -> None:
        status, now = obj["status"], self.server.now + dt.timedelta(seconds=skew)
        stored = status.get("heartbeatTime")
        beat = max(now, parse_time(stored)) if careful and stored else now
        status |= {"heartbeatTime": format_exact_time(beat), "message": "At work."}
        if finish:
            status["expectedInterceptorFinishTime"] = format_exact_time(now + dt.timedelta(hours=1))
        if note and not condition_of(obj, "Saved"):
            status.setdefault("conditions", []).append(
                condition("Saved", "True", "Yes", format_exact_time(now))
            )

    @rule()
    def an_interceptor_completes(self) -> None:
        self._write(lambda obj: obj["status"].update(activeInterceptorCompleted=True))

    @rule(policy=st.sampled_from(["Allow", "Forbid"]))
    def an_interceptor_sets_the_policy(self, policy: str) -> None:
        self._write(lambda obj: obj["status"].update(evictionRequestCancellationPolicy=policy))

    @rule()
    def a_careless_interceptor_keeps_only_its_own_conditions(self) -> None:
        """A merge patch replaces lists, and not everyone thinks of that."""
        if not is_complete(self.server.request):
            self._write(lambda obj: obj["status"].update(conditions=theirs(obj)))

    @rule(beside=st.sampled_from(["nothing", "nobody", "a deletion"]))
    def a_race_stores_forbid(self, beside: str) -> None:
        """Beside a deletion, or with nobody left who asks: admission would not let it pass."""
        if not is_complete(self.server.request):
            self.server.store(lambda obj: self._forbid(obj, beside))

    def _forbid(self, obj: Obj, beside: str) -> None:
        obj["status"]["evictionRequestCancellationPolicy"] = "Forbid"
        if beside == "nobody":
            obj["spec"]["requesters"] = []
        if beside == "a deletion":
            obj["metadata"]["deletionTimestamp"] = format_exact_time(self.server.now)

    # Requesters

    @precondition(grown)
    @rule(names=st.sampled_from([[], ["a.example.com"], ["a.example.com", "b.example.com"]]))
    def requesters_join_and_leave(self, names: list[str]) -> None:
        self.server.change(lambda obj: obj["spec"].update(requesters=[{"name": name} for name in names]))

    @precondition(grown)
    @rule()
    def the_request_is_deleted(self) -> None:
        if not is_complete(self.server.request):
            self.server.delete_request()

    # The pod

    @precondition(grown)
    @rule(seconds=st.sampled_from([0, 30, 3600]))
    def someone_else_ends_the_pod(self, seconds: int) -> None:
        self.server.terminate(dt.timedelta(seconds=seconds))

    @precondition(lambda self: self.server.ours and grown(self))
    @rule(phase=st.sampled_from(["Succeeded", "Failed", "Running"]))
    def the_pod_changes_its_phase(self, phase: str) -> None:
        changed = copy.deepcopy(self.server.ours)
        assert changed is not None
        if changed["status"]["phase"] == "Running":
            changed["status"]["phase"] = phase
            self.server.show_pod(changed)

    @precondition(grown)
    @rule(another=st.booleans())
    def the_pod_vanishes(self, another: bool) -> None:
        self.server.show_pod(None)
        if another:
            self.server.show_pod(pod(ANOTHER_UID))

    # What always holds

    @invariant()
    def at_most_one_is_active_and_it_is_the_latest(self) -> None:
        active = self.server.request["status"].get("activeInterceptorName")
        turns = self.server.checker.turns
        assert active in ({None, turns[-1]} if turns else {None})

    @invariant()
    def what_is_complete_never_changes_again(self) -> None:
        if self.over is None and is_complete(self.server.request):
            self.over = copy.deepcopy(self.server.request)
        if self.over is not None:
            assert self.server.request["status"] == self.over["status"]
            assert self.server.request["spec"] == self.over["spec"]

    @invariant()
    def another_pod_of_the_name_is_left_alone(self) -> None:
        if self.server.pod and self.server.pod["metadata"]["uid"] == ANOTHER_UID:
            assert "deletionTimestamp" not in self.server.pod["metadata"]

    @invariant()
    def the_counter_never_falls(self) -> None:
        counts = [counter_of(obj) for obj in self.server.requests[-2:]]
        assert counts == sorted(counts)

    @rule()
    def they_come_to_rest(self) -> None:
        """At any instant a few writes are enough, also for two whose pods are of different age."""
        both = _fresh(self)
        for _ in range(5):
            before = len(both[0].server.requests)
            for controller in both:
                controller.catch_up(pods=0)
                controller.step(Fates(eviction="fails"))
            if len(both[0].server.requests) == before:
                return
        raise AssertionError("they write and write")

    # What always comes

    def teardown(self) -> None:
        if not hasattr(self, "server"):
            return
        self.they_come_to_rest()
        if self.admitted:
            self._it_ends_when_the_pod_does()
            self._it_ends_when_nobody_objects()

    def _it_ends_when_the_pod_does(self) -> None:
        for following in (None, pod(ANOTHER_UID)):
            controller, _ = _fresh(self)
            controller.server.show_pod(following)
            for _ in range(2):
                controller.catch_up()
                controller.step(Fates())
            assert is_complete(controller.server.request)

    def _it_ends_when_nobody_objects(self) -> None:
        """Silence on all sides: turns time out one by one, the pod is evicted and goes."""
        controller, _ = _fresh(self)
        for _ in range(40):
            controller.catch_up()
            action = controller.step(Fates())
            if isinstance(action, AlreadyComplete):
                return
            if isinstance(action, Hold):
                _wait_for(controller, action)
        assert self.daemon, "the process came to rest before its end"


def _fresh(machine: EvictionMachine) -> tuple[ModelController, ModelController]:
    """The controllers in a copy of the world, so that what they do is only tried."""
    server: Server = copy.copy(machine.server)
    server.requests, server.pods = list(server.requests), list(server.pods)
    server.checker = copy.deepcopy(server.checker)
    first, second = machine.controllers
    return replace(first, server=server), replace(second, server=server)


def _wait_for(controller: ModelController, hold: Hold) -> None:
    ours = controller.server.ours
    if hold.until is not None:
        controller.server.now = max(controller.server.now, hold.until - controller.skew)
    if ours is not None and "deletionTimestamp" in ours["metadata"]:
        controller.server.show_pod(None)


TestEvictionMachine: Any = EvictionMachine.TestCase
TestEvictionMachine.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=50,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
