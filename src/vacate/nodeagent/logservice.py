"""Logs of this node's pods for API servers, on the path where a kubelet has them.

    GET /containerLogs/NAMESPACE/POD/CONTAINER?follow=true&tailLines=10

A client must show a certificate of the cluster's authority, and its user must have the right to `get`
`nodes/proxy` of this node. As kubelets do, this service checks the right with a SubjectAccessReview.
"""

from __future__ import annotations

import logging

from vacate.api.identity import MASTERS
from vacate.api.kinds import SUBJECTACCESSREVIEWS
from vacate.api.objects import Obj, dig
from vacate.api.options import LogOptions
from vacate.cache.reader import Reader
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import (
    ApiError,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    ServiceUnavailable,
    TransportError,
    Unauthorized,
)
from vacate.httpserver.responses import refusal
from vacate.nodeagent.containerlogs import chosen_run, read_log
from vacate.nodeagent.settings import AgentSettings
from vacate.nodeagent.view import AgentPod
from vacate.nodeagent.volumes.storage import log_files
from vacate.wire.message import Peer, Request, Response

PREFIX = "/containerLogs/"
_log = logging.getLogger(__name__)


class LogService:
    """Answers for the pods of one node."""

    def __init__(self, client: Client, pods: Reader[AgentPod], settings: AgentSettings, clock: Clock) -> None:
        self._client, self._pods, self._settings, self._clock = client, pods, settings, clock

    async def handle(self, request: Request) -> Response:
        """One request; refusals are Status objects."""
        try:
            if request.peer is None or not request.peer.name:
                raise Unauthorized("show a client certificate of the cluster's authority")
            await self._authorize(request.peer)
            return self._answer(request)
        except ApiError as error:
            return refusal(error)

    def _answer(self, request: Request) -> Response:
        if request.method != "GET":
            raise MethodNotAllowed("logs are read with GET")
        parts = request.path.removeprefix(PREFIX).split("/")
        if not request.path.startswith(PREFIX) or len(parts) != 3:
            raise NotFound(f"there is nothing but {PREFIX}NAMESPACE/POD/CONTAINER here")
        namespace, name, container = parts
        pod = self._pods.get(namespace, name)
        if pod is None or pod.container(container) is None:
            raise NotFound(f"pod {namespace}/{name} has no container {container} on this node")
        options = LogOptions.of(request.query, name, self._clock.now())
        uid = pod.metadata.uid
        path = chosen_run(log_files(self._settings.folder, uid, container), options, container, name)
        return read_log(path, options, lambda: self._runs(namespace, name, uid, container), self._clock)

    def _runs(self, namespace: str, name: str, uid: str, container: str) -> bool:
        pod = self._pods.get(namespace, name)
        if pod is None or pod.metadata.uid != uid:
            return False
        return dig(_status(pod.status, container), "state", "running") is not None

    async def _authorize(self, peer: Peer) -> None:
        if MASTERS in peer.groups:
            return
        wanted = {"verb": "get", "resource": "nodes", "subresource": "proxy", "name": self._settings.name}
        spec = {"user": peer.name, "groups": [*peer.groups, "system:authenticated"]}
        review = {"metadata": {}, "spec": {**spec, "resourceAttributes": wanted}}
        try:
            answer = await self._client.create(SUBJECTACCESSREVIEWS, review)
        except (ApiError, TransportError) as error:
            _log.warning("logs were not shown to %s: %s", peer.name[:100], error)
            raise ServiceUnavailable("the API server does not say who may read logs") from None
        if dig(answer, "status", "allowed") is not True:
            raise Forbidden(f"{peer.name[:100]!r} may not get nodes/proxy of node {self._settings.name}")


def _status(status: Obj, container: str) -> Obj:
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((one for one in statuses if one.get("name") == container), {})
