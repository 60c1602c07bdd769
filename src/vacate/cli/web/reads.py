"""What the pages of `vacate web` read beside the caches, and what they do: the functions of the commands."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from vacate.api.installednames import STATUS_AUTHORITY
from vacate.api.kinds import VALIDATINGADMISSIONPOLICIES
from vacate.cli.check import read_findings
from vacate.cli.common.connection import Cluster, Connection
from vacate.cli.explain.command import explain_pod
from vacate.client.access import may, own_user
from vacate.client.config import ClusterConfig
from vacate.client.kubeconfigwriter import KubeconfigEntry
from vacate.errors import ApiError, Forbidden, NotFound, TransportError
from vacate.install.policy_authority import bound_accounts
from vacate.views.interceptors import Bindings
from vacate.views.model import Explanation
from vacate.web.actions import Outcome, Right
from vacate.web.site import Reads

_MAX_OUTPUT = 2_000_000
_COMMAND_SECONDS = 600.0
MAX_COMMANDS = 4
"""That run at the same time, for all users together: each is a process."""


Run = Callable[[Sequence[str]], Awaitable[Outcome]]


def reads_of(cluster: Cluster, run: Run) -> Reads:
    """What pages read and do, with the rights of the user."""

    async def user() -> str:
        try:
            return await own_user(cluster.client)
        except (NotFound, Forbidden):  # of a cluster that does not say it
            return ""

    async def explain(namespace: str, pod: str) -> Explanation:
        explanation, _ = await explain_pod(replace(cluster, namespace=namespace), pod)
        return explanation

    async def bindings() -> Bindings | None:
        try:
            return bound_accounts(await cluster.client.get(VALIDATINGADMISSIONPOLICIES, STATUS_AUTHORITY))
        except (ApiError, TransportError):
            return None

    async def why_not(right: Right) -> str:
        if await may(cluster.client, right.kind, right.verb, right.namespace):
            return ""
        where = f" in namespace {right.namespace}" if right.namespace else ""
        return f"You may not {right.verb} {right.kind.plural}{where}."

    plans = importlib.util.find_spec("vacate.plan") is not None  # it is not in Vacate's image
    return Reads(user, explain, lambda: read_findings(cluster), bindings, why_not, run, plans)


def run_at(reach: Connection) -> Run:
    """Commands on the cluster of a kubeconfig."""
    where = [f"--kubeconfig={reach.kubeconfig}"] if reach.kubeconfig else []
    where += [f"--context={reach.context}"] if reach.context else []
    room = asyncio.Semaphore(MAX_COMMANDS)

    async def run(words: Sequence[str]) -> Outcome:
        async with room:
            return await _run([*words, *where])

    return run


def run_with_token(server: ClusterConfig, token: str, room: asyncio.Semaphore) -> Run:
    """Commands with a user's token, which stays in memory: it is in no file of a disk and no argument."""
    entry = KubeconfigEntry(server.server, server.ca_data, token=token, user="token")

    async def run(words: Sequence[str]) -> Outcome:
        file = os.memfd_create("kubeconfig")
        try:
            os.write(file, entry.to_yaml())
            async with room:
                return await _run([*words, f"--kubeconfig=/proc/self/fd/{file}"], file)
        finally:
            os.close(file)

    return run


async def _run(words: Sequence[str], *files: int) -> Outcome:
    """The command as a process of its own, on the same cluster; without a shell, and without input."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "vacate", *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        pass_fds=files,
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
