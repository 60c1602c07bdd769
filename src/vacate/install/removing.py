"""Taking an installation out of a cluster: what could stand in somebody's way first, what people made never.

EvictionRequests stay, and with them their definition, unless the definition is asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from multidict import CIMultiDict, MultiDict

from vacate.api.kinds import NAMESPACES
from vacate.api.objects import Obj, dig
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.errors import NotFound
from vacate.install.applying import counted_requests, existing, wait_until
from vacate.install.definition import definition
from vacate.install.kinds import (
    DEFINITIONS,
    MUTATING_WEBHOOKS,
    POLICIES,
    POLICY_BINDINGS,
    VALIDATING_WEBHOOKS,
    kind_of,
    path_of,
    shown,
)
from vacate.install.names import PART_OF, TLS_SECRET
from vacate.install.objects import objects
from vacate.install.settings import Certificates, Monitoring, Settings
from vacate.wire.message import Request

# First whatever could refuse a write, then the processes; at last what others may still need.
_FIRST = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, POLICY_BINDINGS, POLICIES)
_LAST = (DEFINITIONS, NAMESPACES)
_BODY = b'{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Background"}'


class Uninstaller:
    """One run of `vacate uninstall`."""

    def __init__(self, client: Client, clock: Clock, tell: Callable[[str], None]) -> None:
        self._client = client
        self._clock = clock
        self._tell = tell

    async def uninstall(self, namespace: str, *, definitions: bool = False) -> None:
        """Remove every object that an installation into this namespace may have made."""
        for obj in removable(namespace):
            kind = kind_of(obj)
            if kind == DEFINITIONS:
                await self._definition(obj, wanted=definitions)
            elif kind == NAMESPACES:
                await self._namespace(obj)
            else:
                await self._delete(obj)

    async def _definition(self, obj: Obj, *, wanted: bool) -> None:
        if await existing(self._client, obj) is None:
            return
        count = await self._requests()
        if not wanted:
            self._tell(f"{shown(obj)} kept, with {_counted(count)}; --crds removes them as well")
            return
        self._tell(f"{shown(obj)} goes, with {_counted(count)}")
        await self._delete(obj)

        async def gone() -> bool:
            return await existing(self._client, obj) is None

        waiting = f"{shown(obj)} is still there, perhaps for finalizers of EvictionRequests"
        await wait_until(gone, self._clock, waiting)

    async def _namespace(self, obj: Obj) -> None:
        """Only a namespace that was made for Vacate, and only when no request goes with it."""
        found = await existing(self._client, obj)
        if found is None:
            return
        ours = PART_OF.items() <= (dig(found, "metadata", "labels") or {}).items()
        if not ours:
            self._tell(f"{shown(obj)} kept: it was not made for Vacate")
        elif count := await self._requests(obj["metadata"]["name"]):
            self._tell(f"{shown(obj)} kept, with {_counted(count)}")
        else:
            await self._delete(obj)

    async def _delete(self, obj: Obj) -> None:
        headers = CIMultiDict({"Accept": "application/json", "Content-Type": "application/json"})
        try:
            await self._client.send(Request("DELETE", path_of(obj), MultiDict(), headers, _BODY))
        except NotFound:
            return
        self._tell(f"{shown(obj)} deleted")

    async def _requests(self, namespace: str = "") -> int:
        """How many there are; where their kind is not served there are none."""
        if await existing(self._client, definition()) is None:
            return 0
        found: list[int] = []

        async def answered() -> bool:
            count = await counted_requests(self._client, namespace)
            found.extend([] if count is None else [count])
            return count is not None

        await wait_until(
            answered, self._clock, "the API server does not say how many EvictionRequests it has"
        )
        return found[0]


def removable(namespace: str) -> Sequence[Obj]:
    """All that any settings could have rendered, in the order of removal."""
    everything = Settings(
        namespace=namespace,
        certificates=Certificates.CERT_MANAGER,
        pod_rules="rules: []",
        monitoring=Monitoring.everything(),
    )
    own = objects(Settings(namespace=namespace))
    known = {path_of(obj) for obj in own}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": TLS_SECRET, "namespace": namespace}}
    found = [*own, *(obj for obj in objects(everything) if path_of(obj) not in known), secret]
    middle = [obj for obj in found if kind_of(obj) not in (*_FIRST, *_LAST)]
    ends = [[obj for kind in order for obj in found if kind_of(obj) == kind] for order in (_FIRST, _LAST)]
    return [*ends[0], *reversed(middle), *ends[1]]


def _counted(count: int) -> str:
    return f"{count or 'no'} EvictionRequest{'' if count == 1 else 's'}"
