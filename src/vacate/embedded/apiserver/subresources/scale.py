"""The scale of a workload: `autoscaling/v1 Scale`, a small window onto the object's spec and status."""

from __future__ import annotations

from typing import Any

from vacate.api import status
from vacate.api.fielderrors import invalid
from vacate.api.kinds import Kind
from vacate.api.objects import Obj, dig
from vacate.api.selectors.labels import selector_of
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.patch import apply_patch
from vacate.embedded.apiserver.request.body import read_body
from vacate.embedded.apiserver.request.revisions import wait_until_fresh
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.response.stored import decode
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources.body import as_kind, field
from vacate.embedded.apiserver.verbs.update import admit, check_address
from vacate.embedded.store.types import Entry, Key
from vacate.errors import Conflict
from vacate.wire.mediatypes import media_type
from vacate.wire.message import Response

SCALE = Kind("autoscaling", "v1", "Scale", "scales", "scale", namespaced=True)
_SHOWN_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


async def get_scale(storage: Storage, call: Call) -> Response:
    """The committed scale."""
    wanted = call.request.query.get("resourceVersion", "")
    if wanted and wanted != "0":
        await wait_until_fresh(storage, wanted)
    entry = storage.store.get(Key(call.kind.resource, call.namespace, call.name))
    if entry is None:
        raise status.not_found(call.kind, call.name)
    return respond.unstored(call, scale_of(decode(call.kind, entry)))


async def update_scale(storage: Storage, call: Call) -> Response:
    """Set the number of replicas."""
    scale = read_scale(read_body(call.request))
    check_address(scale, call)
    return await _write(storage, call, scale, *storage.current(call.kind, call.namespace, call.name))


async def patch_scale(storage: Storage, call: Call) -> Response:
    """Change the scale, which the patch sees as an object of its own."""
    entry, old = storage.current(call.kind, call.namespace, call.name)
    form = media_type(call.request.headers.get("Content-Type", ""))
    patched = apply_patch(form, SCALE, scale_of(old), call.request.body)
    scale = read_scale(patched)
    check_address(scale, call)
    return await _write(storage, call, scale, entry, old)


def scale_of(workload: Obj) -> Obj:
    """The scale that a workload shows."""
    meta = workload["metadata"]
    replicas = dig(workload, "spec", "replicas") or 0
    scale: Obj = {"kind": SCALE.kind, "apiVersion": SCALE.api_version}
    scale["metadata"] = {key: meta[key] for key in _SHOWN_METADATA if key in meta}
    scale["spec"] = {"replicas": replicas} if replicas else {}
    scale["status"] = {"replicas": dig(workload, "status", "replicas") or 0}
    selector = str(selector_of(dig(workload, "spec", "selector")))
    if selector:
        scale["status"]["selector"] = selector
    return scale


def read_scale(value: Any) -> Obj:
    """A body as a Scale; fields of a wrong type are a bad request."""
    scale = as_kind(value, SCALE.kind, (SCALE.api_version,))
    spec = field(SCALE.kind, scale, "spec", "map") or {}
    replicas = field(SCALE.kind, spec, "replicas", "int32", at="spec.")
    return {**scale, "spec": {"replicas": replicas or 0}}


async def _write(storage: Storage, call: Call, scale: Obj, entry: Entry, old: Obj) -> Response:
    new = admit(storage, call, _rescaled(call, scale, old), old)
    storage.policies.admit(call, scale_of(new), scale_of(old))
    if call.dry_run:
        return respond.unstored(call, scale_of(new))
    written = await storage.write_update(call.kind, new, entry)
    return respond.unstored(call, scale_of(decode(call.kind, written)))


def _rescaled(call: Call, scale: Obj, old: Obj) -> Obj:
    """The workload with the scale's replicas and resourceVersion, everything else as it is."""
    replicas = scale["spec"]["replicas"]
    if replicas < 0:
        field_error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(SCALE, call.name, [field_error])
    meta, given = dict(old["metadata"]), scale["metadata"]
    if given.get("uid") and given["uid"] != meta["uid"]:
        raise _other_object(call, given["uid"], meta["uid"])
    meta["resourceVersion"] = given.get("resourceVersion", "")
    return {**old, "metadata": meta, "spec": {**old["spec"], "replicas": replicas}}


def _other_object(call: Call, wanted: str, found: str) -> Conflict:
    resource = f"{call.kind.plural}/scale"
    why = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"
    return Conflict(
        f'Operation cannot be fulfilled on {resource}.{call.kind.group} "{call.name}": {why}',
        details={"name": call.name, "group": call.kind.group, "kind": resource},
    )
