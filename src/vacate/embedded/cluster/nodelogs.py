"""Logs of nodes that are processes of their own: asked for over HTTPS, as kube-apiserver asks kubelets.

Like kube-apiserver without `--kubelet-certificate-authority` it does not verify the node's certificate.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from multidict import CIMultiDict

from vacate.client.config import ClusterConfig
from vacate.client.http import HttpTransport
from vacate.client.http import Limits as ClientLimits
from vacate.clock import PassiveClock
from vacate.pki.issue import KeyPair
from vacate.wire.message import Query, Request, Response, Stream

_MAX_SILENT_SECONDS = 365 * 86_400.0  # a container may print nothing for as long as it likes


class NodeLogs:
    """Asks nodes, with the API server's certificate as a client."""

    def __init__(self, identity: KeyPair, clock: PassiveClock) -> None:
        self._identity, self._clock = identity, clock

    async def __call__(self, host: str, port: int, path: str, query: Query) -> Response:
        """What the node answers; TransportError where it does not."""
        name = f"[{host}]" if ":" in host else host
        config = ClusterConfig(
            f"https://{name}:{port}",
            insecure=True,
            client_certificate=self._identity.certificate_pem,
            client_key=self._identity.key_pem,
        )
        transport = HttpTransport(config, self._clock, ClientLimits(silence_seconds=_MAX_SILENT_SECONDS))
        try:
            answer = await transport.send(Request("GET", path, query, CIMultiDict(), b""))
        except BaseException:
            await transport.aclose()
            raise
        if isinstance(answer.body, bytes):
            await transport.aclose()
            return Response(answer.status, answer.body, answer.content_type)
        return Response(answer.status, _Passed(answer.body, transport), answer.content_type)


class _Passed:
    """A stream from a node; its connection is closed with it."""

    def __init__(self, stream: Stream, transport: HttpTransport) -> None:
        self._stream, self._transport = stream, transport

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        """Close both."""
        await self._stream.aclose()
        await self._transport.aclose()
