"""Why a request got no complete answer, in words that do not depend on the HTTP library."""

from __future__ import annotations

import errno
import os
import ssl

_LOST = "the connection was lost before the answer was complete"


def failure_reason(error: BaseException) -> str:
    """The reason as part of a sentence; the library's own words only for what is not foreseen here."""
    import aiohttp  # noqa: PLC0415  only those who use HTTP pay for it

    if isinstance(error, TimeoutError):
        return "it took too long"
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ServerDisconnectedError):
        return _LOST
    if isinstance(error, aiohttp.ClientResponseError):
        return "the answer is not valid HTTP"
    inner = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(inner, ssl.SSLError):
        return f"TLS failed: {_tls_reason(inner)}"
    if isinstance(inner, OSError):
        return _LOST if _is_lost(inner) else _system_reason(inner)
    return str(error) or type(error).__name__


def _tls_reason(error: ssl.SSLError) -> str:
    return getattr(error, "verify_message", "") or getattr(error, "reason", "") or str(error)


def _is_lost(error: OSError) -> bool:
    return isinstance(error, ConnectionResetError | BrokenPipeError) or error.errno in (
        errno.ECONNRESET,
        errno.ECONNABORTED,
        errno.EPIPE,
    )


def _system_reason(error: OSError) -> str:
    """asyncio puts the tuple of an address into the text of some errors; the number says the same plainly."""
    text = error.strerror or str(error) or type(error).__name__
    return os.strerror(error.errno) if text.startswith("Connect call failed") and error.errno else text
