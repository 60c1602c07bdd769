"""What an installation says to an API server about single objects, of kinds that are known and others."""

from __future__ import annotations

import msgspec
from multidict import CIMultiDict, MultiDict

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.options import DRY_RUN_ALL, DeleteOptions
from vacate.client.client import Client
from vacate.client.codec import loads
from vacate.errors import NotFound, TooManyRequests
from vacate.install.objectkinds import kind_of, path_of
from vacate.wire.message import Request

FIELD_MANAGER = "vacate-install"
"""Under this name an API server notes which fields are from `vacate install`."""

_APPLY = "application/apply-patch+yaml"


async def existing(client: Client, obj: Obj) -> Obj | None:
    """The object as it is in the cluster, None where it or its kind is not there."""
    try:
        return await read(client, path_of(obj))
    except NotFound:
        return None


async def read(client: Client, path: str) -> Obj:
    """Whatever is served at a path, as JSON."""
    headers = CIMultiDict({"Accept": "application/json"})
    return loads(await client.send(Request("GET", path, MultiDict(), headers)))


async def applied(client: Client, obj: Obj, *, dry_run: bool = False) -> Obj:
    """Apply the object on the server, so that what others wrote there stays; how it is afterwards."""
    query = MultiDict({"fieldManager": FIELD_MANAGER, "force": "true"})
    if dry_run:
        query["dryRun"] = "All"
    headers = CIMultiDict({"Accept": "application/json", "Content-Type": _APPLY})
    request = Request("PATCH", path_of(obj), query, headers, msgspec.json.encode(obj))
    return loads(await client.send(request))


async def deleted(client: Client, obj: Obj, *, uid: str = "", dry_run: bool = False) -> bool:
    """Delete the object, or exactly the one with that uid; False where it was gone already."""
    kind, meta = kind_of(obj), obj["metadata"]
    options = DeleteOptions(propagation_policy="Background", uid=uid, dry_run=DRY_RUN_ALL if dry_run else ())
    try:
        await client.delete(kind, meta["name"], meta.get("namespace", ""), options)
    except NotFound:
        return False
    return True


async def counted_objects(client: Client, kind: Kind, namespace: str = "") -> int | None:
    """How many objects of a kind of Vacate's own there are; None while the server does not answer for it."""
    try:
        return len((await client.list(kind, namespace)).items)
    except (NotFound, TooManyRequests):  # the second while it begins to serve a kind
        return None
