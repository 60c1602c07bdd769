"""The words for a request without an answer: ours, whatever the HTTP library calls it."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from unittest import mock

import aiohttp
import pytest

from vacate.wire.failures import failure_reason

pytestmark = pytest.mark.unit

LOST = "the connection was lost before the answer was complete"
KEY = mock.sentinel.connection_key  # only kept by the library's errors


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError(), "it took too long"),
        (aiohttp.ServerTimeoutError("x"), "it took too long"),
        (aiohttp.ClientPayloadError("<TransferEncodingError: 400, message='Not enough data'>"), LOST),
        (aiohttp.ServerDisconnectedError(), LOST),
        (aiohttp.ClientOSError(errno.ECONNRESET, "Connection reset by peer"), LOST),
        (aiohttp.ClientConnectionResetError("Cannot write to closing transport"), LOST),
        (aiohttp.ClientResponseError(mock.Mock(), (), status=400), "the answer is not valid HTTP"),
        (
            aiohttp.ClientConnectorError(KEY, OSError(errno.ECONNREFUSED, "Connect call failed ('::1', 1)")),
            os.strerror(errno.ECONNREFUSED),
        ),
        (
            aiohttp.ClientConnectorDNSError(KEY, socket.gaierror(socket.EAI_NONAME, "Name not known")),
            "Name not known",
        ),
        (
            aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError(1, "[SSL: WRONG_VERSION] of a record")),
            "TLS failed: [SSL: WRONG_VERSION] of a record",
        ),
        (ValueError("a URL without a host"), "a URL without a host"),
        (ValueError(), "ValueError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_reason_of_a_failed_request(error: Exception, reason: str) -> None:
    assert failure_reason(error) == reason
