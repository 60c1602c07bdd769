"""The arm that is a real kube-apiserver, with what a real one needs in between.

Its authorizer learns of roles and bindings a moment after they are written, so each write of one is followed
by waiting until the authorizer knows.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.arms import objects as make
from support.arms.arm import ADMIN, JSON, MERGE_PATCH, Answer, As, Obj, Query
from support.arms.transport import Compact, TransportArm
from support.waiting import LIMIT
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    ROLEBINDINGS,
    ROLES,
    SUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.entropy import system_entropy

KUBECONFIG = "VACATE_CONFORMANCE_KUBECONFIG"
"""Names the kubeconfig of a real cluster's admin; where it is set, the body runs on that cluster too."""

REAL = "kube"
ALONE = "kube-alone"
"""The arm whose control plane nobody else uses."""
_RBAC = "/apis/rbac.authorization.k8s.io/"
_TIMEOUT = LIMIT


class KubeArm(TransportArm):
    """Requests to a real server; `given` and `call` return when their roles and bindings are in force."""

    def __init__(self, kubeconfig: Path, compact: Compact | None = None) -> None:
        self._config = load_cluster([kubeconfig])
        super().__init__(REAL, *self._connections(), compact)
        self._probe = f"probe-{system_entropy().uid()[:8]}"
        self._probes = itertools.count()

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
        accept: str = JSON,
        as_user: As | None = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        answer = await super().call(
            method, path, body=body, query=query, content_type=content_type, accept=accept, as_user=as_user,
            headers=headers,
        )  # fmt: skip
        if path.startswith(_RBAC) and method != "GET" and not answer.failed:
            await self._settle(next(self._probes))
        return answer

    async def forget_history(self) -> None:
        """The connections end with the server that forgets."""
        await self.aclose()
        await super().forget_history()
        self._admin, self._anonymous = self._connections()

    def _connections(self) -> tuple[HttpTransport, HttpTransport]:
        config, clock = self._config, SystemClock()
        nobody = ClusterConfig(config.server, config.ca_data, config.insecure, config.tls_server_name)
        return HttpTransport(config, clock), HttpTransport(nobody, clock)

    async def _settle(self, number: int) -> None:
        """Whatever the authorizer has read after this, it has read all that was written before it."""
        probe = f"{self._probe}-{number}"
        for kind, obj in _probe_objects(self._probe, probe):
            await self._write(kind, obj, new=not number)
        end = time.monotonic() + _TIMEOUT
        while not (await self._may(probe, "default") and await self._may(probe, "")):
            assert time.monotonic() < end, "the server does not learn of new roles"
            await asyncio.sleep(0.005)

    async def _write(self, kind: Kind, obj: Obj, *, new: bool) -> None:
        namespace = "default" if kind.namespaced else None
        if new:
            answer = await super().call("POST", kind.collection_path(namespace), body=obj)
        else:
            path = kind.object_path(obj["metadata"]["name"], namespace)
            answer = await super().call("PATCH", path, body=obj, content_type=MERGE_PATCH)
        answer.ok(201 if new else 200)

    async def _may(self, user: str, namespace: str) -> bool:
        attributes = {
            "verb": "get",
            "resource": user if namespace else f"cluster-{user}",
            "namespace": namespace,
        }
        review = {"spec": {"user": user, "resourceAttributes": attributes}}
        answer = await super().call("POST", SUBJECTACCESSREVIEWS.collection_path(), body=review)
        return bool(answer.ok(201)["status"]["allowed"])


def _probe_objects(name: str, user: str) -> list[tuple[Kind, Obj]]:
    """Always the same objects, always with something new in them."""
    return [
        (ROLES, make.role(name, make.rule("get", user))),
        (CLUSTERROLES, make.role(name, make.rule("get", f"cluster-{user}"))),
        (ROLEBINDINGS, make.binding(name, "Role", name, user)),
        (CLUSTERROLEBINDINGS, make.binding(name, "ClusterRole", name, user)),
    ]
