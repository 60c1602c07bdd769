"""What the API server refuses at present to the controllers of a process: others report what holds one up."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.lifecycle import LifecycleRequest


@dataclass(frozen=True, slots=True)
class WriteRefusal:
    """What is refused about an object, and since when."""

    since: dt.datetime
    message: str


_Subject = tuple[str, bool]
"""The UID of an object, or of the pod that an object requests the eviction of."""


@dataclass(slots=True)
class RefusedWrites:
    """What is refused to the controllers of a process at present."""

    # By the subject, and by who writes.
    _found: dict[_Subject, dict[object, WriteRefusal]] = field(default_factory=dict)
    _handlers: list[Callable[[Any, Any], None]] = field(default_factory=list)

    def of(self, uid: str) -> WriteRefusal | None:
        """What was refused for longest about an object at the last attempts; None where nothing was."""
        return self._oldest((uid, False))

    def of_requests(self, pod_uid: str) -> WriteRefusal | None:
        """The same about the requests for a pod: of an eviction that cannot begin they are the only trace."""
        return self._oldest((pod_uid, True))

    def _oldest(self, subject: _Subject) -> WriteRefusal | None:
        return min(self._found.get(subject, {}).values(), key=lambda one: one.since, default=None)

    def subscribe(self, handler: Callable[[Any, Any], None]) -> None:
        """Have it called, as by an informer, with each object about which other things are refused now."""
        self._handlers.append(handler)

    def put(self, writer: object, obj: Any, refusal: WriteRefusal | None) -> None:
        """What is refused to a writer about an object now."""
        for subject in _subjects(obj):
            found = self._found.setdefault(subject, {})
            found.pop(writer, None)
            if refusal is not None:
                found[writer] = refusal
            elif not found:
                del self._found[subject]
        for handler in self._handlers:
            handler(None, obj)


def _subjects(obj: Any) -> tuple[_Subject, ...]:
    ref = None
    if isinstance(obj, EvictionRequest):
        ref = obj.spec.target.pod_ref
    elif isinstance(obj, LifecycleRequest):
        ref = obj.spec.target.pod
    own = obj.metadata.uid, False
    return (own,) if ref is None else (own, (ref.uid, True))
