"""The volume controller: binds claims to volumes that are there, and says in which phase both are.

There is no provisioner: volumes are made by people. A claim of a class that waits for the first consumer is
bound when a pod uses it that waits at no scheduling gate; the scheduler then follows the volume's node
affinity.
"""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES, Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.quantity import ZERO, Quantity, parse_quantity
from vacate.api.selectors.labels import selector_of
from vacate.api.types import PersistentVolume, PersistentVolumeClaim, Pod, StorageClass
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.embedded.registry.storage.claims import PROTECTION as CLAIM_PROTECTION
from vacate.embedded.registry.storage.persistentvolumes import PROTECTION as VOLUME_PROTECTION
from vacate.errors import NotFound
from vacate.kube.exclusivevolumes import binds_late
from vacate.kube.patches import guarded
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

CLAIM, OWNER = "claim", "owner"
_BOUND = {"pv.kubernetes.io/bound-by-controller": "yes", "pv.kubernetes.io/bind-completed": "yes"}


def build(deps: Dependencies) -> Controller:
    """The controller: its keys are claims, and volumes, which have no namespace."""
    informers = deps.informers
    claims = informers.informer(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim)
    volumes = informers.informer(PERSISTENTVOLUMES, PersistentVolume, indexes={OWNER: _owner})
    classes = informers.informer(STORAGECLASSES, StorageClass)
    pods = informers.informer(PODS, Pod, indexes={CLAIM: _claims})
    controller = VolumeController(deps)
    sources = (
        Source(claims),
        Source(claims, keys=controller.volumes_of),
        Source(volumes),
        Source(volumes, keys=controller.waiting_claims),
        Source(classes, keys=controller.waiting_claims),
        Source(pods, keys=_claims_of, when=_use_changed),
    )
    return Controller(
        "persistentvolume-binder", controller, sources, deps, workers=2, backoff=retry_backoff()
    )


class VolumeController:
    """Reconciles a claim or a volume."""

    def __init__(self, deps: Dependencies) -> None:
        informers = deps.informers
        self._client = deps.client
        self._claims = informers.informer(PERSISTENTVOLUMECLAIMS, PersistentVolumeClaim).reader
        self._volumes = informers.informer(PERSISTENTVOLUMES, PersistentVolume).reader
        self._classes = informers.informer(STORAGECLASSES, StorageClass).reader
        self._pods = informers.informer(PODS, Pod).reader

    def volumes_of(self, claim: PersistentVolumeClaim) -> Iterable[Key]:
        """The volumes that name the claim."""
        found = self._volumes.by_index(OWNER, f"{claim.metadata.namespace}/{claim.metadata.name}")
        return [Key("", one.metadata.name) for one in found]

    def waiting_claims(self, _: object) -> Iterable[Key]:
        """The claims that have no volume."""
        waiting = [one for one in self._claims.list() if one.status.phase != "Bound"]
        return [Key(one.metadata.namespace, one.metadata.name) for one in waiting]

    async def reconcile(self, key: Key) -> Outcome:
        """Look at a claim or at a volume."""
        try:
            if key.namespace:
                if (claim := self._claims.get(*key)) is not None:
                    await self._look_at_claim(claim)
            elif (volume := self._volumes.get(*key)) is not None:
                await self._look_at_volume(volume)
        except NotFound:
            return Done()
        return Done()

    # Claims

    async def _look_at_claim(self, claim: PersistentVolumeClaim) -> None:
        meta = claim.metadata
        used = self._pods.by_index(CLAIM, f"{meta.namespace}/{meta.name}")
        if meta.deletion_timestamp is not None:
            if not any(not pod.terminal for pod in used):
                await self._unprotect(PERSISTENTVOLUMECLAIMS, claim, CLAIM_PROTECTION)
            return
        if claim.status.phase == "Bound":
            return
        if claim.spec.storage_class_name is None:
            chosen = default_class(self._classes.list())
            if chosen is not None:
                patch = guarded(meta, {"spec": {"storageClassName": chosen.metadata.name}})
                await self._client.patch(PERSISTENTVOLUMECLAIMS, meta.name, patch, meta.namespace)
                return  # and is looked at again as that
        if self._waits_for_pod(claim) and all(pod.spec.scheduling_gates for pod in used):
            return
        volume = best_volume(claim, self._volumes.list())
        if volume is not None:
            await self._bind(claim, volume)

    def _waits_for_pod(self, claim: PersistentVolumeClaim) -> bool:
        found = self._classes.get("", claim.spec.storage_class_name or "")
        return binds_late(claim, found)

    async def _bind(self, claim: PersistentVolumeClaim, volume: PersistentVolume) -> None:
        """The volume first: of two claims one loses that write. Each step can be repeated."""
        meta, name = claim.metadata, volume.metadata.name
        owner = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": meta.namespace,
                 "name": meta.name, "uid": meta.uid, "resourceVersion": meta.resource_version}  # fmt: skip
        if volume.spec.claim_ref is None or volume.spec.claim_ref.uid != meta.uid:
            patch = guarded(
                volume.metadata, {"metadata": {"annotations": _BOUND}, "spec": {"claimRef": owner}}
            )
            await self._client.patch(PERSISTENTVOLUMES, name, patch)
        if claim.spec.volume_name != name:
            bound = {"metadata": {"annotations": _BOUND}, "spec": {"volumeName": name}}
            await self._client.patch(PERSISTENTVOLUMECLAIMS, meta.name, guarded(meta, bound), meta.namespace)
        status = {"phase": "Bound", "accessModes": volume.spec.access_modes, "capacity": volume.spec.capacity}
        await self._write_phase(PERSISTENTVOLUMECLAIMS, claim, status)

    # Volumes

    async def _look_at_volume(self, volume: PersistentVolume) -> None:
        phase = await self._phase(volume)
        if volume.metadata.deletion_timestamp is not None and phase != "Bound":
            await self._unprotect(PERSISTENTVOLUMES, volume, VOLUME_PROTECTION)
            return
        if phase != volume.status.phase:
            await self._write_phase(PERSISTENTVOLUMES, volume, {"phase": phase})
        if phase == "Released" and volume.spec.persistent_volume_reclaim_policy == "Delete":
            await self._client.delete(
                PERSISTENTVOLUMES, volume.metadata.name, options=DeleteOptions(uid=volume.metadata.uid)
            )

    async def _phase(self, volume: PersistentVolume) -> str:
        owner = volume.spec.claim_ref
        if owner is None or not owner.uid:
            return "Available"
        found = self._claims.get(owner.namespace, owner.name)
        if found is not None and found.metadata.uid == owner.uid:
            return "Bound"
        try:
            live = await self._client.get(
                PERSISTENTVOLUMECLAIMS, owner.name, owner.namespace, into=PersistentVolumeClaim
            )
        except NotFound:
            return "Released"
        return "Bound" if live.metadata.uid == owner.uid else "Released"

    async def _write_phase(
        self, kind: Kind, obj: PersistentVolume | PersistentVolumeClaim, status: Obj
    ) -> None:
        patch = {"metadata": {"uid": obj.metadata.uid}, "status": status}
        meta = obj.metadata
        await self._client.patch(kind, meta.name, patch, meta.namespace, subresource="status")

    async def _unprotect(
        self, kind: Kind, obj: PersistentVolume | PersistentVolumeClaim, finalizer: str
    ) -> None:
        meta = obj.metadata
        if finalizer not in meta.finalizers:
            return
        kept = [one for one in meta.finalizers if one != finalizer]
        patch = guarded(meta, {"metadata": {"finalizers": kept or None}})
        await self._client.patch(kind, meta.name, patch, meta.namespace)


def _owner(volume: PersistentVolume) -> Iterable[str]:
    owner = volume.spec.claim_ref
    return (f"{owner.namespace}/{owner.name}",) if owner is not None else ()


def _claims(pod: Pod) -> Iterable[str]:
    return [f"{pod.metadata.namespace}/{claim}" for claim in pod.claims]


def _claims_of(pod: Pod) -> Iterable[Key]:
    return [Key(pod.metadata.namespace, claim) for claim in pod.claims]


def _use_changed(old: Pod | None, new: Pod | None) -> bool:
    pod = new or old
    if pod is None or not pod.claims:
        return False
    if old is None or new is None or old.terminal != new.terminal:
        return True
    return bool(old.spec.scheduling_gates) != bool(new.spec.scheduling_gates)


DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"


def best_volume(claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume]) -> PersistentVolume | None:
    """The volume for the claim; one that is kept for it before all others."""
    fitting = [one for one in volumes if is_free_for(one, claim) and _offers(one, claim)]
    return min(
        fitting,
        key=lambda one: (one.spec.claim_ref is None, _size(one).value(), one.metadata.name),
        default=None,
    )


def is_free_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether nobody else has the volume."""
    owner, meta = volume.spec.claim_ref, claim.metadata
    if volume.metadata.deletion_timestamp is not None:
        return False
    if owner is None:
        return True
    return (owner.namespace, owner.name) == (meta.namespace, meta.name) and owner.uid in ("", meta.uid)


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    """The class of claims that name none: of several the newest."""
    marked = [one for one in classes if one.metadata.annotations.get(DEFAULT_CLASS) == "true"]
    return max(
        marked, key=lambda one: (str(one.metadata.creation_timestamp), one.metadata.name), default=None
    )


def _offers(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    spec, wanted = volume.spec, claim.spec
    if wanted.volume_name and wanted.volume_name != volume.metadata.name:
        return False
    if wanted.selector is not None and not selector_of(wanted.selector).matches(volume.metadata.labels):
        return False
    asked = _quantity(wanted.resources.requests.get("storage"))
    return (
        spec.storage_class_name == (wanted.storage_class_name or "")
        and spec.volume_mode == wanted.volume_mode
        and set(wanted.access_modes) <= set(spec.access_modes)
        and not _size(volume) < asked
    )


def _size(volume: PersistentVolume) -> Quantity:
    return _quantity(volume.spec.capacity.get("storage"))


def _quantity(text: str | int | float | None) -> Quantity:
    try:
        return ZERO if text is None else parse_quantity(text)
    except ValueError:
        return ZERO
