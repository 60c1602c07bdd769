"""Continue tokens: where a list in pages goes on, and at which revision."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import orjson

from vacate.errors import BadRequest, Gone

LATEST = -1
"""The revision of a token that gave up consistency: go on at the newest state."""

_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new "
    "list without the continue parameter, or use the continue token in this response to retrieve the "
    "remainder of the results. Continuing with the provided token results in an inconsistent list - "
    "objects that were created, modified, or deleted between the time the first chunk was returned and "
    "now may show up in the list."
)


@dataclass(frozen=True, slots=True)
class Continuation:
    """The revision of the whole list and the key after which this page begins."""

    revision: int
    namespace: str
    name: str

    @property
    def after(self) -> tuple[str, str]:
        """The last key of the page before."""
        return self.namespace, self.name

    def encode(self, scope_namespace: str) -> str:
        """The token. Inside a namespace the key is the name alone, as Kubernetes has it."""
        start = self.name if scope_namespace or not self.namespace else f"{self.namespace}/{self.name}"
        token = {"v": "meta.k8s.io/v1", "rv": self.revision, "start": f"{start}\0"}
        return base64.urlsafe_b64encode(orjson.dumps(token)).decode().rstrip("=")


def parse_continue(text: str, scope_namespace: str, *, namespaced: bool) -> Continuation:
    """Read a token; BadRequest for anything that this server cannot have made."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = orjson.loads(raw)
        version, revision, start = token["v"], token["rv"], token["start"]
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise _bad("continue key is not valid") from None
    if version != "meta.k8s.io/v1":
        raise _bad(f"continue key is not valid: server does not recognize this encoded version {version}")
    if not isinstance(revision, int) or isinstance(revision, bool) or revision == 0 or revision < LATEST:
        raise _bad(
            "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"
        )
    if not isinstance(start, str) or not start:
        raise _bad("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)")
    return _locate(revision, start.removesuffix("\0"), scope_namespace, namespaced=namespaced)


def _locate(revision: int, start: str, scope_namespace: str, *, namespaced: bool) -> Continuation:
    parts = start.split("/")
    if not start or ".." in parts or "." in parts or "" in parts:
        raise _bad(f"continue key is not valid: {start}")
    if namespaced and not scope_namespace:
        if len(parts) != 2:
            raise _bad(f"continue key is not valid: {start}")
        return Continuation(revision, parts[0], parts[1])
    if len(parts) != 1:
        raise _bad(f"continue key is not valid: {start}")
    return Continuation(revision, scope_namespace, start)


def expired(token: Continuation, scope_namespace: str) -> Gone:
    """410 with a token that goes on at the newest state, for clients that accept an inconsistent list."""
    fresh = Continuation(LATEST, token.namespace, token.name)
    return Gone(_EXPIRED, list_meta={"continue": fresh.encode(scope_namespace)})


def _bad(message: str) -> BadRequest:
    return BadRequest(f"invalid continue token: {message}")
