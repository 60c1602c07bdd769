"""The embedded API server: one `handle` behind every transport.

Identify, read the address, authorise, and only then look whether there is anything at that address.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping

from prometheus_client import Counter, Gauge, Histogram

from vacate import errors
from vacate.api.identity import User
from vacate.api.kinds import ALL_VERBS, Kind
from vacate.embedded.apiserver import discovery, openapi
from vacate.embedded.apiserver import nonresource as health
from vacate.embedded.apiserver.accessreviews import answer_review
from vacate.embedded.apiserver.auth.authentication import Authenticator
from vacate.embedded.apiserver.auth.impersonation import Impersonation
from vacate.embedded.apiserver.call import Call, dry_run_directives
from vacate.embedded.apiserver.customresources import Verb, answer_checked
from vacate.embedded.apiserver.fieldvalidation import field_validation
from vacate.embedded.apiserver.request.body import read_object
from vacate.embedded.apiserver.request.route import KINDS, Route, route
from vacate.embedded.apiserver.response import objects
from vacate.embedded.apiserver.storage import Storage
from vacate.embedded.apiserver.subresources.table import SUBRESOURCES
from vacate.embedded.apiserver.verbs.create import create
from vacate.embedded.apiserver.verbs.delete import delete
from vacate.embedded.apiserver.verbs.deletecollection import deletecollection
from vacate.embedded.apiserver.verbs.get import get
from vacate.embedded.apiserver.verbs.list import list_
from vacate.embedded.apiserver.verbs.patch import patch
from vacate.embedded.apiserver.verbs.update import update
from vacate.embedded.apiserver.verbs.watch import watch
from vacate.embedded.registry.kinds import served_kinds
from vacate.httpserver.connection import MAX_BODY_BYTES
from vacate.httpserver.health import Health
from vacate.httpserver.responses import refusal
from vacate.metrics import Metrics
from vacate.wire.message import Request, Response, Stream

VERBS: Mapping[str, Verb] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": deletecollection,
}

_UNKNOWN = "the server could not find the requested resource"
_log = logging.getLogger(__name__)


class ApiServer:
    """Answers requests. Its owner opens and closes the store."""

    def __init__(
        self,
        storage: Storage,
        authenticator: Authenticator,
        metrics: Metrics,
    ) -> None:
        self.storage = storage
        self.health = Health(
            live={"ping": lambda: ""},
            ready={"storage": lambda: _read_only(storage.store.failure)},
        )
        self._authenticator = authenticator
        self._impersonation = Impersonation(storage.authorizer)
        self._metrics = metrics
        self._measure = RequestMetrics(metrics)
        self._kinds = served_kinds(storage.gates)
        self._served = frozenset(self._kinds)
        self._groups = frozenset(kind.group for kind in self._kinds)

    async def handle(self, request: Request) -> Response:
        """Answer one request; whatever goes wrong is a Status object, never an exception."""
        started = self.storage.clock.monotonic()
        address = route(request)
        try:
            response = await self._answer_readably(request, address)
        except errors.ApiError as error:
            response = refusal(error)
        except errors.StoreError as error:
            response = refusal(_store_refusal(error))
        except Exception:
            _log.exception("request failed: %s %s", request.method, request.path)
            response = refusal(errors.InternalError("an internal error occurred; the server's log has it"))
        if not isinstance(response.body, bytes):
            response.body = self._measure.watched(address, response.body)
        self._measure.answered(address, response.status, self.storage.clock.monotonic() - started)
        return response

    async def _answer_readably(self, request: Request, address: Route) -> Response:
        """A write is refused when what it is refused for can be read.

        That may be a write that is still on its way to the disk. A client of this process that looks again
        and tries again without a pause would otherwise do so for ever: nothing else would run.
        """
        try:
            return await self._answer(request, address)
        except errors.ApiError:
            if request.method != "GET":
                await self.storage.store.wait_for(self.storage.store.tip_revision)
            raise

    async def _answer(self, request: Request, address: Route) -> Response:
        if len(request.body) > MAX_BODY_BYTES:
            raise errors.RequestTooLarge(f"Request entity too large: limit is {MAX_BODY_BYTES}")
        user = self._authenticator.identify(request)
        user = self._impersonation.resolve(address.access(user), request.headers)
        self.storage.authorizer.require(address.access(user))
        if not address.resource:
            return self._answer_path(request)
        return await self._answer_resource(request, address, user)

    def _answer_path(self, request: Request) -> Response:
        response = self._answer_known_path(request)
        if response is None:
            return objects.nowhere()
        if request.method not in ("GET", "HEAD"):
            raise _not_allowed()
        return response

    def _answer_known_path(self, request: Request) -> Response | None:
        if request.path == "/version":
            return health.version(request)
        if request.path == "/metrics":
            return health.metrics(self._metrics)
        root, _, rest = request.path.strip("/").partition("/")
        if root == "api" or (root == "apis" and (not rest or rest.partition("/")[0] in self._groups)):
            return discovery.discover(request, self._kinds)
        if root == "openapi":
            return openapi.answer(request, self._kinds)
        return self.health.answer(request)

    async def _answer_resource(self, request: Request, address: Route, user: User) -> Response:
        kind = address.kind
        if address.group not in self._groups:
            return objects.nowhere()
        if kind is None or kind not in self._served:
            raise errors.NotFound(_UNKNOWN, details={})
        if request.method == "HEAD":
            raise _not_allowed()
        call = _call(request, address, kind, user, self.storage)
        if request.method != "GET":
            objects.check_acceptable(call, address.verb)
            if request.method != "DELETE":
                dry_run_directives(request)  # options are checked before anything is read
        if not kind.stored:
            return self._review(call, address)
        everywhere = kind.namespaced and not address.namespace
        if everywhere and call.name:
            raise errors.NotFound(_UNKNOWN, details={})
        if address.subresource:
            return await self._answer_subresource(call, address.verb)
        if address.verb not in kind.verbs or not _fits(call):
            raise _not_allowed()
        if everywhere and address.verb not in ("list", "watch"):
            raise _not_allowed()
        return await answer_checked(VERBS[address.verb], self.storage, call)

    async def _answer_subresource(self, call: Call, verb: str) -> Response:
        sub = call.kind.subresource(call.subresource)
        if sub is None:
            raise errors.NotFound(_UNKNOWN, details={})
        if verb not in sub.verbs:
            raise _not_allowed()
        special = SUBRESOURCES.get((call.kind.plural, call.subresource))
        handler = VERBS[verb] if special is None else special[verb]
        return await answer_checked(handler, self.storage, call)

    def _review(self, call: Call, address: Route) -> Response:
        if address.verb != "create" or address.name:
            raise _not_allowed()
        body = read_object(call.request, call.kind, call.validation)
        filled = answer_review(call.kind, body, call.user, self.storage.authorizer, call.now)
        return objects.unstored(call, filled, 201)


def _call(request: Request, address: Route, kind: Kind, user: User, storage: Storage) -> Call:
    # The path of a namespace names it twice: as namespace and as name. As an object it lives in none.
    namespace = address.namespace if kind.namespaced else ""
    name = address.name
    if address.verb in ("list", "watch", "deletecollection"):
        name = ""
    now = storage.clock.now()
    return Call(request, user, kind, namespace, name, address.subresource, now, field_validation(request))


def _fits(call: Call) -> bool:
    """Objects are created in a collection, and changed where they are."""
    return call.request.method not in ("POST", "PUT", "PATCH") or bool(call.name) == (
        call.request.method != "POST"
    )


def _not_allowed() -> errors.MethodNotAllowed:
    message = "the server does not allow this method on the requested resource"
    return errors.MethodNotAllowed(message, details={})


def _read_only(failure: str | None) -> str:
    return f"read-only, {failure}" if failure else ""


def _store_refusal(error: errors.StoreError) -> errors.ApiError:
    if isinstance(error, errors.StoreReadOnly):
        return errors.ServiceUnavailable(str(error))
    return errors.InternalError(f"the storage refused: {error}")


_VERBS = frozenset({*ALL_VERBS, "head", "post", "put"})


class RequestMetrics:
    """Remembers the label children of everything that has been answered before."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._counters: dict[tuple[str, str, str, str, str, int], Counter] = {}
        self._timers: dict[tuple[str, str], Histogram] = {}

    def answered(self, address: Route, code: int, seconds: float) -> None:
        """One more answer. Addresses that nobody serves share one label, or strangers could fill memory."""
        kind = KINDS.get((address.group, address.version, address.resource))
        verb = address.verb if address.verb in _VERBS else "other"
        if kind is None:
            key = (verb, "", "", "", "", code)
        else:
            subresource = address.subresource if kind.subresource(address.subresource) else ""
            key = (verb, kind.group, kind.version, kind.plural, subresource, code)
        self._counter(key).inc()
        if verb != "watch":
            self._timer((verb, key[3])).observe(seconds)

    def watched(self, address: Route, stream: Stream) -> Stream:
        """The stream of a watch that was opened, counted until it is closed."""
        return _Counted(stream, self._metrics.watches.labels(address.resource))

    def _counter(self, key: tuple[str, str, str, str, str, int]) -> Counter:
        child = self._counters.get(key)
        if child is None:
            child = self._counters[key] = self._metrics.requests.labels(*map(str, key))
        return child

    def _timer(self, key: tuple[str, str]) -> Histogram:
        child = self._timers.get(key)
        if child is None:
            child = self._timers[key] = self._metrics.request_seconds.labels(*key)
        return child


class _Counted:
    """A stream that counts as one watcher for as long as it is open."""

    def __init__(self, stream: Stream, gauge: Gauge) -> None:
        self._stream = stream
        self._gauge: Gauge | None = gauge
        gauge.inc()

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks of the stream itself."""
        return aiter(self._stream)

    async def aclose(self) -> None:
        """Close the stream. May be called twice."""
        if self._gauge is not None:
            self._gauge.dec()
            self._gauge = None
        await self._stream.aclose()
