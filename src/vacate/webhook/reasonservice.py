"""Gives pods their termination reason: each its own, by a token that the cluster issued for that very pod.

    GET /reason
    Authorization: Bearer TOKEN         of the audience reasons.vacate.dev, bound to a pod

The answer is the reason as text, empty where there is none. A token is valid for this request only: API
servers do not accept it, and no pod learns anything about another.
"""

from __future__ import annotations

import asyncio
import logging

from vacate.api.kinds import PODS, TOKENREVIEWS
from vacate.api.objects import Obj, dig
from vacate.api.terminationreason import ANNOTATION, AUDIENCE, clean_reason
from vacate.api.untyped import mapping
from vacate.client.client import Client
from vacate.errors import (
    ApiError,
    ConfigError,
    MethodNotAllowed,
    NotFound,
    ServiceUnavailable,
    TransportError,
    Unauthorized,
)
from vacate.httpserver.responses import refusal
from vacate.wire.message import Request, Response

PATH = "/reason"
ANSWER_SECONDS = 5.0
_MAX_TOKEN = 16 * 1024
_ACCOUNT = "system:serviceaccount:"
_POD_NAME, _POD_UID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"

_log = logging.getLogger(__name__)


class ReasonService:
    """Answers pods, with a cluster to ask about their tokens and them."""

    def __init__(self, client: Client, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._client = client
        self._answer_seconds = answer_seconds

    async def handle(self, request: Request) -> Response:
        """One request; refusals are Status objects."""
        try:
            reason = await self._answer(request)
        except ApiError as error:
            return refusal(error)
        return Response(200, reason.encode(), content_type="text/plain; charset=utf-8")

    async def _answer(self, request: Request) -> str:
        if request.path != PATH:
            raise NotFound(f"only {PATH} is served here")
        if request.method != "GET":
            raise MethodNotAllowed("reasons are read with GET")
        token = _token(request)
        try:
            async with asyncio.timeout(self._answer_seconds):
                return await self._reason(await self._user(token))
        except TimeoutError:
            raise ServiceUnavailable("the API server did not answer in time") from None
        except (Unauthorized, NotFound):
            raise
        except (ApiError, TransportError) as error:
            _log.warning("a pod did not receive its termination reason: %s", error)
            raise ServiceUnavailable(
                "the API server did not answer; the hook uses the downward API file"
            ) from None

    async def _user(self, token: str) -> Obj:
        """Whom the cluster issued the token to, for this service."""
        asked = {"metadata": {}, "spec": {"token": token, "audiences": [AUDIENCE]}}
        status = mapping((await self._client.create(TOKENREVIEWS, asked)).get("status"))
        audiences = status.get("audiences")
        if status.get("authenticated") is not True or AUDIENCE not in (audiences or ()):
            raise Unauthorized(f"the token is not valid for the audience {AUDIENCE}")
        return mapping(status.get("user"))

    async def _reason(self, user: Obj) -> str:
        namespace = str(user.get("username") or "").removeprefix(_ACCOUNT).partition(":")[0]
        name, uid = (_single(user, key) for key in (_POD_NAME, _POD_UID))
        if not str(user.get("username")).startswith(_ACCOUNT) or not (name and uid and namespace):
            raise Unauthorized("the token is not bound to a pod; mount one by a projected volume")
        try:
            pod = await self._client.get(PODS, name, namespace)
        except ConfigError:
            raise NotFound("no pod can have such a name") from None
        if dig(pod, "metadata", "uid") != uid:
            raise NotFound("the pod of this token does not exist any more")
        return reason_of(pod)


def reason_of(pod: Obj) -> str:
    """Why a pod is being deleted; nothing while it is not, since a hook also runs before a restart."""
    if not dig(pod, "metadata", "deletionTimestamp"):
        return ""
    reason = dig(pod, "metadata", "reason") or mapping(dig(pod, "metadata", "annotations")).get(ANNOTATION)
    return clean_reason(reason) if isinstance(reason, str) else ""


def _token(request: Request) -> str:
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer" or len(token) > _MAX_TOKEN or token.count(".") != 2:
        raise Unauthorized("present a service account token: Authorization: Bearer TOKEN")
    return token.strip()


def _single(user: Obj, key: str) -> str:
    values = mapping(user.get("extra")).get(key)
    return str(values[0]) if isinstance(values, list) and len(values) == 1 else ""
