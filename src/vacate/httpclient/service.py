"""One POST of JSON to a service, and its answer, within limits."""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vacate.api.text import plain
from vacate.errors import TransportError
from vacate.httpclient.addresses import is_ordinary
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
    ordinary_addresses_only: bool = False,
) -> Answer:
    """Send it on a connection of its own; CallFailed says why there is no answer.

    A redirect is an answer like any other: it is not followed, since it could lead a token and what is asked
    to somewhere else. `authorities` are certificates in PEM; the system's where it is empty. With
    `ordinary_addresses_only` a name must not lead to this machine or to a link-local address; an address in
    the URL itself was chosen by its author. The name is looked up once: what was checked is connected to.
    """
    import aiohttp  # noqa: PLC0415  only those who call services pay for it

    try:
        async with (
            asyncio.timeout(seconds),
            aiohttp.ClientSession(
                connector=_connector(ordinary_addresses_only),
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


def _tls(authorities: str) -> Any:
    return ssl.create_default_context(cadata=authorities) if authorities else True


async def _read(content: Any) -> bytes:
    read = bytearray()
    while chunk := await content.read(MAX_ANSWER_BYTES + 1 - len(read)):
        read += chunk
        if len(read) > MAX_ANSWER_BYTES:
            raise CallFailed(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
    return bytes(read)


def _connector(ordinary_only: bool) -> Any:
    import aiohttp  # noqa: PLC0415

    class OrdinaryAddresses(aiohttp.ThreadedResolver):
        """Leaves out the addresses that no service of another machine has."""

        async def resolve(self, *args: Any, **kwargs: Any) -> Any:
            found = await super().resolve(*args, **kwargs)
            kept = [one for one in found if is_ordinary(one["host"])]
            if found and not kept:
                raise OSError(
                    errno.EADDRNOTAVAIL,
                    f"{args[0] if args else kwargs.get('host')} leads to {found[0]['host']}, which is an "
                    "address of this machine or a link-local one",
                )
            return kept

    resolver = OrdinaryAddresses() if ordinary_only else None
    return aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True)
