"""What the pages of `vacate web` read beside the caches: the functions of the other commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from vacate.api.kinds import (
    EVICTIONREQUESTS,
    NODEMAINTENANCES,
    NODES,
    PODS,
    SELFSUBJECTACCESSREVIEWS,
    Kind,
)
from vacate.api.objectnames import EMBEDDED_BUILD, STATUS_AUTHORITY
from vacate.api.objects import dig
from vacate.cli.common.connection import Cluster
from vacate.cli.explain.command import explain_pod
from vacate.errors import ApiError, NotFound, TransportError
from vacate.install.objectkinds import POLICIES
from vacate.install.policy_authority import bound_accounts
from vacate.views.interceptors import Bindings
from vacate.views.model import Explanation
from vacate.web.pages.health import Facts, Right
from vacate.web.site import Reads
from vacate.wire.message import Request

RIGHTS: Sequence[tuple[str, str, Kind, str]] = (
    ("Drain nodes", "create", NODEMAINTENANCES, ""),
    ("Cancel drains", "delete", NODEMAINTENANCES, ""),
    ("Uncordon nodes", "patch", NODES, ""),
    ("Evict pods", "create", EVICTIONREQUESTS, ""),
    ("Cancel and retry requests", "patch", EVICTIONREQUESTS, ""),
    ("Delete pods", "delete", PODS, ""),
)
"""What people do with Vacate, and the right that it needs."""


def reads_of(cluster: Cluster) -> Reads:
    """What pages read with the rights of the user."""

    async def explain(namespace: str, pod: str) -> Explanation:
        explanation, _ = await explain_pod(replace(cluster, namespace=namespace), pod)
        return explanation

    async def bindings() -> Bindings | None:
        try:
            return bound_accounts(await cluster.client.get(POLICIES, STATUS_AUTHORITY))
        except (ApiError, TransportError):
            return None

    async def facts() -> Facts:
        server = await _version(cluster)
        rights = [await _right(cluster, *one) for one in RIGHTS]
        return Facts(server, server.endswith(EMBEDDED_BUILD), rights)

    return Reads(explain, facts, bindings)


async def _version(cluster: Cluster) -> str:
    try:
        answer = msgspec.json.decode(await cluster.client.send(Request("GET", "/version")))
    except (ApiError, TransportError, msgspec.MsgspecError):
        return ""
    return str(answer.get("gitVersion", "")) if isinstance(answer, dict) else ""


async def _right(cluster: Cluster, text: str, verb: str, kind: Kind, namespace: str) -> Right:
    """Whether the user may, as the API server decides it."""
    wanted = {"verb": verb, "group": kind.group, "resource": kind.resource, "namespace": namespace}
    try:
        review = await cluster.client.create(
            SELFSUBJECTACCESSREVIEWS, {"spec": {"resourceAttributes": wanted}}
        )
    except (ApiError, TransportError, NotFound) as error:
        return Right(text, None, str(error))
    allowed = dig(review, "status", "allowed") is True
    why = str(dig(review, "status", "reason") or "")
    return Right(text, allowed, "" if allowed else why or f"you may not {verb} {kind.resource}")
