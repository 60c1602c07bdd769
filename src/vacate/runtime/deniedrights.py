"""Which rights a process lacks: seen from what the API server refuses it, until it refuses that no longer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from urllib.parse import unquote

from vacate.api.policyrules import Rule
from vacate.client.transport import Transport
from vacate.wire.message import Request, Response

log = logging.getLogger(__name__)

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_AUTHORIZER = b" cannot "  # how an authorizer refuses; admission and quotas refuse writes in other words

Right = tuple[str, str, str]  # verb, resource with its subresource, group


class DeniedRights:
    """Wraps a transport and remembers which of the rights that the process should have are refused."""

    def __init__(self, transport: Transport, expected: Sequence[Rule]) -> None:
        self._transport = transport
        self._expected = expected
        self._denied: dict[Right, None] = {}  # in the order of the first refusal

    async def send(self, request: Request) -> Response:
        """Carry the request, and look at the code of the answer."""
        response = await self._transport.send(request)
        right = _right(request)
        if right is None:
            return response
        if response.status != 403:
            if right in self._denied and response.status != 401 and response.status < 500:
                del self._denied[right]
                log.warning("this process may %s again", _named(right))
        elif right not in self._denied and self._is_denied(right, response):
            self._denied[right] = None
            log.error("this process may not %s: its roles lack that right", _named(right))
        return response

    async def aclose(self) -> None:
        """Close what is wrapped."""
        await self._transport.aclose()

    def text(self) -> str:
        """What is lacking, as a sentence; empty where nothing is."""
        if not self._denied:
            return ""
        return f"its roles lack the right to {', to '.join(map(_named, self._denied))}"

    def _is_denied(self, right: Right, response: Response) -> bool:
        verb, resource, group = right
        if not any(
            verb in one.verbs and resource in one.resources and group in one.groups for one in self._expected
        ):
            return False  # such as Secrets of fence agents, which administrators grant one by one
        reads = verb in ("get", "list", "watch")
        return reads or (isinstance(response.body, bytes) and _AUTHORIZER in response.body)


def _right(request: Request) -> Right | None:
    """What the request needs; None where it is about no resource."""
    match unquote(request.path).strip("/").split("/"):
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return None
    if len(rest) > 2 and rest[0] == "namespaces":
        rest = rest[2:]
    if not rest:
        return None
    resource, name, *sub = [*rest, ""] if len(rest) == 1 else rest
    if request.method == "GET":
        verb = "watch" if request.query.get("watch") == "true" else "get" if name else "list"
    else:
        verb = _VERBS.get(request.method, "")
    return (verb, "/".join([resource, *sub]), group) if verb else None


def _named(right: Right) -> str:
    verb, resource, group = right
    return f"{verb} {resource}.{group}" if group else f"{verb} {resource}"
