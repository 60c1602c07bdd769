"""The client: every verb as a method, over any transport."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from multidict import CIMultiDict

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.client import requests
from vacate.client.codec import Codec, Listing, codec_for, error_of
from vacate.client.transport import Transport
from vacate.client.watch import Watch
from vacate.errors import TransportError
from vacate.wire.message import Request

T = TypeVar("T")

_WHOLE: Codec[Obj] = codec_for(dict)


class Client:
    """Speaks to one API server as one user.

    Refusals raise the ApiError that the server's Status describes, with its `retry_after_seconds`; the client
    never waits or retries by itself. No answer at all is a TransportError. `into` names the projection to
    decode into; without it whole objects come as dicts.
    """

    def __init__(self, transport: Transport, *, user_agent: str = "vacate") -> None:
        self._transport = transport
        self._user_agent = user_agent

    @overload
    async def get(self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "") -> Obj: ...
    @overload
    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "", into: type[T]
    ) -> T: ...
    async def get(
        self, kind: Kind, name: str, namespace: str = "", *, subresource: str = "", into: type[Any] = dict
    ) -> Any:
        """Read one object."""
        body = await self.send(requests.get(kind, name, namespace, subresource=subresource))
        return codec_for(into).decode(body)

    @overload
    async def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
    ) -> Listing[Obj]: ...
    @overload
    async def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        into: type[T],
    ) -> Listing[T]: ...
    async def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
        resource_version: str = "",
        into: type[Any] = dict,
    ) -> Listing[Any]:
        """Read a collection; with a limit a page of it, and the token of the next."""
        request = requests.list_page(
            kind,
            namespace,
            label_selector=label_selector,
            field_selector=field_selector,
            limit=limit,
            continue_token=continue_token,
            resource_version=resource_version,
        )
        return codec_for(into).decode_list(await self.send(request))

    async def create(self, kind: Kind, obj: Obj, namespace: str = "", *, dry_run: bool = False) -> Obj:
        """Make an object and return it as the server keeps it."""
        return _WHOLE.decode(await self.send(requests.create(kind, obj, namespace, dry_run=dry_run)))

    async def update(self, kind: Kind, obj: Obj, *, subresource: str = "", dry_run: bool = False) -> Obj:
        """Replace an object by a whole one."""
        request = requests.update(kind, obj, subresource=subresource, dry_run=dry_run)
        return _WHOLE.decode(await self.send(request))

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: Any,
        namespace: str = "",
        *,
        patch_type: str = requests.MERGE_PATCH,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Obj:
        """Change part of an object and return the whole."""
        request = requests.patch(
            kind, name, patch, namespace, patch_type=patch_type, subresource=subresource, dry_run=dry_run
        )
        return _WHOLE.decode(await self.send(request))

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        grace_period_seconds: int | None = None,
        uid: str = "",
        resource_version: str = "",
        propagation_policy: str = "",
        dry_run: bool = False,
        reason: str = "",
    ) -> None:
        """Delete one object; uid and resource_version are preconditions.

        A reason is kept by servers with PodTerminationReason and dropped by others.
        """
        options = requests.delete_options(
            grace_period_seconds=grace_period_seconds,
            uid=uid,
            resource_version=resource_version,
            propagation_policy=propagation_policy,
            dry_run=dry_run,
            reason=reason,
        )
        await self.send(requests.delete(kind, name, namespace, options))

    async def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period_seconds: int | None = None,
        propagation_policy: str = "",
    ) -> None:
        """Delete every object of a collection that the selectors match."""
        options = requests.delete_options(
            grace_period_seconds=grace_period_seconds, propagation_policy=propagation_policy
        )
        request = requests.delete_collection(
            kind, namespace, label_selector=label_selector, field_selector=field_selector, options=options
        )
        await self.send(request)

    async def evict(
        self,
        name: str,
        namespace: str,
        *,
        uid: str = "",
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
        annotations: Mapping[str, str] | None = None,
        reason: str = "",
    ) -> None:
        """Ask for a pod's eviction; a disruption budget may answer TooManyRequests."""
        options = requests.delete_options(
            grace_period_seconds=grace_period_seconds, uid=uid, dry_run=dry_run, reason=reason
        )
        await self.send(requests.evict(name, namespace, options, annotations))

    async def bind(self, name: str, namespace: str, node: str, *, uid: str = "") -> None:
        """Put a pod on a node."""
        await self.send(requests.bind(name, namespace, node, uid=uid))

    @overload
    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 0,
        send_initial_events: bool = False,
    ) -> Watch[Obj]: ...
    @overload
    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 0,
        send_initial_events: bool = False,
        into: type[T],
    ) -> Watch[T]: ...
    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 0,
        send_initial_events: bool = False,
        into: type[Any] = dict,
    ) -> Watch[Any]:
        """Follow a collection. Nothing is sent before the first read; close what this returns."""
        request = requests.watch(
            kind,
            namespace,
            resource_version=resource_version,
            label_selector=label_selector,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
            send_initial_events=send_initial_events,
        )
        return Watch(self._transport, self._signed(request), codec_for(into))

    async def send(self, request: Request) -> bytes:
        """Send any request whose answer is not a stream; return the body of a success."""
        response = await self._transport.send(self._signed(request))
        body = response.body
        if not isinstance(body, bytes):
            await body.aclose()
            raise TransportError(f"{request.method} {request.path} was answered with a stream")
        if response.status >= 300:
            raise error_of(response.status, body, response.headers.get("Retry-After", ""))
        return body

    async def aclose(self) -> None:
        """Close the transport."""
        await self._transport.aclose()

    def _signed(self, request: Request) -> Request:
        if isinstance(request.headers, CIMultiDict):
            request.headers.setdefault("User-Agent", self._user_agent)
        return request
