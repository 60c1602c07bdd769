"""What the decision about a direct eviction needs of the cluster, read one thing at a time."""

from __future__ import annotations

from dataclasses import replace

from vacate.admission.pods.bridge import BridgeConfig, EvictionReview, Lookup, LookupResults, Unread
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, NODES, PODS, Kind
from vacate.api.objects import Obj, dig
from vacate.api.options import ListOptions
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.client.client import Client
from vacate.errors import ConfigError, Forbidden, NotFound
from vacate.eviction.callers import POD_LABEL, pod_label
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import dialect_with
from vacate.runtime.podrequests import read_process


class BridgeReader:
    """Reads from the server itself: a cache could be of a time before the pod was created again."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def more(
        self, known: LookupResults, lookup: Lookup, review: EvictionReview, config: BridgeConfig
    ) -> LookupResults:
        """What is known, with what the lookup asks for."""
        match lookup:
            case Lookup.POD:
                return replace(known, pod=await self._pod(review))
            case Lookup.REQUEST:
                uid = str(known.pod["metadata"]["uid"]) if isinstance(known.pod, dict) else ""
                if isinstance(known.pod, dict) and config.dialect_for(known.pod) is LIFECYCLE:
                    return await self._lifecycle(known, known.pod, review)
                request = await self.request(review.namespace, uid)
                if config.evacuations and (request is None or request.complete):
                    name = EVACUATION.request_name(review.name, uid)
                    request = await self.request(review.namespace, name, EVACUATIONS) or request
                return replace(known, request=request)
            case Lookup.BESIDE:
                pod = known.pod if isinstance(known.pod, dict) else {}
                return replace(known, beside=await self._process(pod, review))
            case Lookup.NAMESAKES:
                found = await self._client.list(
                    EVICTIONREQUESTS,
                    review.namespace,
                    ListOptions(label_selector=f"{POD_LABEL}={pod_label(review.name)}"),
                    into=EvictionRequest,
                )
                return replace(known, namesakes=tuple(found.items))
            case Lookup.NODE:
                return replace(known, node=await self._node(known.pod))

    async def _lifecycle(self, known: LookupResults, pod: Obj, review: EvictionReview) -> LookupResults:
        """The pod's Eviction, which has the names of its responders as labels, and the caller's request."""
        uid, own = str(pod["metadata"]["uid"]), LIFECYCLE.for_requester(review.requester(LIFECYCLE.kind))
        process = await self._process(pod, review)
        asked = await self.request(review.namespace, own.request_name(review.name, uid), own.kind)
        return replace(known, request=process, own=asked)

    async def _process(self, pod: Obj, review: EvictionReview) -> EvictionRequest | None:
        last, uid = LIFECYCLE.registration(pod).interceptors[-1], str(pod["metadata"]["uid"])
        return await read_process(self._client, LIFECYCLE, review.namespace, uid, last)

    async def _pod(self, review: EvictionReview) -> Obj | None:
        try:
            return await self._client.get(PODS, review.name, review.namespace)
        except (NotFound, ConfigError):  # no object can have such a name
            return None

    async def _node(self, pod: Obj | Unread | None) -> Obj | None:
        """None too where roles of an earlier installation do not allow to read it."""
        try:
            return await self._client.get(NODES, str(dig(pod, "spec", "nodeName")))
        except (NotFound, Forbidden, ConfigError):
            return None

    async def request(
        self, namespace: str, name: str, kind: Kind = EVICTIONREQUESTS
    ) -> EvictionRequest | None:
        """The record of the request of that name; None where there is none."""
        dialect = dialect_with(kind)
        try:
            return dialect.read(await self._client.get(kind, name, namespace, into=dialect.wire))
        except NotFound:
            return None
