"""Reads what pods refer to: config maps, secrets, service account tokens."""

from __future__ import annotations

import asyncio
import base64
import binascii
import datetime as dt
from collections.abc import Mapping

import orjson
from multidict import CIMultiDict, MultiDict

from vacate.api.kinds import CONFIGMAPS, SECRETS, SERVICEACCOUNTS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.times import parse_time
from vacate.client.client import Client
from vacate.errors import MethodNotAllowed, NotFound
from vacate.nodeagent.environment import Data, Sources
from vacate.nodeagent.runtime.protocol import ContainerError
from vacate.nodeagent.view import AgentPod
from vacate.nodeagent.volumes.content import TokenProjection, references
from vacate.wire.message import Request


async def read_sources(client: Client, pod: AgentPod) -> Sources:
    """Everything that the pod refers to, as it is now."""

    async def read(kind: Kind, names: set[str]) -> dict[str, Data | None]:
        ordered = sorted(names)
        found = await asyncio.gather(*(_read(client, kind, one, pod.metadata.namespace) for one in ordered))
        return dict(zip(ordered, found, strict=True))

    maps, secrets = references(pod)
    return Sources(*await asyncio.gather(read(CONFIGMAPS, maps), read(SECRETS, secrets)))


async def request_token(
    client: Client, pod: AgentPod, projection: TokenProjection
) -> tuple[str, dt.datetime | None]:
    """A token of the pod's service account, bound to the pod, and when it expires."""
    meta = pod.metadata
    bound = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid}
    spec: Obj = {"expirationSeconds": projection.seconds, "boundObjectRef": bound}
    spec["audiences"] = [projection.audience] if projection.audience else []
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    account = pod.spec.service_account_name or "default"
    path = SERVICEACCOUNTS.object_path(account, meta.namespace, "token")
    headers = CIMultiDict({"Accept": "application/json", "Content-Type": "application/json"})
    try:
        answer = await client.send(Request("POST", path, MultiDict(), headers, orjson.dumps(body)))
    except (NotFound, MethodNotAllowed) as error:
        raise ContainerError(
            f"no token for service account {account}: {error}; create the account, or leave the volume out "
            "where the API server issues no tokens"
        ) from error
    status = dig(orjson.loads(answer), "status") or {}
    expires = status.get("expirationTimestamp")
    return str(status.get("token", "")), parse_time(expires) if expires else None


async def _read(client: Client, kind: Kind, name: str, namespace: str) -> Data | None:
    try:
        return _data(await client.get(kind, name, namespace), encoded=kind is SECRETS)
    except NotFound:
        return None


def _data(obj: Obj, *, encoded: bool) -> Mapping[str, bytes]:
    plain = {} if encoded else {str(k): str(v).encode() for k, v in (obj.get("data") or {}).items()}
    binary = obj.get("data" if encoded else "binaryData") or {}
    for key, value in binary.items():
        try:
            plain[str(key)] = base64.b64decode(str(value))
        except (binascii.Error, ValueError):
            plain[str(key)] = b""
    return plain
