"""The client: every verb as a method, over any transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, overload

from multidict import CIMultiDict

from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions, ListOptions, WatchOptions
from vacate.client import requests
from vacate.client.codec import Codec, Listing, codec_for, error_of
from vacate.client.transport import Transport
from vacate.client.watch import Watch
from vacate.errors import NotFound, TransportError
from vacate.wire.message import Request

T = TypeVar("T")

PAGE = 500
"""How many objects a page has, and are held at once, where a collection is read page by page."""

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
        self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions()
    ) -> Listing[Obj]: ...
    @overload
    async def list(
        self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions(), *, into: type[T]
    ) -> Listing[T]: ...
    async def list(
        self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions(), *, into: type[Any] = dict
    ) -> Listing[Any]:
        """Read a collection; with a limit a page of it, and the token of the next."""
        body = await self.send(requests.list_page(kind, namespace, options))
        return codec_for(into).decode_list(body)

    @overload
    def pages(
        self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions()
    ) -> AsyncIterator[Listing[Obj]]: ...
    @overload
    def pages(
        self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions(), *, into: type[T]
    ) -> AsyncIterator[Listing[T]]: ...
    async def pages(
        self, kind: Kind, namespace: str = "", options: ListOptions = ListOptions(), *, into: type[Any] = dict
    ) -> AsyncIterator[Listing[Any]]:
        """Read a whole collection, page by page."""
        token = ""
        while True:
            options = replace(options, limit=PAGE, continue_token=token)
            page = await self.list(kind, namespace, options, into=into)
            yield page
            if not (token := page.continue_token):
                return

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

    async def patch_status(self, kind: Kind, name: str, patch: Obj, namespace: str = "") -> Obj:
        """Change part of the status of a built-in object, as a strategic merge; return the whole."""
        how = requests.STRATEGIC_PATCH
        return await self.patch(kind, name, patch, namespace, patch_type=how, subresource="status")

    async def delete(
        self, kind: Kind, name: str, namespace: str = "", options: DeleteOptions = DeleteOptions()
    ) -> None:
        """Delete one object."""
        await self.send(requests.delete(kind, name, namespace, options))

    async def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        options: DeleteOptions = DeleteOptions(),
        listed: ListOptions = ListOptions(),
    ) -> None:
        """Delete every object that a list with the options `listed` shows."""
        await self.send(requests.delete_collection(kind, namespace, options, listed))

    async def evict(
        self,
        name: str,
        namespace: str,
        options: DeleteOptions = DeleteOptions(),
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Ask for a pod's eviction; a disruption budget may answer TooManyRequests."""
        await self.send(requests.evict(name, namespace, options, annotations))

    async def bind(self, name: str, namespace: str, node: str, *, uid: str = "") -> None:
        """Put a pod on a node."""
        await self.send(requests.bind(name, namespace, node, uid=uid))

    @overload
    def watch(
        self, kind: Kind, namespace: str = "", options: WatchOptions = WatchOptions()
    ) -> Watch[Obj]: ...
    @overload
    def watch(
        self, kind: Kind, namespace: str = "", options: WatchOptions = WatchOptions(), *, into: type[T]
    ) -> Watch[T]: ...
    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        options: WatchOptions = WatchOptions(),
        *,
        into: type[Any] = dict,
    ) -> Watch[Any]:
        """Follow a collection. Nothing is sent before the first read; close what this returns."""
        request = requests.watch(kind, namespace, options)
        return Watch(self._transport, self._signed(request), codec_for(into))

    async def resources(self, api_version: str) -> frozenset[str]:
        """The plurals of what a version of a group serves; none where the server does not have it."""
        headers = CIMultiDict({"Accept": "application/json"})
        try:
            found = _WHOLE.decode(await self.send(Request("GET", f"/apis/{api_version}", headers=headers)))
        except NotFound:
            return frozenset()
        return frozenset(one["name"] for one in found.get("resources") or ())

    async def serves(self, kind: Kind) -> bool:
        """Whether the server has the kind, which is one of a group."""
        return kind.plural in await self.resources(kind.api_version)

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
