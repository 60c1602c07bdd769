"""One POST of JSON to a service, and its answer, within limits."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vacate.api.text import plain
from vacate.errors import TransportError
from vacate.httpclient.addresses import REFUSED, Network, is_ordinary
from vacate.wire.failures import failure_reason

MAX_ANSWER_BYTES = 65_536
"""Bytes. A longer answer is none: what was cut off could mean the opposite."""
_SHOWN = 200


class CallFailed(TransportError):
    """The service gave no answer that can be read; it may or may not have done what was asked."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: bytes = b""
    retry_after: str = ""  # the header, as it was written


async def post_json(
    url: str,
    body: Mapping[str, Any],
    *,
    seconds: float,
    headers: Mapping[str, str] | None = None,
    authorities: str = "",
    listed: Sequence[Network] = (),
) -> Answer:
    """Send it on a connection of its own; CallFailed says why there is no answer.

    A redirect is an answer like any other: it is not followed, since it could lead a token and what is asked
    to somewhere else. `authorities` are certificates in PEM; the system's where it is empty. Each address is
    checked as it is connected to, whatever name or number led to it: other machines, and what is listed.
    """
    import aiohttp  # noqa: PLC0415  only those who call services pay for it

    opened: list[asyncio.WriteTransport] = []
    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(
                connector=_connector(listed, opened),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,  # a short answer can become a very long one
                trust_env=False,
                headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            ) as session,
            session.post(
                url, json=dict(body), headers=headers, allow_redirects=False, ssl=_tls(authorities)
            ) as answer,
        ):
            text = await _read(answer.content)
            return Answer(answer.status, text, answer.headers.get("Retry-After", ""))
    except TimeoutError:
        raise CallFailed(f"no answer within {seconds:g} s") from None
    except (aiohttp.ClientError, OSError, TypeError, ValueError) as error:  # of certificates, too
        raise CallFailed(plain(failure_reason(error), _SHOWN)) from None
    finally:
        # At once: a service that does not answer the close of TLS would keep its connection open.
        for one in opened:
            # Python 3.11.2 has nothing left to abort once the client has closed twice: the time limit that
            # asyncio sets for the close of TLS ends that connection, after half a minute.
            with suppress(AttributeError):
                one.abort()


def _tls(authorities: str) -> Any:
    return ssl.create_default_context(cadata=authorities) if authorities else True


async def _read(content: Any) -> bytes:
    read = bytearray()
    while chunk := await content.read(MAX_ANSWER_BYTES + 1 - len(read)):
        read += chunk
        if len(read) > MAX_ANSWER_BYTES:
            raise CallFailed(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
    return bytes(read)


def _connector(listed: Sequence[Network], opened: list[asyncio.WriteTransport]) -> Any:
    """Connects to permitted addresses only, and puts what it has opened into the list."""
    import aiohttp  # noqa: PLC0415

    class Connector(aiohttp.TCPConnector):
        async def connect(self, *args: Any, **options: Any) -> Any:
            made = await super().connect(*args, **options)
            if made.transport is not None:
                opened.append(made.transport)
            return made

    def make_socket(found: Any) -> socket.socket:
        family, kind, protocol, _, (address, *_) = found
        if not is_ordinary(str(address), listed):
            raise OSError(errno.EADDRNOTAVAIL, f"address {address} {REFUSED}")
        return socket.socket(family, kind, protocol)

    return Connector(socket_factory=make_socket, use_dns_cache=False, force_close=True)
