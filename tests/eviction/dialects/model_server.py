"""A server of one request and one pod: all their versions, guarded writes, the real admission, a checker."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from eviction.dialects.given import NOW, UID, patched, pod, request
from eviction.dialects.model_invariants import InvariantChecker
from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError
from vacate.api.identity import EVICTION_CONTROLLER as CONTROLLER
from vacate.api.identity import User
from vacate.api.kinds import EVICTIONREQUESTS, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.embedded.registry.strategies import strategy_for
from vacate.errors import Forbidden
from vacate.features import FeatureGates

DEADLINE_SECONDS = 600
GRACE = dt.timedelta(seconds=30)
ANOTHER_UID = "22222222-2222-2222-2222-222222222222"
DAEMON_SET = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "o", "controller": True}


_STRATEGY = strategy_for(EVICTIONREQUESTS)


class Stale(Exception):
    """The write was made from a version that is no longer the newest."""


def a_request(interceptors: tuple[str, ...], *, admitted: bool) -> Obj:
    obj = request(*interceptors)
    obj["spec"]["heartbeatDeadlineSeconds"] = DEADLINE_SECONDS
    obj["metadata"] |= {"finalizers": ["example.com/kept"], "creationTimestamp": "2026-03-01T12:00:00Z"}
    if not admitted:
        del obj["metadata"]["annotations"]
    return obj


@dataclass
class Server:
    """What is true."""

    requests: list[Obj]
    pods: list[Obj | None]
    checker: InvariantChecker
    now: dt.datetime = NOW
    evictions: int = 0

    @property
    def request(self) -> Obj:
        return self.requests[-1]

    @property
    def pod(self) -> Obj | None:
        return self.pods[-1]

    @property
    def ours(self) -> Obj | None:
        """The pod that the request means, if it is still there."""
        return self.pod if self.pod and self.pod["metadata"]["uid"] == UID else None

    def patch_status(self, patch: Obj) -> None:
        """A controller's write. Refused where another came first; never by admission."""
        if patch["metadata"]["resourceVersion"] != self.request["metadata"]["resourceVersion"]:
            raise Stale
        new = patched(self.request, patch)
        field_errors = self._errors(new, "status", CONTROLLER)
        assert not field_errors, (
            f"admission refuses what the controller writes: {'; '.join(map(str, field_errors))}"
        )
        self.checker.controller_writes(self.request, new, self.now)
        self.requests.append(new)

    def change(self, edit: Callable[[Obj], None], subresource: str = "") -> None:
        """A write of anyone else, if admission lets it pass."""
        new = patched(self.request, {})
        edit(new)
        if not self._errors(new, subresource):
            self.requests.append(new)

    def store(self, edit: Callable[[Obj], None]) -> None:
        """A write that no admission saw: two servers that raced, or a webhook that was away."""
        new = patched(self.request, {})
        edit(new)
        self.requests.append(new)

    def delete_request(self) -> None:
        """Someone wants the request gone; its finalizer keeps it."""
        try:
            _STRATEGY.validate_delete(self.request, self._context())
        except Forbidden:
            return
        new = patched(self.request, {})
        new["metadata"].setdefault("deletionTimestamp", format_exact_time(self.now))
        self.requests.append(new)

    def _errors(self, new: Obj, subresource: str, user: str = "someone") -> list[FieldError]:
        context = self._context(subresource, user)
        _STRATEGY.default(new, context)
        _STRATEGY.prepare_update(new, self.request, context)
        return _STRATEGY.validate_update(new, self.request, context)

    def _context(self, subresource: str = "", user: str = "someone") -> Context:
        return Context(
            user=User(user),
            now=self.now,
            gates=FeatureGates(),
            lookup=self._look_up,
            subresource=subresource,
            may=lambda _: True,
        )

    def _look_up(self, kind: Kind, _namespace: str, _name: str) -> Obj | None:
        return self.pod if kind is PODS else None

    def show_pod(self, new: Obj | None) -> None:
        self.pods.append(copy.deepcopy(new))

    def evict(self) -> bool:
        """The eviction is accepted, with the precondition that the pod is ours."""
        if self.ours is None:
            return False
        self.evictions += 1
        self.terminate(GRACE)
        return True

    def terminate(self, grace: dt.timedelta) -> None:
        if self.ours is None or "deletionTimestamp" in self.ours["metadata"]:
            return
        going = copy.deepcopy(self.ours)
        going["metadata"]["deletionTimestamp"] = format_exact_time(self.now + grace)
        self.show_pod(going)


def a_server(interceptors: tuple[str, ...], *, admitted: bool, daemon: bool) -> Server:
    owners = [DAEMON_SET] if daemon else []
    first = pod(ownerReferences=owners)
    return Server([a_request(interceptors, admitted=admitted)], [first], InvariantChecker(interceptors))


@dataclass
class Fates:
    """What becomes of one step's writes and calls."""

    write: str = "arrives"  # or "is lost", or "is unanswered"
    eviction: str = "accepted"  # or "refused", "fails", "is unanswered"
    chance: float = 0.5
    repeated: int = 1  # how often a refusal says why: some webhooks talk a lot
