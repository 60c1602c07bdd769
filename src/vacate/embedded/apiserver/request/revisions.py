"""The resourceVersion of a query: read, checked, and waited for."""

from __future__ import annotations

import asyncio

from vacate import errors
from vacate.api import fielderrors as f
from vacate.embedded.apiserver.storage import Storage

_FRESH_SECONDS = 3.0


def parse_revision(text: str) -> int:
    """A resourceVersion as a number, or BadRequest."""
    field_error = _revision_error(text)
    if field_error is not None:
        raise errors.BadRequest(f"invalid resource version: {field_error}")
    return int(text)


def check_stored_revision(text: str) -> None:
    """As for lists, except that gets and watches are refused in the storage's own words."""
    field_error = _revision_error(text) if text else None
    if field_error is not None:
        raise errors.ApiError(str(field_error), reason="", code=500)


def _revision_error(text: str) -> f.FieldError | None:
    if text.isascii() and text.isdigit() and len(text) <= 19:
        return None
    return f.invalid("resourceVersion", text[:64], "must be a 64-bit integer")


async def wait_until_fresh(storage: Storage, resource_version: str) -> None:
    """Wait a little for a revision that has not come yet; Timeout, to be tried again, where it does not."""
    wanted = parse_revision(resource_version)
    if wanted <= storage.store.revision:
        return
    try:
        async with asyncio.timeout(_FRESH_SECONDS):
            await storage.store.wait_for(wanted)
    except TimeoutError:
        current = storage.store.revision
        raise errors.Timeout(
            f"Timeout: Too large resource version: {wanted}, current: {current}",
            details={
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        ) from None
