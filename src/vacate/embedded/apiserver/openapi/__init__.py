"""OpenAPI documents, version 3, of the kinds that are served as custom resources.

kubectl explains these kinds with them, and sees that the server checks their fields itself. For all other
groups there is no document: kubectl sends such files as they are.
"""

from __future__ import annotations

import hashlib
from functools import cache

from vacate.api.kinds import Kind
from vacate.api.objects import encode
from vacate.embedded.apiserver.openapi.document import document
from vacate.embedded.apiserver.openapi.older import older_index
from vacate.wire.message import Request, Response

_ROOT = "/openapi/v3"


def answer(request: Request, kinds: tuple[Kind, ...]) -> Response | None:
    """The index or one document; None where there is none."""
    path = request.path.rstrip("/")
    if path == "/openapi/v2":
        return older_index(request)
    if path == _ROOT:
        return Response(200, _index(kinds))
    body = _documents(kinds).get(path.removeprefix(f"{_ROOT}/"))
    if body is None:
        return None
    digest = _digest(body)
    return Response(200, body, headers={"Etag": f'"{digest}"'})


@cache
def _index(kinds: tuple[Kind, ...]) -> bytes:
    paths = {
        name: {"serverRelativeURL": f"{_ROOT}/{name}?hash={_digest(body)}"}
        for name, body in _documents(kinds).items()
    }
    return encode({"paths": paths})


@cache
def _documents(kinds: tuple[Kind, ...]) -> dict[str, bytes]:
    versions: dict[str, list[Kind]] = {}
    for kind in kinds:
        if kind.custom:
            versions.setdefault(kind.api_version, []).append(kind)
    return {f"apis/{version}": encode(document(served)) for version, served in versions.items()}


def _digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()
