"""Takes back the mark of a disruption that did not happen."""

from __future__ import annotations

import datetime as dt

from vacate.api.kinds import PODS
from vacate.api.times import EARLIEST, after, format_time
from vacate.api.types import Pod, condition
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.errors import NotFound
from vacate.kube.patches import guarded
from vacate.kube.podend import DISRUPTION_TARGET
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome


def build(deps: Dependencies) -> Controller:
    """The controller, woken by pods that carry a mark."""
    pods = deps.informers.informer(PODS, Pod)
    return Controller(
        "stale-disruption", StaleMarks(deps), (Source(pods, when=_marked),), deps, backoff=retry_backoff()
    )


def _marked(_: Pod | None, new: Pod | None) -> bool:
    return new is not None and stale_at(new) is not None


class StaleMarks:
    """Sets DisruptionTarget to False on pods that outlived it."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._pods = deps.informers.informer(PODS, Pod).reader

    async def reconcile(self, key: Key) -> Outcome:
        """Wait until the mark is stale, then take it back."""
        pod = self._pods.get(*key)
        at = stale_at(pod) if pod is not None else None
        if pod is None or at is None:
            return Done()
        now = self._deps.clock.now()
        if now < at:
            return Later(at)
        mark = {
            "type": DISRUPTION_TARGET,
            "status": "False",
            "reason": None,
            "message": None,
            "lastProbeTime": None,
            "lastTransitionTime": format_time(now),
        }
        patch = guarded(pod.metadata, {"status": {"conditions": [mark]}})
        try:
            await self._deps.client.patch_status(PODS, key.name, patch, key.namespace)
        except NotFound:
            return Done()
        return Done()


STALE_AFTER = dt.timedelta(minutes=2)
_BY_KUBELET = "TerminationByKubelet"


def stale_at(pod: Pod) -> dt.datetime | None:
    """When the mark turns stale, None where there is none or where it stays true.

    A kubelet may take any time from its mark to the deletion, and a finished pod keeps its mark as a record.
    """
    mark = condition(pod.status.conditions, DISRUPTION_TARGET)
    if mark is None or mark.status != "True" or mark.reason == _BY_KUBELET:
        return None
    if pod.terminating or pod.terminal:
        return None
    since = mark.last_transition_time or EARLIEST
    return after(since, STALE_AFTER)
