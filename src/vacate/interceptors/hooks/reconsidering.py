"""Declined turns of hooks: the pod named none, and names one by now."""

from __future__ import annotations

import datetime as dt

from vacate.api.kinds import PODS
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.errors import NotFound
from vacate.eviction.dialects.registry import OWN_DIALECTS
from vacate.interceptors import reconsidering
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, JOB, TARGET
from vacate.runtime.controller import Controller
from vacate.runtime.dependencies import Dependencies
from vacate.sdk.turnstate import needs_preparation


def build(deps: Dependencies) -> Controller:
    """The controller for pods that register the interceptor."""
    requests = {
        one: deps.informers.requests(one, label_selector=one.requests_of(HOOKS_INTERCEPTOR, ""))
        for one in OWN_DIALECTS
        if deps.gates.enabled(one.kind.gate)
    }
    reasons, ours = Naming(deps.client), (HOOKS_INTERCEPTOR,)
    return reconsidering.build("declined-hooks", deps, requests, reasons, ours)


class Naming:
    """Whether the pod names a hook; one that it may not have is for the turn to refuse."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def declined_by(self, _request: EvictionRequest) -> str:
        """The one that there is."""
        return HOOKS_INTERCEPTOR

    async def would_help(self, request: EvictionRequest, _now: dt.datetime) -> bool:
        """By the pod as the server has it: this process watches none."""
        try:
            pod = await self._client.get(PODS, request.pod_name, request.metadata.namespace, into=Pod)
        except NotFound:
            return False
        return needs_preparation(request, pod) and bool({TARGET, JOB} & pod.metadata.annotations.keys())
