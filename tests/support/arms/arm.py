"""An arm: one way to reach an API server. The conformance body knows servers through this alone.

An arm says what it can see. `kubectl` prints no status codes, headers or details, so its answers have None
there, and an expectation about something that an arm cannot see is not held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

Obj = dict[str, Any]
Query = Mapping[str, str] | Iterable[tuple[str, str]]

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


@dataclass(frozen=True)
class As:
    """Somebody else in whose name a call is made; anonymous calls carry no credentials at all."""

    name: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""

    @property
    def anonymous(self) -> bool:
        return not self.name


ADMIN: As | None = None
ANONYMOUS = As()


@dataclass(frozen=True)
class Answer:
    """What came back: an object, or a refusal, as far as the arm shows it."""

    failed: bool
    code: int | None = None
    obj: Obj = field(default_factory=dict)
    text: str = ""
    headers: Mapping[str, str] | None = None
    reason: str = ""
    message: str | None = None
    # The errors of an Invalid answer, each as `field: message`, in order and without repetition.
    field_errors: tuple[str, ...] = ()
    details: Obj | None = None

    def ok(self, code: int = 200) -> Obj:
        """The object of a successful answer."""
        assert not self.failed, f"refused: {self.code} {self.reason}: {self.message} {self.field_errors}"
        assert self.code in (None, code), f"{self.code}, expected {code}"
        return self.obj

    def refused(
        self,
        code: int,
        reason: str,
        message: str | None = None,
        *,
        starting: str = "",
        field_errors: Iterable[str] | None = None,
    ) -> Answer:
        """Check code, reason and message of a refusal, and for 422 every error; the answer itself."""
        assert self.failed, f"not refused: {self.code} {self.obj or self.text}"
        assert (self.code, self.reason) in ((code, reason), (None, reason)), self
        if message is not None and self.message is not None:
            assert self.message == message
        if self.message is not None:
            assert self.message.startswith(starting)
        if field_errors is not None:
            assert self.field_errors == tuple(field_errors)
        return self

    def caused_by(self, *causes: tuple[str, str]) -> Answer:
        """Check the causes of a refusal: reason and message of each."""
        if self.details is not None:
            found = [
                (one.get("reason", ""), one.get("message", "")) for one in self.details.get("causes", ())
            ]
            assert found == list(causes)
        return self

    def caused_in(self, *causes: tuple[str, str]) -> Answer:
        """Check the causes of a refusal whatever their wording: reason and field of each."""
        if self.details is not None:
            found = [(one.get("reason", ""), one.get("field", "")) for one in self.details.get("causes", ())]
            assert found == list(causes)
        return self

    def header(self, name: str) -> str | None:
        """A header, None where there is none or the arm does not show them."""
        return None if self.headers is None else self.headers.get(name)


@dataclass(frozen=True)
class Event:
    """One event of a watch."""

    type: str
    obj: Obj

    @property
    def name(self) -> str:
        return str(self.obj.get("metadata", {}).get("name", ""))

    @property
    def version(self) -> int:
        """The resourceVersion as a number: later is larger."""
        return int(self.obj["metadata"]["resourceVersion"])


class Stream(Protocol):
    """An open watch."""

    async def next(self, seconds: float = 60.0) -> Event | None:
        """The next event, None at the end of the stream; TimeoutError where nothing comes."""
        ...

    async def aclose(self) -> None: ...


class Arm(Protocol):
    """One way to reach one server."""

    name: str

    async def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
        accept: str = JSON,
        as_user: As | None = ADMIN,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request. A body that is not bytes is sent as JSON."""
        ...

    async def open_watch(
        self, path: str, query: Query = (), *, accept: str = JSON, as_user: As | None = ADMIN
    ) -> Stream:
        """Start a watch; `watch=true` is added to the query."""
        ...

    async def given(self, method: str, path: str, body: Any = None, *, content_type: str = JSON) -> Obj:
        """Arrange something that is not itself under test, by the shortest way; it must succeed."""
        ...

    async def drop(self, path: str) -> None:
        """Delete something that a case has made, if it is still there."""
        ...

    async def forget_history(self) -> None:
        """Compact the storage, so that revisions of the past are gone."""
        ...

    async def aclose(self) -> None: ...


async def watch(
    arm: Arm,
    path: str,
    query: Query = (),
    *,
    until: int | Callable[[Event], bool] | None = None,
    accept: str = JSON,
    as_user: As | None = ADMIN,
) -> list[Event]:
    """Events up to a number of them, up to one that fits, or up to the end of the stream."""
    stream = await arm.open_watch(path, query, accept=accept, as_user=as_user)
    events: list[Event] = []
    try:
        while (event := await stream.next()) is not None:
            events.append(event)
            if callable(until) and until(event):
                return events
            if isinstance(until, int) and len(events) == until:
                return events
    finally:
        await stream.aclose()
    assert until is None, f"the stream ended before what was expected: {events}"
    return events


def pairs(query: Query) -> list[tuple[str, str]]:
    """A query as pairs, in order."""
    return list(query.items()) if isinstance(query, Mapping) else list(query)
