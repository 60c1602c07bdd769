"""Refusals of the listener itself, in the form of the Kubernetes API."""

from __future__ import annotations

import orjson

from vacate import errors
from vacate.api import status
from vacate.wire.message import Response


def refusal(error: errors.ApiError) -> Response:
    """A Status object, with Retry-After where the error asks for it."""
    headers = {}
    if error.retry_after_seconds:
        headers["Retry-After"] = str(error.retry_after_seconds)
    if isinstance(error, errors.Unauthorized):
        headers["WWW-Authenticate"] = 'Bearer realm="vacate"'
    return Response(error.status_code, orjson.dumps(status.to_status(error)), headers=headers)
