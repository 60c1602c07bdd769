"""Keeps the volumes of a pod made and up to date."""

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
from vacate.clock import Clock
from vacate.errors import MethodNotAllowed, NotFound
from vacate.nodeagent.environment import Data, FieldValues, Sources
from vacate.nodeagent.runtime.protocol import ContainerError
from vacate.nodeagent.view import AgentPod
from vacate.nodeagent.volumes.claims import VolumeNotReady, marked_exclusive, ready_volume
from vacate.nodeagent.volumes.content import files_of, references, sources_of, token_projections
from vacate.nodeagent.volumes.inuse import VolumesInUse
from vacate.nodeagent.volumes.storage import PodFolder
from vacate.wire.message import Request

REFRESH_SECONDS = 60.0


class PodVolumes:
    """The volumes of one pod."""

    def __init__(self, client: Client, clock: Clock, folder: PodFolder, in_use: VolumesInUse) -> None:
        self._client = client
        self._in_use = in_use
        self._clock = clock
        self._folder = folder
        self._tokens: dict[tuple[str, str], tuple[str, dt.datetime]] = {}  # token, and when to renew it
        self._sources = Sources()
        self._refreshed = 0.0
        self._metadata: object = None

    async def make(self, pod: AgentPod, fields: FieldValues) -> Sources:
        """Create and fill every volume; ContainerError names what is missing."""
        self._folder.make()
        self._sources = await read_sources(self._client, pod)
        await self._claim_volumes(pod)
        for volume in pod.spec.volumes:
            if self._folder.make_volume(volume):
                await self._fill(volume, pod, fields)
        self._refreshed, self._metadata = self._clock.monotonic(), _metadata(pod)
        return self._sources

    async def _claim_volumes(self, pod: AgentPod) -> None:
        """Find where claimed volumes lie. An exclusive one must be attached to this node, for this pod."""
        exclusive = await self._find_claimed(pod)
        if not exclusive:
            return
        fresh = self._in_use.note(self._folder, exclusive)
        await self._in_use.report()
        try:
            # Once more: it may have been given to another node before this one listed it.
            await self._find_claimed(pod)
        except VolumeNotReady:
            if fresh:
                self._in_use.forget(self._folder)
                await self._in_use.report()
            raise

    async def _find_claimed(self, pod: AgentPod) -> set[str]:
        """The names of those that are exclusive; VolumeNotReady where one is not there for this pod."""
        exclusive = set[str]()
        for volume in pod.spec.volumes:
            claim = dig(volume, "persistentVolumeClaim", "claimName")
            if not isinstance(claim, str):
                continue
            meta, name = pod.metadata, str(volume.get("name", ""))
            found = await ready_volume(self._client, meta.namespace, claim, meta.uid, pod.spec.node_name)
            path = dig(found.spec.host_path or found.spec.local, "path")
            if not isinstance(path, str):
                raise ContainerError(
                    f'volume "{name}": PersistentVolume {found.metadata.name} is of a kind that this node '
                    "cannot offer; it has hostPath and local"
                )
            self._folder.claim(name, path)
            if await marked_exclusive(self._client, found):
                exclusive.add(found.metadata.name)
        return exclusive

    async def refresh(self, pod: AgentPod, fields: FieldValues) -> float | None:
        """Bring files up to date where that is due; in how many seconds to look again.

        Labels and annotations are in downward API files at once, config maps and secrets within a minute.
        """
        from_api = [one for one in pod.spec.volumes if sources_of(one)]
        if self._metadata is None or not from_api:
            return None
        due = self._refreshed + REFRESH_SECONDS - self._clock.monotonic()
        if due > 0 and self._metadata == _metadata(pod):
            return due
        if due <= 0:
            self._sources = await read_sources(self._client, pod)
            self._refreshed = self._clock.monotonic()
        for volume in from_api:
            await self._fill(volume, pod, fields)
        self._metadata = _metadata(pod)
        return self._refreshed + REFRESH_SECONDS - self._clock.monotonic()

    async def _fill(self, volume: Obj, pod: AgentPod, fields: FieldValues) -> None:
        name = str(volume.get("name", ""))
        now = self._clock.now()
        tokens = {}
        for path, projection in token_projections(volume).items():
            token, renew = self._tokens.get((name, path), ("", now))
            if renew <= now:
                token, expires = await request_token(self._client, pod, projection)
                renew = now + ((expires or now + dt.timedelta(hours=1)) - now) * 0.8
                self._tokens[name, path] = (token, renew)
            tokens[path] = token
        self._folder.write(name, files_of(volume, pod, self._sources, fields, tokens))


def _metadata(pod: AgentPod) -> object:
    return (dict(pod.metadata.labels), dict(pod.metadata.annotations))


async def read_sources(client: Client, pod: AgentPod) -> Sources:
    """Everything that the pod refers to, as it is now."""

    async def read(kind: Kind, names: set[str]) -> dict[str, Data | None]:
        ordered = sorted(names)
        found = await asyncio.gather(*(_read(client, kind, one, pod.metadata.namespace) for one in ordered))
        return dict(zip(ordered, found, strict=True))

    maps, secrets = references(pod)
    return Sources(*await asyncio.gather(read(CONFIGMAPS, maps), read(SECRETS, secrets)))


async def request_token(client: Client, pod: AgentPod, projection: Obj) -> tuple[str, dt.datetime | None]:
    """A token of the pod's service account, bound to the pod, and when it expires."""
    meta = pod.metadata
    bound = {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid}
    spec: Obj = {"expirationSeconds": projection.get("expirationSeconds") or 3600, "boundObjectRef": bound}
    spec["audiences"] = [audience] if (audience := projection.get("audience")) else []
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
