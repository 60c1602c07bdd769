"""Opens the scheduling gate of pods whose exclusive volumes are all attached for them.

It is for clusters whose nodes do not wait for volumes by themselves: a pod that has no node cannot run.
"""

from __future__ import annotations

from msgspec.structs import replace

from vacate.api.kinds import PERSISTENTVOLUMES, PODS
from vacate.api.objects import Obj
from vacate.api.types import PersistentVolume, Pod, StorageClass
from vacate.controllers.exclusivevolumes import events
from vacate.controllers.exclusivevolumes.caches import VolumeCaches, class_matters, pod_matters
from vacate.controllers.exclusivevolumes.liveusers import RECHECK_INTERVAL, running_users
from vacate.errors import InvalidAttachment, NotFound
from vacate.kube.exclusivevolumes import (
    CLOSED,
    GATE,
    OPENED,
    attachment_of,
    attachment_patch,
    detached_of,
    waits_at_gate,
)
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

QUEUE = "exclusivevolumegates"


def build(deps: Dependencies) -> Controller:
    """The controller, woken by pods at the gate, their claims, volumes and classes."""
    view = VolumeCaches(deps)
    return Controller(
        QUEUE,
        SchedulingGates(deps, view),
        (
            Source(view.pods, when=_matters),
            Source(view.claims, keys=view.gated_by_claim),
            Source(view.volumes, keys=view.gated_by_volume),
            Source(view.classes, keys=view.gated_by_class, when=class_matters),
        ),
        deps,
        workers=2,
        refusals_on=view.pods,
    )


class SchedulingGates:
    """Reconciles a pod that waits at the gate."""

    def __init__(self, deps: Dependencies, view: VolumeCaches) -> None:
        self._deps = deps
        self._view = view
        self._reported: dict[Key, tuple[str, str]] = {}  # by pod: its UID, and the claim in the last Event

    async def reconcile(self, key: Key) -> Outcome:
        """Open the gate, or wait until a volume or claim changes."""
        pod = self._view.pods.reader.get(*key)
        if pod is None or not waits_at_gate(pod) or pod.terminating:
            self._reported.pop(key, None)
            return Done()
        volumes = []
        for claim in pod.claims:
            volume = self._view.bound_volume(pod.metadata.namespace, claim)
            if volume is None:
                late = self._view.class_that_binds_late(pod.metadata.namespace, claim)
                if late is None:
                    return Done()  # not bound yet
                if self._view.may_get_exclusive(pod.metadata.namespace, claim, late):
                    self._report_late(pod, claim, late)
                    return Later(self._deps.clock.now() + RECHECK_INTERVAL)  # no watch wakes for its class
                continue
            if not self._view.exclusive(volume):
                continue
            if not _is_for(volume, pod):
                return Done()
            if await self._used_elsewhere(volume, pod):
                return Later(self._deps.clock.now() + RECHECK_INTERVAL)
            volumes.append(volume)
        # First the records, then the gate: while one says that the gate is closed, the pod never ran.
        for volume in volumes:
            found = attachment_of(volume)
            if found is not None and found.gate == CLOSED:
                opened = attachment_patch(volume, replace(found, gate=OPENED))
                await self._deps.client.patch(PERSISTENTVOLUMES, volume.metadata.name, opened)
        await self._open(pod)
        return Done()

    def _report_late(self, pod: Pod, claim: str, storage_class: StorageClass) -> None:
        key, state = Key(pod.metadata.namespace, pod.metadata.name), (pod.metadata.uid, claim)
        if self._reported.get(key) != state:
            self._reported[key] = state
            self._deps.recorder.record(events.binds_late(pod, claim, storage_class.metadata.name))

    async def _used_elsewhere(self, volume: PersistentVolume, pod: Pod) -> bool:
        """Whether another pod runs with the volume, whatever the record says: others may have written it."""
        found, taken = attachment_of(volume), detached_of(volume)
        if self._view.listing(volume) - {one.node for one in (found, *taken) if one is not None}:
            return True
        return any(
            other.metadata.uid != pod.metadata.uid
            and not (found is not None and found.names(other.metadata.uid))
            and not any(one.names(other.metadata.uid) for one in taken)
            for other in await running_users(self._deps.client, volume)
        )

    async def _open(self, pod: Pod) -> None:
        try:
            whole = await self._deps.client.get(PODS, pod.metadata.name, pod.metadata.namespace)
        except NotFound:
            return
        if whole["metadata"]["uid"] == pod.metadata.uid:
            patch = opening_patch(whole)
            await self._deps.client.patch(PODS, pod.metadata.name, patch, pod.metadata.namespace)


def opening_patch(whole: Obj) -> Obj:
    """All other gates stay; upon the version that was read."""
    gates = [one for one in whole["spec"].get("schedulingGates") or [] if one.get("name") != GATE]
    return guarded(whole["metadata"], {"spec": {"schedulingGates": gates or None}})


def _is_for(volume: PersistentVolume, pod: Pod) -> bool:
    try:
        found = attachment_of(volume)
        detached_of(volume)
    except InvalidAttachment:
        return False
    return found is not None and found.names(pod.metadata.uid)


def _matters(old: Pod | None, new: Pod | None) -> bool:
    return new is not None and waits_at_gate(new) and (old is None or pod_matters(old, new))
