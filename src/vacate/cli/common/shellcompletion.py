"""Names of the cluster's objects, offered while a command is typed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from pathlib import Path

import click

_SECONDS = 2.0
_LIMIT = 500
_WORKLOADS = ("deployment", "statefulset", "replicaset", "job")
_SHORT = {
    "po": "pod", "no": "node", "nm": "nodemaintenance", "drain": "nodemaintenance",
    "deploy": "deployment", "sts": "statefulset", "rs": "replicaset",
}  # fmt: skip


def complete_pods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Pods of the namespace that begin like this; none where the cluster does not answer quickly."""
    return _typed(ctx, param, incomplete, "pod")


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Pods, and for a word such as deployment/ the workloads of that type."""
    return _typed(ctx, param, incomplete, "pod", _WORKLOADS)


def complete_explained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The same, with nodes and drains."""
    return _typed(ctx, param, incomplete, "pod", (*_WORKLOADS, "node", "nodemaintenance"))


def complete_retried(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Pods, and for node/ and drain/ what has these names."""
    return _typed(ctx, param, incomplete, "pod", ("node", "drain"))


def complete_deleted(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """A type first, if one is written, then names of it; without one, pods."""
    given = ctx.params.get(param.name or "") or ()
    if given and _kind_of(given[0], ("node",)):
        return _completed(ctx, param, incomplete, "node")
    types = [one for one in ("pod", "node") if not given and one.startswith(incomplete)]
    return [*types, *_typed(ctx, param, incomplete, "pod")]


def complete_nodes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Nodes that begin like this."""
    return _typed(ctx, param, incomplete, "node")


def complete_drained(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Nodes; a drain after its type, for --follow and --cancel."""
    own = _kind_of(incomplete.partition("/")[0], ("nodemaintenance",)) if "/" in incomplete else ""
    return _typed(ctx, param, incomplete, own or "node")


def complete_drains(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Drains that begin like this."""
    return _typed(ctx, param, incomplete, "nodemaintenance")


def complete_namespaces(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Namespaces that begin like this."""
    return _completed(ctx, param, incomplete, "namespace")


def complete_contexts(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Contexts of the kubeconfig that begin like this."""
    from vacate.client.kubeconfig import default_files, read_kubeconfig  # noqa: PLC0415  as below

    found: list[str] = []
    with contextlib.suppress(Exception):
        named = ctx.params.get("kubeconfig")
        found = list(read_kubeconfig([Path(named)] if named else default_files()).contexts)
    return sorted(name for name in found if name.startswith(incomplete) and name.isprintable())


def _typed(
    ctx: click.Context, param: click.Parameter, incomplete: str, first: str, types: Sequence[str] = ()
) -> list[str]:
    """Names of the first kind, and the types; after a type and its slash the names of that kind."""
    prefix, slash, _ = incomplete.partition("/")
    if slash:
        kind = _kind_of(prefix, (first, *types))
        return _completed(ctx, param, incomplete, kind) if kind else []
    return [
        *_completed(ctx, param, incomplete, first),
        *(f"{one}/" for one in types if one.startswith(prefix)),
    ]


def _kind_of(word: str, types: Sequence[str]) -> str:
    """The kind of that name, also in the plural, with its group or shortened; empty where it is none."""
    name = word.partition(".")[0]
    kind = _SHORT.get(name, name.removesuffix("s"))
    return kind if kind in (_SHORT.get(one, one) for one in types) else ""


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str, kind: str) -> list[str]:
    prefix, _, start = incomplete.rpartition("/")
    before = f"{prefix}/" if prefix else ""
    found: list[str] = []
    # Whatever goes wrong, the line that is being typed must stay as it is.
    with contextlib.suppress(Exception):
        found = asyncio.run(_names(ctx, kind))
    given = ctx.params.get(param.name or "")
    taken = set(given) if isinstance(given, tuple) else set()
    return [f"{before}{name}" for name in found if name.startswith(start) and name not in taken]


async def _names(ctx: click.Context, singular: str) -> list[str]:
    from vacate.api import kinds  # noqa: PLC0415  the completion of options needs no cluster
    from vacate.api.options import ListOptions  # noqa: PLC0415
    from vacate.client.client import Client  # noqa: PLC0415
    from vacate.client.http import HttpTransport  # noqa: PLC0415
    from vacate.client.incluster import load_config  # noqa: PLC0415
    from vacate.clock import SystemClock  # noqa: PLC0415

    kind = next(
        one for one in vars(kinds).values() if isinstance(one, kinds.Kind) and one.singular == singular
    )
    given = {name: ctx.params.get(name) or "" for name in ("kubeconfig", "context", "namespace")}
    config, clock = load_config(given["kubeconfig"], given["context"]), SystemClock()
    client = Client(HttpTransport(config, clock), user_agent="vacate/completion")
    try:
        async with asyncio.timeout(_SECONDS):
            where = (given["namespace"] or config.namespace) if kind.namespaced else ""
            found = await client.list(kind, where, ListOptions(limit=_LIMIT))
    finally:
        await client.aclose()
    # Names only of the form that API servers accept: the shell splits what it is given.
    names = [str(one["metadata"].get("name", "")) for one in found.items]
    return sorted(name for name in names if _is_plain(name))


def _is_plain(name: str) -> bool:
    return bool(name) and all(one.isascii() and (one.isalnum() or one in "-.") for one in name)
