"""Removes an installation from a cluster: what could block users first, what users created never.

EvictionRequests and Evacuations stay, and with them their definitions, unless these are asked for by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable

from vacate.api.installednames import CA_SECRET, MANAGER, TLS_SECRET
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LEASES, NAMESPACES, NODEMAINTENANCES, Kind
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.crds.definition import defined_kind, definition_for
from vacate.entropy import Entropy
from vacate.errors import Conflict, Forbidden, NotFound
from vacate.eviction.dialects.evacuation.translation import other_finalizers
from vacate.install.apply.installer import made_for_vacate
from vacate.install.apply.inventory import Inventory, inventory
from vacate.install.apply.lock import alone, forget_lock, unchecked
from vacate.install.apply.order import in_order_of_removal
from vacate.install.apply.polling import wait_until
from vacate.install.apply.preflight import require_not_embedded, require_one_place
from vacate.install.apply.pruner import Pruner
from vacate.install.apply.requests import counted_objects, deleted, existing
from vacate.install.manifests.deployments import namespace as namespace_object
from vacate.install.objectkinds import DEFINITIONS, OPTIONAL, kind_of, shown
from vacate.install.objects import everything
from vacate.install.settings import Settings
from vacate.kube.patches import guarded


async def release_instigators(client: Client, evacuation: Obj) -> None:
    """Take away the finalizers of instigators from this Evacuation; those of others stay."""
    uid = evacuation["metadata"]["uid"]
    with contextlib.suppress(NotFound):
        while evacuation["metadata"]["uid"] == uid:
            meta = evacuation["metadata"]
            kept = other_finalizers(meta.get("finalizers", []))
            if kept == meta.get("finalizers", []):
                return
            change = guarded(meta, {"metadata": {"finalizers": kept}})
            try:
                await client.patch(EVACUATIONS, meta["name"], change, meta["namespace"])
            except Conflict:
                evacuation = await client.get(EVACUATIONS, meta["name"], meta["namespace"])
            else:
                return


class Uninstaller:
    """One run of `vacate uninstall`."""

    def __init__(self, client: Client, clock: Clock, entropy: Entropy, report: Callable[[str], None]) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._print = report
        self._printed = 0

    async def uninstall(self, namespace: str, *, definitions: bool = False) -> None:
        """Remove every object that an installation into this namespace may have made."""
        await require_not_embedded(
            self._client, "nothing was removed. To remove the cluster, stop it and delete its folder"
        )
        await require_one_place(self._client, namespace)
        home = await existing(self._client, namespace_object(Settings(namespace=namespace)))
        if home is None or home["metadata"].get("deletionTimestamp"):
            # Nobody can install there now, so that nobody has to wait.
            await self._remove(namespace, unchecked, definitions=definitions)
        else:
            async with alone(self._client, self._clock, self._entropy, namespace, self._report) as turn:
                await self._remove(namespace, turn.check, definitions=definitions)
            await forget_lock(self._client, namespace)
        if not self._printed:
            self._report(f"nothing of Vacate is in this cluster, or in its namespace {namespace}")

    def _report(self, line: str) -> None:
        self._printed += 1
        self._print(line)

    async def _remove(
        self, namespace: str, check: Callable[[], Awaitable[None]], *, definitions: bool
    ) -> None:
        """Remove one after the other; before each, check that nobody can have installed it anew."""
        if definitions:
            await self._maintenances()
        noted = await Inventory(self._client, namespace).lines()
        # A note is no more than a hint: a user who can write it must not have others' objects deleted by it.
        await check()
        await Pruner(self._client, self._report).prune(removable(namespace), noted, namespace)
        for obj in removable(namespace):
            await check()
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
        kind = defined_kind(obj)
        # Counting also opens the kind's storage: where the removal is its first use, kube-apiserver's first
        # attempt fails, and the second can be minutes away.
        count = _counted(await self._objects(kind), kind)
        if not wanted:
            self._report(f"{shown(obj)} kept, with {count}; --crds removes them as well")
            return
        self._report(f"{shown(obj)} goes, with {count}")
        if kind == EVACUATIONS:
            await self._release_evacuations()
        await self._delete(obj)

        async def gone() -> bool:
            return await existing(self._client, obj) is None

        waiting = f"{shown(obj)} is still there, perhaps for finalizers of {kind.several}"
        await wait_until(gone, self._clock, waiting)

    async def _release_evacuations(self) -> None:
        """Take away the instigators' finalizers, as the controller would: they would hold the definition."""
        for one in (await self._client.list(EVACUATIONS)).items:
            await release_instigators(self._client, one)

    async def _maintenances(self) -> None:
        """Call off all drains while the manager is there to undo them: later their finalizers would stay."""
        kind = NODEMAINTENANCES
        count = await self._objects(kind)
        if not count:
            return
        for one in (await self._client.list(kind)).items:
            with contextlib.suppress(NotFound):
                await self._client.delete(kind, one["metadata"]["name"])
        self._report(f"{_counted(count, kind)} cancelled")

        async def gone() -> bool:
            return not (await self._client.list(kind)).items

        waiting = (
            "NodeMaintenances are still there: the manager undoes what they did; where it does not run, "
            "remove their finalizer vacate.dev/nodemaintenance"
        )
        await wait_until(gone, self._clock, waiting)

    async def _namespace(self, obj: Obj) -> None:
        """Only a namespace that was made for Vacate, and only when no request goes with it."""
        found = await existing(self._client, obj)
        if found is None or found["metadata"].get("deletionTimestamp"):
            return
        if not made_for_vacate(found):
            self._report(f"{shown(obj)} kept: it was not made for Vacate")
            return
        for kind in (EVICTIONREQUESTS, EVACUATIONS):
            if count := await self._objects(kind, obj["metadata"]["name"]):
                self._report(f"{shown(obj)} kept, with {_counted(count, kind)}")
                return
        await self._delete(obj)

    async def _delete(self, obj: Obj) -> None:
        try:
            there = await deleted(self._client, obj)
        except Forbidden:
            if kind_of(obj).group not in OPTIONAL:
                raise
            return  # of a part that is seldom there, and an account that could create it could see it
        if there:
            self._report(f"{shown(obj)} deleted")

    async def _objects(self, kind: Kind, namespace: str = "") -> int:
        """How many there are; where their kind is not served there are none."""
        if await existing(self._client, definition_for(kind)) is None:
            return 0
        found: list[int] = []

        async def answered() -> bool:
            count = await counted_objects(self._client, kind, namespace)
            found.extend([] if count is None else [count])
            return count is not None

        await wait_until(answered, self._clock, f"the API server does not say how many {kind.several} it has")
        return found[0]


def removable(namespace: str) -> list[Obj]:
    """All that any settings could have rendered, and what the parts themselves have made."""
    meta = {"namespace": namespace}
    made_by_parts: list[Obj] = [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": TLS_SECRET, **meta}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": CA_SECRET, **meta}},
        {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": {"name": MANAGER, **meta}},
    ]
    # The notes come first, and so go last of all that is in the namespace. What the parts have made goes
    # after them, or they would make it again: cert-manager its Secrets, as long as there are Certificates.
    return in_order_of_removal([inventory(namespace, ()), *made_by_parts, *everything(namespace)])


def _counted(count: int, kind: Kind) -> str:
    return f"{count or 'no'} {kind.kind if count == 1 else kind.several}"
