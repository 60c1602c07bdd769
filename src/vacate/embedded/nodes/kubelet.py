"""Plays the kubelet for the pods of simulated nodes: looks at a pod, takes the steps that are due, writes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from vacate.api.events import NORMAL, WARNING, EventNote, regarding
from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.cache.reader import Reader
from vacate.cache.written import newer
from vacate.embedded.nodes.adoption import adopt
from vacate.embedded.nodes.podlifecycle import PodLifecycle, advance, next_moment, waits_to_start
from vacate.embedded.nodes.podstatus import Addresses, status_of
from vacate.embedded.nodes.projections import BY_NODE, SimulatedPod
from vacate.embedded.nodes.settings import NodeSettings
from vacate.embedded.nodes.simulatednode import Machine, PodOnMachine
from vacate.embedded.nodes.timings import PodTimings, after, timings_for
from vacate.errors import NotFound
from vacate.kube.patches import pod_status_patch
from vacate.nodeagent.volumes.claims import VolumeNotReady, marked_exclusive, ready_volume
from vacate.nodeagent.volumes.inuse import report_volumes
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

VOLUME_RETRY_SECONDS = 1.0
"""How often a node looks again whether a volume is attached."""


class PodReconciler:
    """One pod at a time. The life goes on by the clock alone; the API sees it as differences."""

    def __init__(
        self,
        deps: Dependencies,
        pods: Reader[SimulatedPod],
        machines: Mapping[str, Machine],
        settings: NodeSettings,
    ) -> None:
        self._client = deps.client
        self._clock = deps.clock
        self._recorder = deps.recorder
        self._pods = pods
        self._machines = machines
        self._settings = settings
        self._homes: dict[Key, Machine] = {}  # where each known pod lives

    async def reconcile(self, key: Key) -> Outcome:
        """Bring the pod's life and its status up to now."""
        pod = self._pods.get(key.namespace, key.name)
        machine = self._machines.get(pod.spec.node_name) if pod is not None else None
        await self._move(key, machine)
        if pod is None or machine is None or not machine.active:
            return Done()
        now = self._clock.now()
        resident = self._resident(machine, key, pod, now)
        await self._report(machine)
        pod = newer(resident.written, pod)
        if await self._lacks_volumes(machine, resident, pod, now):
            await self._write_status(machine, resident, pod, now)
            return Later(after(now, VOLUME_RETRY_SECONDS) or now)
        self._live_on(resident, pod, now)
        await self._write_status(machine, resident, pod, now)
        if resident.lifecycle.ended:
            machine.volumes.pop(pod.metadata.uid, None)
            await self._report(machine)
        if resident.lifecycle.ended and pod.deleting and not resident.released:
            await self._release(key, pod)
            resident.released = True
        moment = next_moment(resident.lifecycle, now)
        return Done() if moment is None else Later(moment)

    async def _move(self, key: Key, machine: Machine | None) -> None:
        """A pod that is gone, or came back under its name elsewhere, is forgotten where it was."""
        home = self._homes.get(key)
        if home is not None and home is not machine:
            home.forget(key)
            await self._report(home)
            del self._homes[key]
        if machine is not None:
            self._homes[key] = machine

    def _resident(self, machine: Machine, key: Key, pod: SimulatedPod, now: dt.datetime) -> PodOnMachine:
        found = machine.residents.get(key)
        if found is not None and found.lifecycle.uid == pod.metadata.uid:
            return found
        machine.forget(key)
        self._survey(machine)
        lifecycle = adopt(pod, self._timings(pod), now, survived=machine.survived)
        address = -1
        if not pod.spec.host_network:
            address = machine.take_address(pod.metadata.uid, str(pod.status.get("podIP", "")))
        kept = lifecycle if self._settings.quiet and lifecycle.ready(now) else None
        machine.residents[key] = PodOnMachine(lifecycle, address, kept)
        return machine.residents[key]

    def _survey(self, machine: Machine) -> None:
        """Before anyone gets an address: see which ones pods have that came before this process."""
        if machine.surveyed:
            return
        machine.surveyed = True
        for pod in self._pods.by_index(BY_NODE, machine.shape.name):
            machine.reserve_address(pod.metadata.uid, str(pod.status.get("podIP", "")))

    async def _lacks_volumes(
        self, machine: Machine, resident: PodOnMachine, pod: SimulatedPod, now: dt.datetime
    ) -> bool:
        """Whether the containers may not start yet, because a volume is not there for this pod."""
        if not pod.claims or pod.deleting or pod.terminal or not waits_to_start(resident.lifecycle):
            return False
        uid = pod.metadata.uid
        try:
            exclusive = await self._ready_volumes(machine, pod)
            if exclusive:
                machine.volumes[uid] = exclusive
                await self._report(machine)
                # Once more: one may have been given to another node before this one listed it.
                await self._ready_volumes(machine, pod)
        except VolumeNotReady as error:
            machine.volumes.pop(uid, None)
            await self._report(machine)
            self._complain(resident, pod, str(error))
            if resident.lifecycle.starts is not None:  # it starts when the volumes are there, not before
                starts = max(resident.lifecycle.starts, now)
                resident.lifecycle = replace(resident.lifecycle, starts=after(starts, VOLUME_RETRY_SECONDS))
            return True
        return False

    async def _report(self, machine: Machine) -> None:
        """Return when the server knows which exclusive volumes are in use there."""
        if machine.volumes:
            machine.keep_volumes(pod.metadata.uid for pod in self._pods.by_index(BY_NODE, machine.shape.name))
        if machine.active and machine.listing != machine.listed:
            wanted = machine.listing
            await report_volumes(self._client, machine.shape.name, wanted)
            machine.listed = wanted

    async def _ready_volumes(self, machine: Machine, pod: SimulatedPod) -> set[str]:
        """The names of the exclusive ones among its volumes."""
        exclusive = set[str]()
        for claim in pod.claims:
            meta = pod.metadata
            found = await ready_volume(self._client, meta.namespace, claim, meta.uid, machine.shape.name)
            if await marked_exclusive(self._client, found):
                exclusive.add(found.metadata.name)
        return exclusive

    def _complain(self, resident: PodOnMachine, pod: SimulatedPod, why: str) -> None:
        if resident.lacking != why:
            resident.lacking = why
            self._recorder.record(EventNote(regarding(PODS, pod), WARNING, "FailedMount", why))

    def _live_on(self, resident: PodOnMachine, pod: SimulatedPod, now: dt.datetime) -> None:
        before = resident.lifecycle
        resident.lifecycle = advance(before, pod, self._timings(pod), now)
        for note in event_notes(before, resident.lifecycle, pod):
            self._recorder.record(note)

    async def _write_status(
        self, machine: Machine, resident: PodOnMachine, pod: SimulatedPod, now: dt.datetime
    ) -> None:
        if resident.lifecycle is resident.kept:
            return
        shape = machine.shape
        own = shape.host_address if resident.address < 0 else shape.pod_address(resident.address)
        wanted = status_of(resident.lifecycle, pod, Addresses(own, shape.host_address), now)
        patch = pod_status_patch(pod.status, wanted, pod.metadata.uid)
        if patch is None:
            return
        meta = pod.metadata
        answer = await self._client.patch_status(PODS, meta.name, patch, meta.namespace)
        resident.written = msgspec.convert(answer, SimulatedPod)

    async def _release(self, key: Key, pod: SimulatedPod) -> None:
        """The containers are gone: let the API server remove the pod, if it still is this one."""
        try:
            await self._client.delete(
                PODS, key.name, key.namespace, DeleteOptions(grace_period_seconds=0, uid=pod.metadata.uid)
            )
        except NotFound:
            return  # a Conflict is tried again: the cache says by then whether another pod has its name

    def _timings(self, pod: SimulatedPod) -> PodTimings:
        owner = pod.metadata.controller
        settings = self._settings
        defaults = settings.timings if settings.timings_of is None else settings.timings_of(pod)
        return timings_for(pod.metadata.annotations, defaults, owner.kind if owner else "")


def event_notes(before: PodLifecycle | None, after: PodLifecycle, pod: SimulatedPod) -> list[EventNote]:
    """The events of a step, in the kubelet's words."""
    if before is None:
        return []
    about = regarding(PODS, pod)
    notes: list[EventNote] = []
    for container in pod.spec.containers:
        if after.running and after.began != before.began:
            notes.append(EventNote(about, NORMAL, "Created", "Container created"))
            notes.append(EventNote(about, NORMAL, "Started", "Container started"))
        if after.stopping and not before.stopping and before.running:
            notes.append(EventNote(about, NORMAL, "Killing", f"Stopping container {container.name}"))
        if after.backoff > 0 and after.failures > before.failures:
            meta = pod.metadata
            where = f"{container.name} in pod {meta.name}_{meta.namespace}({meta.uid})"
            message = f"Back-off restarting failed container {where}"
            notes.append(EventNote(about, WARNING, "BackOff", message))
    return notes
