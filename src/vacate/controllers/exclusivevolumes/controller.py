"""The attach and detach controller of exclusive volumes.

Each reconcile looks at one volume: which pods does its record name, which of them have ended for certain,
and who uses it next. Caches say what may have changed; that a pod has ended, and which pods run, is read from
the server. The record is swapped upon the version that was read, so that any number of these controllers may
run.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from vacate.api.events import EventNote
from vacate.api.kinds import NODES, PERSISTENTVOLUMES, PODS
from vacate.api.types import Node, PersistentVolume, Pod
from vacate.controllers.exclusivevolumes import events
from vacate.controllers.exclusivevolumes.caches import VolumeCaches, class_matters, node_matters, pod_matters
from vacate.controllers.exclusivevolumes.confirmation import (
    FENCED,
    USES,
    known_off,
    why_gone_unconfirmed,
    why_unconfirmed,
)
from vacate.controllers.exclusivevolumes.decision import next_attachment
from vacate.controllers.exclusivevolumes.liveusers import RECHECK_INTERVAL, running_users
from vacate.errors import InvalidAttachment, NotFound
from vacate.kube.exclusivevolumes import (
    Attachment,
    Holder,
    attachment_of,
    attachment_patch,
    detached_of,
    uses_volumes,
)
from vacate.kube.nodes import out_of_service
from vacate.kube.podend import has_ended, is_given_up
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Later, Outcome

QUEUE = "exclusivevolumes"
WORKERS = 4


def build(deps: Dependencies) -> Controller:
    """The controller, woken by volumes, claims, classes, the pods that use them, and their nodes."""
    view = VolumeCaches(deps)
    volumes = ExclusiveVolumes(deps, view)
    view.pods.subscribe(volumes.on_pod)
    view.volumes.subscribe(volumes.on_volume)
    view.nodes.subscribe(volumes.on_node)
    return Controller(
        QUEUE,
        volumes,
        (
            Source(view.volumes),
            Source(view.volumes, keys=view.neighbours),
            Source(view.claims, keys=view.of_claim),
            Source(view.classes, keys=view.of_class, when=class_matters),
            Source(view.pods, keys=view.of_pod, when=pod_matters),
            Source(view.nodes, keys=view.of_node, when=node_matters),
        ),
        deps,
        workers=WORKERS,
        refusals_on=view.volumes,
    )


class ExclusiveVolumes:
    """Reconciles a volume with the pods that use it."""

    def __init__(self, deps: Dependencies, view: VolumeCaches) -> None:
        self._deps = deps
        self._view = view
        # Pods whose end their node reported before they were removed, and those that never got a node.
        self._seen_to_end: set[str] = set()
        self._without_node: dict[str, str] = {}  # pods that had none when they were seen last, by version
        self._fenced: dict[str, str] = {}  # Nodes that were fenced when they were seen last, by version
        self._known_off: dict[str, str] = {}  # Nodes that are gone, and how it is known that they are off
        self._named: dict[str, set[str]] = {}  # by the UID of a volume: pods that its records have named
        self._shared: dict[str, set[str]] = {}  # by volume: the pods that were reported to share it
        self._reported: dict[str, tuple[object, ...]] = {}  # by volume: the last waiting state in an Event

    def on_pod(self, old: Pod | None, new: Pod | None) -> None:
        """Remember that a pod had ended, or had no node, when it was removed.

        That it had none counts only as the server's word about its removal, which comes under a version of
        its own. What a cache knew before it missed something is no proof: the pod may have got a node since.
        """
        pod = new or old
        if pod is None or not pod.claims:
            return
        uid, version = pod.metadata.uid, pod.metadata.resource_version
        known = self._without_node.pop(uid, version)
        if new is not None:
            if not new.spec.node_name:
                self._without_node[uid] = version
            return
        for named in self._named.values():
            named.discard(uid)
        if has_ended(pod) or (not pod.spec.node_name and version != known):
            self._seen_to_end.add(uid)

    def on_volume(self, old: PersistentVolume | None, new: PersistentVolume | None) -> None:
        """Remember whom a record has named: others may remove it before the node says what runs."""
        if new is None:
            if old is not None:
                self._named.pop(old.metadata.uid, None)
            return
        try:
            found = attachment_of(new)
        except InvalidAttachment:
            return
        if found is not None:
            self._named.setdefault(new.metadata.uid, set()).update(one.uid for one in found.pods)

    def on_node(self, old: Node | None, new: Node | None) -> None:
        """Remember how it was known of a Node that is deleted that its machine is off.

        A fence counts only as the server's word about the deletion, as above: it may have ended since. What
        a person has confirmed of this Node stays true.
        """
        node = new or old
        if node is None:
            return
        name, version = node.metadata.name, node.metadata.resource_version
        fenced_at = self._fenced.pop(name, "")
        self._known_off.pop(name, None)
        if new is not None:
            if out_of_service(new):
                self._fenced[name] = version
            return
        how = known_off(node)
        if how and not (how == FENCED and version == fenced_at):
            self._known_off[name] = how

    async def reconcile(self, key: Key) -> Outcome:
        """Attach, detach, or say who waits for whom."""
        volume = self._view.volume(key.name)
        if volume is None:
            self._reported.pop(key.name, None)
            self._forget_shared(key.name)
            return Done()
        try:
            old, detached = attachment_of(volume), detached_of(volume)
        except InvalidAttachment as error:
            self._record_once(volume, ("unreadable",), events.unreadable(volume, str(error)))
            return Done()
        if old is None and not detached and not self._view.exclusive(volume):
            return Done()
        return await self._swap(volume, old, detached)

    async def _swap(
        self, volume: PersistentVolume, old: Attachment | None, detached: tuple[Attachment, ...]
    ) -> Outcome:
        users = self._view.users(volume) if self._view.exclusive(volume) else []
        self._report_shared(volume, users)
        listing = self._view.listing(volume)
        known, ended, reasons = await self._ended(volume, old)
        held = tuple([kept for one in detached if (kept := await self._still_held(volume, one, listing))])
        running = await self._running(volume, known, users, ended, held)
        barred = {one.node for one in held}
        new = next_attachment(
            known,
            users,
            ended,
            self._deps.clock.now(),
            lambda pod: self._has_those_before(pod, volume),
            running=running,
            barred=barred,
            listing=listing - barred,
        )
        if new is not None and new.node in listing and not new.listed:
            new = replace(new, listed=True)
        if new != old or held != detached:
            change = attachment_patch(volume, new, held if held != detached else None)
            try:
                await self._deps.client.patch(PERSISTENTVOLUMES, volume.metadata.name, change)
            except NotFound:
                return Done()
            self._seen_to_end -= ended
            if note := events.changed(volume, old, new):
                self._deps.recorder.record(note)
        if new is not None:
            self._report_waiting_pods(volume, new, users, "; ".join(sorted(set(reasons))))
        elif running:
            uids = sorted(pod.metadata.uid for pod in running)
            self._record_once(volume, ("contested", *uids), events.contested(volume, running))
            return Later(self._deps.clock.now() + RECHECK_INTERVAL)
        elif users and listing - barred:
            self._record_once(volume, ("listed", *sorted(listing)), events.listed(volume, sorted(listing)))
        return Done()

    async def _running(
        self,
        volume: PersistentVolume,
        old: Attachment | None,
        users: list[Pod],
        ended: set[str],
        held: tuple[Attachment, ...],
    ) -> list[Pod]:
        """The pods that run with the volume, where it is about to be given away or the record is in doubt.

        Those from which a person has taken it do not count: the person has confirmed that it was safe.
        """
        kept = old is not None and any(one.uid not in ended for one in old.pods)
        doubt = any(
            uses_volumes(pod) and not (old is not None and old.names(pod.metadata.uid)) for pod in users
        )
        if not users or (kept and not doubt):
            return []
        # While a record stands, whom it names is no proof: it may have been written by another client.
        named = set[str]() if kept else self._named.get(volume.metadata.uid, set())
        found = await running_users(self._deps.client, volume, named)
        return [pod for pod in found if not any(one.names(pod.metadata.uid) for one in held)]

    async def _ended(
        self, volume: PersistentVolume, old: Attachment | None
    ) -> tuple[Attachment | None, set[str], list[str]]:
        """The record as it is known now, which of its pods have ended for certain, and why others have not.

        A pod that is gone is first written down as such, with the boot ID of its node: from then on no node
        starts it, and only what a node reports after that can confirm its end.
        """
        if old is None:
            return None, set(), []
        ended, reasons, holders = set[str](), list[str](), list[Holder]()
        old = self._with_deletion(old)
        for holder in old.pods:
            pod = await self._find_pod(holder)
            if pod is not None and not is_given_up(pod):
                why, known = why_unconfirmed(pod, pod.spec.node_name or old.node), holder
            else:
                why, known = await self._look_at_gone(volume, old, holder)
            holders.append(known)
            if why:
                reasons.append(why)
            else:
                ended.add(holder.uid)
        return replace(old, pods=tuple(holders)), ended, reasons

    async def _look_at_gone(
        self, volume: PersistentVolume, old: Attachment, holder: Holder
    ) -> tuple[str, Holder]:
        seen = holder.uid in self._seen_to_end
        node = await self._read_node(old.node) if old.node and not seen else None
        why = why_gone_unconfirmed(volume, old, holder, node, seen_to_end=seen)
        boot = node.status.node_info.boot_id if node is not None else ""
        # A Node that was missing may come back: only what it reports after that is later than the removal.
        if seen or not old.node or (holder.gone and (holder.boot or not boot)):
            return why, holder
        return why or USES, replace(holder, gone=True, boot=boot)

    def _with_deletion(self, record: Attachment) -> Attachment:
        """With what was known when its Node was deleted, and without it once there is such a Node again."""
        if not record.node:
            return record
        if self._view.nodes.reader.get("", record.node) is not None:
            return replace(record, deleted="") if record.deleted else record
        how = self._known_off.get(record.node)
        return replace(record, deleted=how) if how else record

    async def _still_held(
        self, volume: PersistentVolume, taken: Attachment, listing: Collection[str]
    ) -> Attachment | None:
        """What was taken from a node that has not confirmed yet; None where it has."""
        if not taken.pods:  # no pod was known that used it there
            return taken if taken.node in listing else None
        known, _, reasons = await self._ended(volume, taken)
        return known if reasons else None

    async def _find_pod(self, holder: Holder) -> Pod | None:
        cached = self._view.pods.reader.get(holder.namespace, holder.name)
        if cached is not None and cached.metadata.uid == holder.uid and not cached.terminal:
            return cached
        return await self._read_pod(holder)

    async def _read_pod(self, holder: Holder) -> Pod | None:
        """What the server has under that UID: a cache that lags must not free a volume."""
        try:
            found = await self._deps.client.get(PODS, holder.name, holder.namespace, into=Pod)
        except NotFound:
            return None
        return found if found.metadata.uid == holder.uid else None

    async def _read_node(self, name: str) -> Node | None:
        try:
            return await self._deps.client.get(NODES, name, into=Node)
        except NotFound:
            return None

    def _has_those_before(self, pod: Pod, volume: PersistentVolume) -> bool:
        for other in self._view.exclusive_volumes(pod):
            if other.metadata.name >= volume.metadata.name:
                return True
            try:
                found = attachment_of(other)
            except InvalidAttachment:
                return False
            if found is None or not found.names(pod.metadata.uid):
                return False
        return True

    # What is reported

    def _forget_shared(self, name: str) -> None:
        self._shared.pop(name, None)
        self._deps.metrics.volumes_shared.set(len(self._shared))

    def _report_shared(self, volume: PersistentVolume, users: list[Pod]) -> None:
        """Pods that run with the volume on several nodes: on kubelets nothing but the gate prevents it."""
        running = list(filter(uses_volumes, users))
        nodes, name = {pod.spec.node_name for pod in running}, volume.metadata.name
        if len(nodes) < 2:
            self._forget_shared(name)
            return
        fresh = {pod.metadata.uid for pod in running} - self._shared.setdefault(name, set())
        self._shared[name] |= fresh
        self._deps.metrics.volumes_shared.set(len(self._shared))
        for pod in running if fresh else ():
            self._deps.recorder.record(events.shared(pod, volume, running))

    def _report_waiting_pods(
        self, volume: PersistentVolume, attached: Attachment, users: list[Pod], why: str
    ) -> None:
        waiting = [
            pod for pod in users
            if not attached.names(pod.metadata.uid) and not pod.terminating
            and pod.status.phase in ("", "Pending")
        ]  # fmt: skip
        unconfirmed = "" if why == USES else why
        if not waiting:
            self._reported.pop(volume.metadata.name, None)
            return
        state = (attached.node, unconfirmed, *sorted(pod.metadata.uid for pod in waiting))
        notes = [events.waiting(pod, volume, attached, unconfirmed) for pod in waiting]
        if unconfirmed:
            notes.append(events.held(volume, attached, unconfirmed))
        self._record_once(volume, state, *notes)

    def _record_once(self, volume: PersistentVolume, state: tuple[object, ...], *notes: EventNote) -> None:
        """Once for each state: the queue looks at a volume more often than anything changes."""
        if self._reported.get(volume.metadata.name) == state:
            return
        self._reported[volume.metadata.name] = state
        for note in notes:
            self._deps.recorder.record(note)
