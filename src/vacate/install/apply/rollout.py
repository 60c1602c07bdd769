"""Waiting until what was installed works: by watching, so that nothing is asked while nothing changes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from vacate.api.installednames import PART_OF
from vacate.api.kinds import DAEMONSETS, DEPLOYMENTS, EVENTS, PODS, Kind
from vacate.api.objects import Obj, name_of, namespace_of
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ApiError, TransportError
from vacate.install.apply.readiness import authority_left, daemons_left, reason_of, rollout_left
from vacate.install.objectkinds import kind_of, shown
from vacate.install.objects import objects
from vacate.install.settings import Settings
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

_CONFIGURATIONS = (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
_EVENTS_SECONDS = 5.0


class Rollout:
    """Deployments and DaemonSets with all their copies, and webhook configurations with their authority."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        settings: Settings,
        report: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._report = report
        self._namespace = settings.namespace
        self._awaited = awaited(settings)
        self._changed = asyncio.Event()
        ours = ",".join(f"{key}={value}" for key, value in PART_OF.items())
        self._deployments = self._follow(DEPLOYMENTS, settings.namespace, label_selector=ours)
        agent = settings.shutdown_agent
        self._daemons = self._follow(DAEMONSETS, agent.namespace, label_selector=ours) if agent else None
        self._pods = self._follow(PODS, settings.namespace, label_selector=ours)
        self._configurations = {
            name_of(obj): self._follow(kind_of(obj), "", field_selector=f"metadata.name={name_of(obj)}")
            for obj in self._awaited
            if kind_of(obj) in _CONFIGURATIONS
        }
        self._reported: set[str] = set()

    async def wait(self, seconds: float) -> list[str]:
        """Return when all is ready, or after that time with a line for each part that is not."""
        following = asyncio.gather(*(one.run() for one in self._followed))
        following.add_done_callback(lambda _done: self._changed.set())
        try:
            async with asyncio.timeout(seconds):
                await self._until_ready(following)
        except TimeoutError:
            return await self._explained()
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await following
        return []

    @property
    def _followed(self) -> list[Informer[Obj]]:
        daemons = [self._daemons] if self._daemons is not None else []
        return [self._deployments, self._pods, *daemons, *self._configurations.values()]

    async def _until_ready(self, following: asyncio.Future[list[None]]) -> None:
        while not following.done():
            self._changed.clear()
            left = [obj for obj in self._awaited if self._left(obj)]
            self._report_on([obj for obj in self._awaited if obj not in left])
            if not left:
                return
            await self._changed.wait()

    def _report_on(self, ready: Sequence[Obj]) -> None:
        for one in map(shown, ready):
            if one not in self._reported:
                self._reported.add(one)
                self._report(f"{one} ready")

    def _left(self, obj: Obj) -> str:
        if kind_of(obj) == DEPLOYMENTS:
            return rollout_left(self._deployment(obj))
        if kind_of(obj) == DAEMONSETS:
            assert self._daemons is not None
            return daemons_left(self._daemons.reader.get(namespace_of(obj), name_of(obj)))
        return authority_left(self._configurations[name_of(obj)].reader.get("", name_of(obj)))

    def _deployment(self, obj: Obj) -> Obj | None:
        return self._deployments.reader.get(self._namespace, name_of(obj))

    async def _explained(self) -> list[str]:
        trouble = next((one.trouble for one in self._followed if one.trouble), None)
        if trouble is not None:
            return [f"the cluster cannot be watched: {trouble}"]
        events, pods = await self._events(), list(self._pods.reader.list())
        lines = []
        for obj in self._awaited:
            if left := self._left(obj):
                why = reason_of(self._deployment(obj), pods, events) if kind_of(obj) == DEPLOYMENTS else ""
                lines.append(": ".join(filter(None, (shown(obj), left, why))))
        return lines

    async def _events(self) -> list[Obj]:
        """What was complained about, where that can be read."""
        try:
            async with asyncio.timeout(_EVENTS_SECONDS):
                return list((await self._client.list(EVENTS, self._namespace)).items)
        except (ApiError, TransportError, TimeoutError):
            return []

    def _follow(
        self, kind: Kind, namespace: str, *, label_selector: str = "", field_selector: str = ""
    ) -> Informer[Obj]:
        informer: Informer[Obj] = Informer(
            self._client, kind, dict,
            clock=self._clock, entropy=self._entropy, namespace=namespace,
            label_selector=label_selector, field_selector=field_selector,
        )  # fmt: skip
        informer.subscribe(lambda _old, _new: self._changed.set())
        return informer


def awaited(settings: Settings) -> list[Obj]:
    """What has to become ready; a webhook outside of the cluster is its operator's affair."""
    given = bool(settings.webhook_url or settings.ca_bundle)
    processes = (DEPLOYMENTS, DAEMONSETS)
    kinds = processes if given else (*processes, *_CONFIGURATIONS)
    return [obj for obj in objects(settings) if kind_of(obj) in kinds]
