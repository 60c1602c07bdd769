"""What is asked of a cluster before anything is applied: nothing is begun that could not be finished."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.installednames import EMBEDDED_BUILD, MANAGER
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CONFIGMAPS,
    DEPLOYMENTS,
    EVICTIONREQUESTS,
    LEASES,
    NAMESPACES,
    PODS,
    Kind,
)
from vacate.api.objects import Obj, dig
from vacate.client.access import may
from vacate.client.client import Client
from vacate.crds.definition import defined_kind
from vacate.errors import ApiError, ConfigError
from vacate.install.apply.requests import existing, read
from vacate.install.objectkinds import DEFINITIONS, OPTIONAL, kind_of
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

OLDEST_MINOR = 33
_VERBS = ("get", "create", "patch")
_SIDE_BY_SIDE = 8


async def require_release(client: Client) -> None:
    """ConfigError where the cluster is too old."""
    found = await read(client, "/version")
    minor = re.match(r"[0-9]+", str(found.get("minor", "")))
    if str(found.get("major")) == "1" and minor and int(minor[0]) < OLDEST_MINOR:
        raise ConfigError(
            f"the cluster runs Kubernetes {found.get('gitVersion')}; Vacate needs 1.{OLDEST_MINOR} or newer"
        )


async def require_not_embedded(client: Client, then: str) -> None:
    """ConfigError for a cluster of `vacate up`, whose roles and kinds are its own and not an installation.

    `then` says what was not done, and what to do instead.
    """
    try:
        found = await read(client, "/version")
    except ApiError:
        return  # not everyone may ask; an embedded cluster always answers
    if str(found.get("gitVersion", "")).endswith(EMBEDDED_BUILD):
        raise ConfigError(f"this cluster was started by `vacate up`, and Vacate is part of it; {then}")


async def require_groups(client: Client, objects: Sequence[Obj]) -> None:
    """ConfigError where the cluster does not know a kind that is to be applied."""
    for version in dict.fromkeys(obj["apiVersion"] for obj in objects):
        if "/" in version and not await client.resources(version):
            raise ConfigError(_missing(version))


async def require_one_place(client: Client, namespace: str) -> None:
    """ConfigError where Vacate is in another namespace: roles and webhook configurations are there once."""
    meta = {"name": MANAGER}
    binding = {"apiVersion": CLUSTERROLEBINDINGS.api_version, "kind": "ClusterRoleBinding", "metadata": meta}
    found = await existing(client, binding)
    for subject in dig(found or {}, "subjects") or []:
        other = str(subject.get("namespace") or "")
        if other and other != namespace and await stays(client, other):
            raise ConfigError(
                f"Vacate is in namespace {other} of this cluster, and can be there only once: "
                f"use -n {other}, or vacate uninstall -n {other} first"
            )


async def stays(client: Client, namespace: str) -> bool:
    """Whether the namespace is there, and not terminating."""
    place = {"apiVersion": "v1", "kind": NAMESPACES.kind, "metadata": {"name": namespace}}
    found = await existing(client, place)
    return found is not None and not found["metadata"].get("deletionTimestamp")


@dataclass(frozen=True, slots=True)
class Permission:
    """One verb on one kind, in a namespace where the kind has them."""

    kind: Kind
    verb: str
    namespace: str


async def require_rights(client: Client, rights: Sequence[Permission]) -> None:
    """ConfigError that names every missing right, where the API server can be asked."""
    room = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def lacking(right: Permission) -> bool:
        async with room:
            return not await may(client, right.kind, right.verb, right.namespace)

    try:
        answers = await asyncio.gather(*map(lacking, rights))
    except ApiError:
        return  # not everyone may ask; what is forbidden is then reported when it is tried
    missing = [right for right, lacks in zip(rights, answers, strict=True) if lacks]
    if missing:
        raise ConfigError(f"you may not install Vacate into this cluster; you lack: {_listed(missing)}")


def waiting_rights(namespace: str) -> list[Permission]:
    """What watching over an installation takes."""
    home = {DEPLOYMENTS: namespace, PODS: namespace, MUTATING_WEBHOOKS: "", VALIDATING_WEBHOOKS: ""}
    return [Permission(kind, verb, where) for kind, where in home.items() for verb in ("list", "watch")]


def needed_rights(objects: Sequence[Obj], namespace: str) -> list[Permission]:
    """What applying the objects takes, and noting and locking it."""
    kinds = dict.fromkeys([*map(kind_of, objects), CONFIGMAPS, LEASES])
    rights = [
        Permission(kind, verb, namespace if kind.namespaced else "") for kind in kinds for verb in _VERBS
    ]
    # To see that a kind is served, and how many objects it has.
    defined = [defined_kind(obj) for obj in objects if kind_of(obj) is DEFINITIONS]
    return [*rights, *(Permission(kind, "list", "") for kind in defined or [EVICTIONREQUESTS])]


def _listed(missing: Sequence[Permission]) -> str:
    verbs: dict[tuple[str, str], list[str]] = {}
    for right in missing:
        verbs.setdefault((right.kind.resource, right.namespace), []).append(right.verb)
    return "; ".join(
        f"{', '.join(some)} {resource}" + (f" in {namespace}" if namespace else "")
        for (resource, namespace), some in verbs.items()
    )


def _missing(version: str) -> str:
    group = version.partition("/")[0]
    if group in OPTIONAL:
        return (
            f"the cluster does not serve {version}: install {OPTIONAL[group]} first, or leave that part out"
        )
    return f"the cluster does not serve {version}, so Vacate cannot be installed"
