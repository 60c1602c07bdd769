"""The pods that run with a volume, as the server has them now.

The record of a volume is an annotation: every account that may write volumes can remove or replace it. And a
cache may lag. So before a volume is given to a node, the server is asked which pods run with it elsewhere.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

from vacate.api.kinds import PODS
from vacate.api.types import PersistentVolume, Pod
from vacate.client.client import Client
from vacate.client.codec import codec_for
from vacate.errors import UnreadableObject
from vacate.kube.exclusivevolumes import has_started

RECHECK_INTERVAL = dt.timedelta(seconds=15)
"""When a volume is looked at again that pods run with against its record."""


async def running_users(client: Client, volume: PersistentVolume, named: Collection[str] = ()) -> list[Pod]:
    """The pods of the volume's claim that run on a node, or may, and have not ended.

    `named` are the UIDs of pods that a record has named: their node may have started them unreported.
    """
    claim = volume.spec.claim_ref
    found = list[Pod]()
    if claim is None:
        return found
    async for page in client.pages(PODS, claim.namespace):
        for whole in page.items:
            try:
                pod = codec_for(Pod).convert(whole)
            except UnreadableObject:
                continue  # as in caches: one that cannot be read harms only itself
            uses = pod.spec.node_name and not pod.terminal and claim.name in pod.claims
            if uses and (has_started(pod) or pod.metadata.uid in named):
                found.append(pod)
    return found
