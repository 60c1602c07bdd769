"""Deletes a pod with a termination reason, on servers that have a field for it and on those that have not."""

from __future__ import annotations

import msgspec

from vacate.api.kinds import PODS
from vacate.api.objects import dig
from vacate.api.options import DRY_RUN_ALL, DeleteOptions
from vacate.api.terminationreason import ANNOTATION, SOURCE_ANNOTATION
from vacate.client import requests
from vacate.client.client import Client
from vacate.errors import ApiError, Conflict, NotFound


async def delete_with_reason(
    client: Client,
    name: str,
    namespace: str,
    *,
    uid: str,
    reason: str,
    grace_period_seconds: int | None = None,
) -> None:
    """Delete the pod. Where the server drops the reason, it is written as an annotation first.

    The annotation is taken back where the deletion is refused, so that a later one does not carry it.
    """
    kept = await keeps_reasons(client, name, namespace, uid)
    if not kept:
        await annotate_reason(client, name, namespace, uid, reason)
    try:
        await client.delete(
            PODS,
            name,
            namespace,
            DeleteOptions(uid=uid, reason=reason, grace_period_seconds=grace_period_seconds),
        )
    except (NotFound, Conflict):
        raise  # the pod is gone, and the annotation with it
    except ApiError:
        if not kept:
            await annotate_reason(client, name, namespace, uid, None)
        raise


async def keeps_reasons(client: Client, name: str, namespace: str, uid: str) -> bool:
    """Whether the server has `DeleteOptions.reason`: it shows the field in the answer to a dry run."""
    options = DeleteOptions(uid=uid, reason="Dry run", dry_run=DRY_RUN_ALL)
    answer = msgspec.json.decode(await client.send(requests.delete(PODS, name, namespace, options)))
    return bool(dig(answer, "metadata", "reason") == "Dry run")


async def annotate_reason(
    client: Client, name: str, namespace: str, uid: str, reason: str | None, *, source: str | None = None
) -> None:
    """Write the annotation that stands for the field, or remove it; Conflict for another pod of the name.

    A reason with a source was not given by a person: another cause may replace it.
    """
    change = {"metadata": {"uid": uid, "annotations": {ANNOTATION: reason, SOURCE_ANNOTATION: source}}}
    await client.patch(PODS, name, change, namespace)
