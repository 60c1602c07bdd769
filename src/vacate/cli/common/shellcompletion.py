"""Names of the cluster's pods, offered while a command is typed."""

from __future__ import annotations

import asyncio
import contextlib

import click

_SECONDS = 2.0
_MAX_PODS = 500


def complete_pods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Pods of the namespace that begin like this; none where the cluster does not answer quickly."""
    prefix, _, start = incomplete.rpartition("/")
    before = f"{prefix}/" if prefix else ""
    found: list[str] = []
    # Whatever goes wrong, the line that is being typed must stay as it is.
    with contextlib.suppress(Exception):
        found = asyncio.run(_names(ctx))
    taken = set(ctx.params.get(param.name or "") or ())
    return [f"{before}{name}" for name in found if name.startswith(start) and name not in taken]


async def _names(ctx: click.Context) -> list[str]:
    from vacate.api.kinds import PODS  # noqa: PLC0415  the completion of options needs no cluster
    from vacate.api.options import ListOptions  # noqa: PLC0415
    from vacate.api.types import Pod  # noqa: PLC0415
    from vacate.cli.common.connection import Connection, connected  # noqa: PLC0415

    given = {name: ctx.params.get(name) or "" for name in ("kubeconfig", "context", "namespace")}
    async with asyncio.timeout(_SECONDS), connected(Connection(**given)) as cluster:
        pods = await cluster.client.list(PODS, cluster.namespace, ListOptions(limit=_MAX_PODS), into=Pod)
    # Names only of the form that API servers accept: the shell splits what it is given.
    return sorted(pod.metadata.name for pod in pods.items if _is_plain(pod.metadata.name))


def _is_plain(name: str) -> bool:
    return bool(name) and all(one.isascii() and (one.isalnum() or one in "-.") for one in name)
