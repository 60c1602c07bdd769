"""What the pages of `vacate web` read beside the caches: the functions of the other commands."""

from __future__ import annotations

from dataclasses import replace

from vacate.api.objectnames import STATUS_AUTHORITY
from vacate.cli.check import read_findings
from vacate.cli.common.connection import Cluster
from vacate.cli.explain.command import explain_pod
from vacate.errors import ApiError, TransportError
from vacate.install.objectkinds import POLICIES
from vacate.install.policy_authority import bound_accounts
from vacate.views.interceptors import Bindings
from vacate.views.model import Explanation
from vacate.web.site import Reads


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

    return Reads(explain, lambda: read_findings(cluster), bindings)
