"""Carries calls to hooks out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from vacate.fencing.agentprotocol import redacted
from vacate.httpclient.addresses import literal
from vacate.httpclient.service import Answer, CallFailed, post_json
from vacate.interceptors.hooks.annotations import HttpHook

CALL_SECONDS = 15.0
"""For one call. A hook that needs longer answers 202, and is called again."""


class Caller(Protocol):
    """Sends one call; CallFailed where there is no answer."""

    async def call(self, hook: HttpHook, body: Mapping[str, Any]) -> Answer:
        """The answer, whatever it says."""
        ...


class HttpCaller:
    """By HTTP. Tokens and authorities are read for each call: they are renewed while this process runs."""

    async def call(self, hook: HttpHook, body: Mapping[str, Any]) -> Answer:
        """Send the call on a connection of its own. The token is no part of an answer that repeats it."""
        headers = {"Idempotency-Key": str(body["idempotencyKey"])}
        token = _read(hook.target.token_file) if hook.target.token_file else ""
        if token:
            headers["Authorization"] = f"Bearer {token}"
        answer = await post_json(
            hook.url,
            body,
            seconds=CALL_SECONDS,
            headers=headers,
            authorities=_read(hook.target.ca_file) if hook.target.ca_file else "",
            # An address that the administrator's list itself contains may be any.
            listed=literal(urlsplit(hook.url).hostname or ""),
        )
        shown = redacted(answer.body.decode(errors="replace"), {"bearer": token}, ("bearer",))
        return replace(answer, body=shown.encode())


def _read(file: str) -> str:
    """Never empty, as the file of a Secret that is yet to be filled: without authorities those of the system
    would count, and without a token the service would be called as nobody."""
    try:
        found = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError):
        found = ""
    if not found:
        # The name of the file is for the administrator's log, not for the status of every request.
        raise CallFailed(
            "the token or the authorities of the target are empty or cannot be read by vacate hooks"
        )
    return found
