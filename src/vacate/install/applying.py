"""Putting an installation into a cluster: server-side apply, so that what others wrote there stays.

The webhook writes its authority into the configurations, people may add labels: an upgrade touches neither.
Applying twice changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from multidict import CIMultiDict, MultiDict

from vacate.api.kinds import EVICTIONREQUESTS, NAMESPACES
from vacate.api.objects import Obj, dig
from vacate.client.client import Client
from vacate.client.codec import loads
from vacate.clock import Clock
from vacate.errors import ConfigError, NotFound, TooManyRequests
from vacate.install.kinds import DEFINITIONS, OPTIONAL, kind_of, path_of, shown
from vacate.wire.message import Request

APPLY = "application/apply-patch+yaml"
FIELD_MANAGER = "vacate-install"
OLDEST_MINOR = 33
_PATIENCE, _PAUSE = 60.0, 0.2
Tell = Callable[[str], None]


class Installer:
    """One run of `vacate install`."""

    def __init__(self, client: Client, clock: Clock, tell: Tell) -> None:
        self._client = client
        self._clock = clock
        self._tell = tell

    async def install(self, objects: Sequence[Obj]) -> None:
        """Check that the cluster can take all of it, and then apply one after the other."""
        await self._require_release()
        await self._require_groups(objects)
        for obj in objects:
            if kind_of(obj) == NAMESPACES:
                await self._not_ending(obj)
            await self._apply(obj)
            if kind_of(obj) == DEFINITIONS:
                await self._served(obj)

    async def _apply(self, obj: Obj) -> None:
        before = await existing(self._client, obj)
        query = MultiDict({"fieldManager": FIELD_MANAGER, "force": "true"})
        headers = CIMultiDict({"Accept": "application/json", "Content-Type": APPLY})
        request = Request("PATCH", path_of(obj), query, headers, msgspec.json.encode(obj))
        after = loads(await self._client.send(request))
        self._tell(f"{shown(obj)} {_outcome(before, after)}")

    async def _require_release(self) -> None:
        found = loads(await self._client.send(_get("/version")))
        minor = re.match(r"[0-9]+", str(found.get("minor", "")))
        if str(found.get("major")) == "1" and minor and int(minor[0]) < OLDEST_MINOR:
            raise ConfigError(
                f"the cluster runs Kubernetes {found.get('gitVersion')}; "
                f"Vacate needs 1.{OLDEST_MINOR} or newer"
            )

    async def _require_groups(self, objects: Sequence[Obj]) -> None:
        """Nothing is applied where a part would be left over."""
        for version in dict.fromkeys(obj["apiVersion"] for obj in objects):
            if "/" in version and not await self._serves(version):
                raise ConfigError(_missing(version))

    async def _serves(self, version: str) -> bool:
        return await _found(lambda: self._client.send(_get(f"/apis/{version}")))

    async def _not_ending(self, namespace: Obj) -> None:
        """A namespace that is being deleted takes nothing new; a moment later it can be made again."""

        async def ready() -> bool:
            found = await existing(self._client, namespace)
            return not dig(found or {}, "metadata", "deletionTimestamp")

        await wait_until(ready, self._clock, f"{shown(namespace)} is still being deleted")

    async def _served(self, definition: Obj) -> None:
        """Wait until the API server answers for the new kind."""

        async def ready() -> bool:
            if not _is_established(await existing(self._client, definition)):
                return False
            return await counted_requests(self._client) is not None

        await wait_until(ready, self._clock, f"{shown(definition)} is not served yet")


async def wait_until(holds: Callable[[], Awaitable[bool]], clock: Clock, otherwise: str) -> None:
    """Ask again and again, for a minute; then say what is the matter."""
    end = clock.monotonic() + _PATIENCE
    while not await holds():
        if clock.monotonic() > end:
            raise ConfigError(f"{otherwise}, after {_PATIENCE:.0f} s")
        await clock.sleep(_PAUSE)


async def counted_requests(client: Client, namespace: str = "") -> int | None:
    """How many EvictionRequests there are; None while the server does not answer for them."""
    try:
        return len((await client.list(EVICTIONREQUESTS, namespace)).items)
    except (NotFound, TooManyRequests):  # the second while it begins to serve a kind
        return None


async def existing(client: Client, obj: Obj) -> Obj | None:
    """The object as it is in the cluster, None where it or its kind is not there."""
    try:
        return loads(await client.send(_get(path_of(obj))))
    except NotFound:
        return None


def _get(path: str) -> Request:
    return Request("GET", path, MultiDict(), CIMultiDict({"Accept": "application/json"}))


async def _found(ask: Callable[[], Awaitable[object]]) -> bool:
    try:
        await ask()
    except NotFound:
        return False
    return True


def _missing(version: str) -> str:
    group = version.partition("/")[0]
    if group in OPTIONAL:
        return (
            f"the cluster does not serve {version}: install {OPTIONAL[group]} first, or leave that part out"
        )
    return (
        f"the cluster does not serve {version}, so Vacate cannot be installed; "
        "a cluster started by `vacate up` has everything inside already"
    )


def _outcome(before: Obj | None, after: Obj) -> str:
    if before is None:
        return "created"
    return "unchanged" if _content(before) == _content(after) else "configured"


def _content(obj: Obj) -> Obj:
    """The object without the books that the API server keeps: noting who applied it is no change."""
    books = ("resourceVersion", "managedFields")
    meta = {key: value for key, value in obj["metadata"].items() if key not in books}
    return {**obj, "metadata": meta, "status": None}


def _is_established(definition: Obj | None) -> bool:
    conditions = dig(definition or {}, "status", "conditions") or []
    return any(one.get("type") == "Established" and one.get("status") == "True" for one in conditions)
