"""Dry runs: the same requests, of which the server checks everything and keeps nothing."""

from __future__ import annotations

from dataclasses import replace

import msgspec
from multidict import CIMultiDict, MultiDict

from vacate.api.options import DRY_RUN_ALL
from vacate.client.transport import Transport
from vacate.wire.message import Request, Response

_QUESTIONS = ("/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/")
"""What is created there is an answer, and nothing is kept anyway."""


class DryRunTransport:
    """Wraps a transport, and makes each write a dry run."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        """Carry the request, as a dry run where it would write."""
        if request.method not in ("GET", "HEAD") and not request.path.startswith(_QUESTIONS):
            request = _dry(request)
        return await self._transport.send(request)

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()


def _dry(request: Request) -> Request:
    query = MultiDict(request.query)
    query["dryRun"] = "All"
    if request.method != "DELETE":
        return replace(request, query=query)
    # With options in the body of a deletion, servers do not look at the query.
    given = msgspec.json.decode(request.body or b'{"apiVersion":"v1","kind":"DeleteOptions"}')
    body = msgspec.json.encode({**given, "dryRun": DRY_RUN_ALL})
    headers = CIMultiDict(request.headers)
    headers["Content-Type"] = "application/json"
    return replace(request, query=query, headers=headers, body=body)
