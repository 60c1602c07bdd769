"""An eviction carried through by the engine and its patches: what is reported was really written."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.objects import Obj
from vacate.api.times import format_exact_time
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.engine import decide
from vacate.eviction.model import Assign, DecisionContext, Evict, Finish, Hold, NotAdmitted
from vacate.eviction.records.patches import (
    assign_patch,
    finish_patch,
    hold_patch,
    last_turn_patch,
    refusal_patch,
    unadmitted_patch,
)
from vacate.eviction.records.reader import process_of, target_of
from vacate.testing.builders import merged, pdb, pod

START = dt.datetime(2026, 3, 1, 10, 0, 0, tzinfo=dt.UTC)
LONG_AGO = START - dt.timedelta(days=1)


class SimRequest:
    """One request and its pod; time moves by `after`, the controller acts by `controller`."""

    def __init__(self, *interceptors: str, requesters: tuple[str, ...] = ("drain.example.com",)) -> None:
        self.now = START
        self.pod: Obj | None = pod("web-1", node="node-1", ready=True, labels={"app": "web"})
        self.budgets: list[Obj] = []
        self.request: Obj = {
            "metadata": {
                "name": "uid-web-1",
                "namespace": "default",
                "uid": "uid-request",
                "resourceVersion": "1",
                "creationTimestamp": format_exact_time(START),
                "annotations": {"vacate.dev/admitted": "true"},
            },
            "spec": {
                "target": {"podRef": {"name": "web-1", "uid": "uid-web-1"}},
                "requesters": [{"name": name} for name in requesters],
                "interceptors": [{"name": name} for name in reversed(interceptors)],
                "heartbeatDeadlineSeconds": 1800,
            },
            "status": {},
        }

    def after(self, **span: float) -> SimRequest:
        """Time passes."""
        self.now += dt.timedelta(**span)
        return self

    def controller(self, watching_since: dt.datetime = LONG_AGO) -> SimRequest:
        """One decision, written down as the controller does it; an eviction must be played by hand."""
        request, now = self.typed, self.now
        target = target_of(request, self.typed_pod, live=True)
        match decide(process_of(request), target, DecisionContext(now, watching_since)):
            case Assign() as action:
                self._write(assign_patch(request, action, now))
            case Finish() as action:
                self._write(finish_patch(request, action, now))
            case Evict():
                self._write(last_turn_patch(request, now) or {})
            case Hold() as action:
                self._write(hold_patch(request, action, now) or {})
            case NotAdmitted():
                self._write(unadmitted_patch(request, now) or {})
        return self

    def refused(self, why: str) -> SimRequest:
        """The server has refused an eviction."""
        self._write(refusal_patch(self.typed, why, self.now))
        return self

    def responds(self, **status: Any) -> SimRequest:
        """The active interceptor reports."""
        return self.status(heartbeatTime=format_exact_time(self.now), **status)

    def fails(self, status: str, reason: str, message: str, **more: Any) -> SimRequest:
        """The active interceptor reports a failure."""
        active = self.request["status"]["activeInterceptorName"]
        failure = {"type": f"{active}/Failed", "status": status, "reason": reason, "message": message}
        others = [one for one in self.request["status"]["conditions"] if one["type"] != failure["type"]]
        return self.responds(conditions=[*others, failure], message=message, **more)

    def status(self, **status: Any) -> SimRequest:
        """Someone writes status."""
        self._write({"status": status})
        return self

    def spec(self, **spec: Any) -> SimRequest:
        """A requester writes spec."""
        self._write({"spec": spec})
        return self

    def metadata(self, **metadata: Any) -> SimRequest:
        """Someone writes metadata."""
        self._write({"metadata": metadata})
        return self

    def pod_is(self, **changes: Any) -> SimRequest:
        """Something happens to the pod."""
        assert self.pod is not None
        self.pod = merged(self.pod, changes)
        return self

    def pod_goes(self) -> SimRequest:
        """The pod is gone."""
        self.pod = None
        return self

    def budget(self, name: str, healthy: int, needed: int) -> SimRequest:
        """A budget over the pod, as its controller has counted it."""
        status = {
            "observedGeneration": 1,
            "currentHealthy": healthy,
            "desiredHealthy": needed,
            "expectedPods": healthy,
            "disruptionsAllowed": max(healthy - needed, 0),
        }
        made = pdb(
            name, min_available=needed, selector={"app": "web"}, metadata={"generation": 1}, status=status
        )
        self.budgets.append(made)
        return self

    @property
    def typed(self) -> EvictionRequest:
        return msgspec.convert(self.request, EvictionRequest)

    @property
    def typed_pod(self) -> Pod | None:
        return msgspec.convert(self.pod, Pod) if self.pod is not None else None

    @property
    def typed_budgets(self) -> list[PodDisruptionBudget]:
        return [msgspec.convert(one, PodDisruptionBudget) for one in self.budgets]

    def _write(self, patch: Obj) -> None:
        self.request = merged(self.request, patch)
