"""The error tree.

    VacateError
    ├── ConfigError              what a person typed or wrote is wrong; names the field and the remedy
    ├── TransportError           no answer: the request may or may not have been carried out
    │   └── UnreadableObject     an answer with an object that cannot be decoded
    ├── StoreError
    │   ├── KeyExists            create of a key that is there
    │   ├── KeyChanged           compare-and-swap against a revision that is no longer the newest
    │   ├── RevisionCompacted    history that is no longer kept
    │   ├── RevisionTooNew       a revision that does not exist yet
    │   ├── WatchOverrun         the watcher was too slow, its buffer is full
    │   ├── StoreFull            the objects take as many bytes as they may
    │   └── StoreReadOnly        the disk failed; nothing is written any more
    ├── FencingFailed            a node was not fenced; nothing of it was released
    ├── InvalidAttachment        the record of an exclusive volume cannot be read; it stays attached
    ├── SimulationError
    │   ├── Deadlock             every task waits and no timer is set
    │   ├── Livelock             tasks run on and on and virtual time stands still
    │   ├── OutOfTime            the simulation or an expectation took longer than its limit
    │   ├── NotSimulated         threads, sockets or executors on a simulated loop
    │   └── LeftoverTasks           tasks that still ran when the simulation was over, or errors nobody saw
    └── ApiError                 an API server refused: one class for each reason of a Status
        ├── BadRequest           400
        ├── Unauthorized         401
        ├── Forbidden            403
        ├── NotFound             404
        ├── MethodNotAllowed     405
        ├── NotAcceptable        406
        ├── Conflict             409
        ├── AlreadyExists        409
        ├── Gone                 410, reason Expired or Gone
        ├── RequestTooLarge      413
        ├── UnsupportedMedia     415
        ├── Invalid              422
        ├── TooManyRequests      429
        ├── InternalError        500
        ├── ServiceUnavailable   503
        └── Timeout              504

Server and clients share the ApiError branch: the server raises it and writes it as a Status, a client reads
the Status and raises the same class again. The wording of the messages lives in `vacate.api.status`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar


class VacateError(Exception):
    """Base of every error that Vacate raises on purpose."""


class ConfigError(VacateError):
    """Something a person typed or wrote cannot be used."""


class ConfigErrors(ConfigError):
    """Several things in what a person wrote cannot be used; each is a line of its own."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class TransportError(VacateError):
    """The request got no answer; it may or may not have been carried out."""


class UnreadableObject(TransportError):
    """The server answered, and the object in the answer cannot be decoded.

    To a caller it is as if there were no answer. It says nothing about the server's health: other objects
    can be read.
    """


class FencingFailed(VacateError):
    """A node was not fenced, or not known to be; nothing of it was released."""


class InvalidAttachment(VacateError):
    """The record that says where an exclusive volume is attached cannot be read."""


class StoreError(VacateError):
    """Base of what a store refuses."""


class KeyExists(StoreError):
    """A create met a key that is already there."""


class KeyChanged(StoreError):
    """A compare-and-swap named a revision that is not the newest of its key."""


class RevisionCompacted(StoreError):
    """The history from that revision on is no longer kept."""


class RevisionTooNew(StoreError):
    """The revision does not exist yet."""


class WatchOverrun(StoreError):
    """The watcher did not keep up and its buffer is full."""


class StoreFull(StoreError):
    """The objects take as many bytes as they may; those that make it less are still written."""


class StoreReadOnly(StoreError):
    """The log failed; the store answers reads and refuses writes."""


class SimulationError(VacateError):
    """Base of what goes wrong with a simulation as such."""


class Deadlock(SimulationError):
    """Every task waits and no timer is set, so nothing can ever happen."""


class Livelock(SimulationError):
    """Tasks run on and on and virtual time stands still."""


class OutOfTime(SimulationError):
    """The simulation, or an expectation in it, took longer than its limit in virtual time."""


class NotSimulated(SimulationError):
    """Something asked a simulated loop for threads, sockets or executors."""


class LeftoverTasks(SimulationError):
    """The simulation was over and tasks still ran, or errors happened that nobody saw."""


class ApiError(VacateError):
    """An API server's refusal, as a Status object carries it."""

    code: ClassVar[int] = 500
    default_reason: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        details: Mapping[str, Any] | None = None,
        code: int | None = None,
        list_meta: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = self.default_reason if reason is None else reason
        self.details: dict[str, Any] = dict(details or {})
        self.shows_details = details is not None  # some refusals carry them empty
        self.status_code = self.code if code is None else code
        self.list_meta: dict[str, Any] = dict(list_meta or {})

    @property
    def retry_after_seconds(self) -> int | None:
        """How long the server asked to wait, if it did."""
        seconds = self.details.get("retryAfterSeconds")
        return seconds if isinstance(seconds, int) and seconds > 0 else None

    @property
    def is_refusal(self) -> bool:
        """Whether the server, a policy, a quota or a webhook refuses the request for what it is.

        Anything else says that the same may be answered otherwise at once: a newer version, a busy server.
        A webhook may deny with any code, also with one that would mean something else from the server.
        """
        return _DENIED in self.message or not isinstance(self, _NOT_REFUSALS)

    @property
    def is_passing(self) -> bool:
        """Whether the server is unwell or busy, or another wrote at the same time: no refusal that stays."""
        return self.status_code >= 500 or isinstance(self, (TooManyRequests, Conflict))

    def has_cause(self, kind: str) -> bool:
        """Whether the details name a cause of this kind (its `reason` field)."""
        causes = self.details.get("causes")
        return isinstance(causes, list) and any(cause.get("reason") == kind for cause in causes)


class BadRequest(ApiError):
    """The request itself cannot be understood."""

    code = 400
    default_reason = "BadRequest"


class Unauthorized(ApiError):
    """The credentials are missing or not accepted."""

    code = 401
    default_reason = "Unauthorized"


class Forbidden(ApiError):
    """The user is known and may not do this, or nobody may."""

    code = 403
    default_reason = "Forbidden"


class NotFound(ApiError):
    """No such object, or no such path."""

    code = 404
    default_reason = "NotFound"


class MethodNotAllowed(ApiError):
    """The resource exists and does not take this verb."""

    code = 405
    default_reason = "MethodNotAllowed"


class NotAcceptable(ApiError):
    """None of the media types that the client accepts can be produced."""

    code = 406
    default_reason = "NotAcceptable"


class Conflict(ApiError):
    """Someone else changed the object first, or a precondition does not hold."""

    code = 409
    default_reason = "Conflict"


class AlreadyExists(ApiError):
    """An object of that name is there already."""

    code = 409
    default_reason = "AlreadyExists"


class Gone(ApiError):
    """The revision or continue token is too old; list again."""

    code = 410
    default_reason = "Expired"


class RequestTooLarge(ApiError):
    """The body is longer than the server takes."""

    code = 413
    default_reason = "RequestEntityTooLarge"


class UnsupportedMedia(ApiError):
    """The body's media type is not one that this verb takes."""

    code = 415
    default_reason = "UnsupportedMediaType"


class Invalid(ApiError):
    """The object was understood and breaks one or more rules, all of them in the details."""

    code = 422
    default_reason = "Invalid"


class TooManyRequests(ApiError):
    """Try later: a disruption budget or a rate limit."""

    code = 429
    default_reason = "TooManyRequests"


class InternalError(ApiError):
    """The server failed or found a state that it cannot resolve."""

    code = 500
    default_reason = "InternalError"


class ServiceUnavailable(ApiError):
    """The server cannot do this at the moment."""

    code = 503
    default_reason = "ServiceUnavailable"


class Timeout(ApiError):
    """The server gave up waiting."""

    code = 504
    default_reason = "Timeout"


TRANSIENT_ERRORS = (TransportError, ServiceUnavailable, Timeout, TooManyRequests)
"""What may go away by itself: the same request can be answered a moment later."""


_DENIED = "denied the request"
_NOT_REFUSALS = (
    NotFound,
    Conflict,
    AlreadyExists,
    Gone,
    Unauthorized,
    TooManyRequests,
    ServiceUnavailable,
    Timeout,
)
