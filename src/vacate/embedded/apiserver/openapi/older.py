"""OpenAPI version 2, without a single definition: what older clients ask for before they do anything else.

They check a file against the definition of its kind, and where there is none they leave it to the server.
"""

from __future__ import annotations

from vacate.api.objects import encode
from vacate.embedded.release import KUBERNETES
from vacate.wire.message import Request, Response

_TITLE, _VERSION = "Vacate", KUBERNETES
_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def older_index(request: Request) -> Response:
    """The document, in the form that the client asks for."""
    if "proto-openapi.spec.v2" in request.headers.get("Accept", ""):
        return Response(200, _binary(), _PROTOBUF)
    return Response(200, encode({"swagger": "2.0", "info": _info(), "paths": {}}))


def _info() -> dict[str, str]:
    return {"title": _TITLE, "version": _VERSION}


def _binary() -> bytes:
    info = _text(1, _TITLE) + _text(2, _VERSION)
    return _text(1, "2.0") + _field(2, info)


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _field(number: int, content: bytes) -> bytes:
    """A field of bytes that are shorter than 128."""
    return bytes((number << 3 | 2, len(content))) + content
