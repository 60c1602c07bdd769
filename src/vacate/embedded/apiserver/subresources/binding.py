"""POST pods/NAME/binding: put a pod on a node, once."""

from __future__ import annotations

import datetime as dt

from vacate.api import names
from vacate.api.fielderrors import ErrorType, FieldError, invalid, required
from vacate.api.kinds import PODS
from vacate.api.objects import Obj, dig
from vacate.embedded import schema
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.response import objects as respond
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources.body import field, read_posted
from vacate.embedded.registry.core.pods.topology import add_topology
from vacate.errors import BadRequest, Conflict, InternalError
from vacate.kube.conditions import with_pod_condition
from vacate.wire.message import Response

_VERSIONS = ("v1",)


async def bind(storage: Storage, call: Call) -> Response:
    """Assign the pod to the target node, if it is free to be assigned."""
    binding = read_posted(storage, call, "Binding", _VERSIONS)
    if binding["metadata"].get("name", "") != call.name:
        raise BadRequest("name in URL does not match name in Binding object")
    _check_target(binding)
    dry_run = call.dry_run
    storage.policies.admit(call, binding, None)
    entry, pod = storage.current(PODS, call.namespace, call.name)
    _check_preconditions(binding, pod)
    _check_free(pod)
    if binding["target"].get("kind") == "Node":
        add_topology(binding, binding["target"]["name"], storage.lookup)
    assigned = assign(pod, binding, call.now)
    schema.complete(PODS, assigned)
    if not dry_run:
        await storage.write_update(PODS, assigned, entry)
    return respond.success(201)


def assign(pod: Obj, binding: Obj, now: dt.datetime) -> Obj:
    """The pod on its node, with what the binding says about it; the input stays as it is."""
    meta, bound = dict(pod["metadata"]), binding["metadata"]
    for key in ("annotations", "labels"):
        if bound.get(key):
            meta[key] = {**(meta.get(key) or {}), **bound[key]}
    spec = {**(pod.get("spec") or {}), "nodeName": binding["target"]["name"]}
    status = {key: value for key, value in (pod.get("status") or {}).items() if key != "nominatedNodeName"}
    return with_pod_condition({**pod, "metadata": meta, "spec": spec, "status": status}, "PodScheduled", now)


def _check_target(binding: Obj) -> None:
    """A bad target is an error of the server's own to the client, as the real one has it."""
    target = field("Binding", binding, "target", "map") or {}
    kind, name = (field("Binding", target, key, "string", at="target.") or "" for key in ("kind", "name"))
    field_errors = []
    if kind not in ("", "Node"):
        known = 'supported values: "Node", "<empty>"'
        field_errors.append(FieldError("target.kind", ErrorType.NOT_SUPPORTED, known, kind))
    if not name:
        field_errors.append(required("target.name"))
    elif kind in ("", "Node"):
        field_errors += [
            invalid("target.name", name, complaint) for complaint in names.dns1123_subdomain(name)
        ]
    if field_errors:
        errors = ", ".join(map(str, field_errors))
        raise InternalError(errors if len(field_errors) == 1 else f"[{errors}]", reason="")


def _check_preconditions(binding: Obj, pod: Obj) -> None:
    wanted, found = binding["metadata"], pod["metadata"]
    for what, key in (("UID", "uid"), ("ResourceVersion", "resourceVersion")):
        if wanted.get(key) and wanted[key] != found.get(key, ""):
            why = (
                "StorageError: invalid object, Code: 4, "
                f"Key: /registry/pods/{found['namespace']}/{found['name']}, ResourceVersion: 0, "
                f"AdditionalErrorMsg: Precondition failed: {what} in precondition: {wanted[key]}, "
                f"{what} in object meta: {found.get(key, '')}"
            )
            raise _conflict("pods", found["name"], why)


def _check_free(pod: Obj) -> None:
    name, node = pod["metadata"]["name"], dig(pod, "spec", "nodeName")
    why = ""
    if dig(pod, "metadata", "deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif node:
        why = f'pod {name} is already assigned to node "{node}"'
    elif dig(pod, "spec", "schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise _conflict("pods/binding", name, why)


def _conflict(resource: str, name: str, why: str) -> Conflict:
    return Conflict(
        f'Operation cannot be fulfilled on {resource} "{name}": {why}',
        details={"name": name, "kind": resource},
    )
