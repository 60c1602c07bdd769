"""What the pages of `vacate web` read beside the caches, and what they do: the functions of the commands."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from vacate.api.kinds import SELFSUBJECTACCESSREVIEWS
from vacate.api.objectnames import STATUS_AUTHORITY
from vacate.api.objects import dig
from vacate.cli.check import read_findings
from vacate.cli.common.connection import Cluster, Connection
from vacate.cli.explain.command import explain_pod
from vacate.errors import ApiError, TransportError
from vacate.install.objectkinds import POLICIES
from vacate.install.policy_authority import bound_accounts
from vacate.views.interceptors import Bindings
from vacate.views.model import Explanation
from vacate.web.actions import Outcome, Right
from vacate.web.site import Reads

_MAX_OUTPUT = 2_000_000
_COMMAND_SECONDS = 600.0


def reads_of(cluster: Cluster, reach: Connection) -> Reads:
    """What pages read and do, with the rights of the user."""

    async def explain(namespace: str, pod: str) -> Explanation:
        explanation, _ = await explain_pod(replace(cluster, namespace=namespace), pod)
        return explanation

    async def bindings() -> Bindings | None:
        try:
            return bound_accounts(await cluster.client.get(POLICIES, STATUS_AUTHORITY))
        except (ApiError, TransportError):
            return None

    async def may(right: Right) -> str:
        wanted = {"verb": right.verb, "group": right.kind.group, "resource": right.kind.plural}
        if right.namespace:
            wanted["namespace"] = right.namespace
        review = await cluster.client.create(
            SELFSUBJECTACCESSREVIEWS, {"spec": {"resourceAttributes": wanted}}
        )
        if dig(review, "status", "allowed") is True:
            return ""
        where = f" in namespace {right.namespace}" if right.namespace else ""
        return f"You may not {right.verb} {right.kind.plural}{where}."

    return Reads(explain, lambda: read_findings(cluster), bindings, may, lambda words: _run(words, reach))


async def _run(words: Sequence[str], reach: Connection) -> Outcome:
    """The command as a process of its own, on the same cluster; without a shell, and without input."""
    where = [f"--kubeconfig={reach.kubeconfig}"] if reach.kubeconfig else []
    where += [f"--context={reach.context}"] if reach.context else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacate", *words, *where,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "110"},
    )  # fmt: skip
    try:
        async with asyncio.timeout(_COMMAND_SECONDS):
            printed, _ = await process.communicate()
    except TimeoutError:
        return Outcome(1, f"The command did not end within {_COMMAND_SECONDS:g} seconds.")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Outcome(process.returncode, printed.decode(errors="replace")[:_MAX_OUTPUT].strip())
