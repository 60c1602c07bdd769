"""Who the API server takes the caller for, and what the caller may do."""

from __future__ import annotations

from vacate.api.kinds import SELFSUBJECTACCESSREVIEWS, SELFSUBJECTREVIEWS, Kind
from vacate.api.objects import dig
from vacate.client.client import Client


async def own_user(client: Client) -> str:
    """The user name of the caller; empty where the answer has none."""
    review = await client.create(SELFSUBJECTREVIEWS, {})
    return str(dig(review, "status", "userInfo", "username") or "")


async def may(client: Client, kind: Kind, verb: str, namespace: str) -> bool:
    """Whether the caller may do that in the namespace, or in all of them where it is empty."""
    attributes = {"group": kind.group, "resource": kind.plural, "verb": verb, "namespace": namespace}
    review = await client.create(SELFSUBJECTACCESSREVIEWS, {"spec": {"resourceAttributes": attributes}})
    return bool(dig(review, "status", "allowed"))
