"""Which subresources have verbs of their own; the others go the way of the object itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.options import LOG_FLAGS, LogOptions, flag
from vacate.api.untyped import maps
from vacate.embedded.apiserver.call import Call
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources.binding import bind
from vacate.embedded.apiserver.subresources.eviction import evict
from vacate.embedded.apiserver.subresources.scale import get_scale, patch_scale, update_scale
from vacate.embedded.apiserver.subresources.token import issue_token
from vacate.errors import BadRequest, InternalError, NotFound, TransportError
from vacate.nodeagent.containerlogs import chosen_run, read_log
from vacate.nodeagent.logservice import PREFIX
from vacate.wire.message import Response


async def get_log(storage: Storage, call: Call) -> Response:
    """The whole log or its end; with `follow` also what is printed from now on, until the container ends."""
    query = call.request.query
    options = LogOptions.of(query, call.name, storage.clock.now())
    pod = storage.current(PODS, call.namespace, call.name)[1]
    container = _container(pod, query.get("container", ""))
    uid, node = pod["metadata"]["uid"], str(dig(pod, "spec", "nodeName") or "")
    files = storage.logs(node, uid, container) if storage.logs is not None else []
    if not files and (where := _endpoint(storage, node)) is not None:
        return await _from_node(storage, call, container, where)
    if storage.logs is None:
        raise NotFound(f'pod "{call.name}" has no log: simulated nodes run no processes', details={})
    path = chosen_run(files, options, container, call.name)
    return read_log(path, options, lambda: _runs(storage, call, uid, container), storage.clock)


def _endpoint(storage: Storage, node: str) -> tuple[str, int] | None:
    """Where a node says that it serves logs."""
    found = storage.lookup(NODES, "", node) if node else None
    port = dig(found or {}, "status", "daemonEndpoints", "kubeletEndpoint", "Port")
    addresses = maps(dig(found or {}, "status", "addresses"))
    address = next((one.get("address") for one in addresses if one.get("type") == "InternalIP"), None)
    return (str(address), port) if address and type(port) is int and 0 < port < 65536 else None


async def _from_node(storage: Storage, call: Call, container: str, where: tuple[str, int]) -> Response:
    if storage.node_logs is None:
        raise NotFound(f'pod "{call.name}" has no log: this server asks no nodes', details={})
    query = call.request.query.copy()
    query.pop("container", None)
    query.update({key: "true" if flag(query, key) else "false" for key in LOG_FLAGS if key in query})
    path = f"{PREFIX}{call.namespace}/{call.name}/{container}"
    try:
        return await storage.node_logs(*where, path, query)
    except TransportError as error:
        raise InternalError(f"the node of the pod does not answer: {error}") from None


def _runs(storage: Storage, call: Call, uid: str, container: str) -> bool:
    try:
        pod = storage.current(PODS, call.namespace, call.name)[1]
    except NotFound:
        return False
    return pod["metadata"]["uid"] == uid and dig(_status(pod, container), "state", "running") is not None


def _container(pod: Obj, asked: str) -> str:
    name = pod["metadata"]["name"]
    spec = pod.get("spec") or {}
    main = [one["name"] for one in spec.get("containers") or ()]
    everyone = main + [one["name"] for one in spec.get("initContainers") or ()]
    if asked:
        if asked not in everyone:
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    if len(main) != 1:
        choices = " ".join(main)
        raise BadRequest(f"a container name must be specified for pod {name}, choose one of: [{choices}]")
    return str(main[0])


def _status(pod: Obj, container: str) -> Obj:
    status = pod.get("status") or {}
    statuses = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return next((one for one in statuses if one.get("name") == container), {})


Handler = Callable[[Storage, Call], Awaitable[Response]]

_SCALE: Mapping[str, Handler] = {"get": get_scale, "update": update_scale, "patch": patch_scale}

SUBRESOURCES: Mapping[tuple[str, str], Mapping[str, Handler]] = {
    ("pods", "eviction"): {"create": evict},
    ("pods", "binding"): {"create": bind},
    ("pods", "log"): {"get": get_log},
    ("serviceaccounts", "token"): {"create": issue_token},
    ("deployments", "scale"): _SCALE,
    ("replicasets", "scale"): _SCALE,
    ("statefulsets", "scale"): _SCALE,
}
"""By the kind's plural and the subresource's name: what each verb does."""
