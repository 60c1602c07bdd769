"""Declined turns of the interceptor of StatefulSets.

It declines for a set whose members it may not have go, for a rollout or another member that stays down, and
for a pod that the set does not want.
"""

from __future__ import annotations

import datetime as dt

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.workloads import STATEFULSET_INTERCEPTOR
from vacate.interceptors import reconsidering
from vacate.interceptors.statefulset.decision import WaitState, decide
from vacate.interceptors.statefulset.view import StatefulSetView
from vacate.kube.statefulsets import is_rolling_out, max_unavailable, ordinal_of
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.values import Declined


def build(deps: Dependencies) -> Controller:
    """The controller for members of StatefulSets."""
    view, ours = StatefulSetView(deps), (STATEFULSET_INTERCEPTOR,)
    return reconsidering.build("declined-members", deps, view.requests, Queueing(view), ours)


class Queueing:
    """Whether a member could go in its order by now."""

    def __init__(self, view: StatefulSetView) -> None:
        self._view = view

    def declined_by(self, _request: EvictionRequest) -> str:
        """The one that there is."""
        return STATEFULSET_INTERCEPTOR

    async def would_help(self, request: EvictionRequest, now: dt.datetime) -> bool:
        """Whether the member would get its place in the queue, behind others or not."""
        pod = self._view.member(request)
        stateful_set = self._view.stateful_set_of(pod) if pod is not None else None
        if pod is None or stateful_set is None or is_rolling_out(stateful_set):
            return False
        members = await self._view.members(stateful_set)
        ordinal = ordinal_of(stateful_set, pod)
        if isinstance(decide(stateful_set, ordinal, members, WaitState(), now), Declined):
            return False
        down = {*(members.unhealthy or ())} - {*members.handed_over, *members.waiting, ordinal}
        return len(down) < max_unavailable(stateful_set)
