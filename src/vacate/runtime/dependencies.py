"""What controllers are built from: one value instead of ten arguments."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

from vacate.api.kinds import Kind
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cache.informer import Informer, Tuning
from vacate.cache.reflector import Projection
from vacate.cache.store import IndexFunction
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.model import Limits
from vacate.features import FeatureGates
from vacate.httpclient.addresses import Network
from vacate.runtime.events import Recorder
from vacate.runtime.podrequests import target_indexes
from vacate.runtime.refusedwrites import RefusedWrites

if TYPE_CHECKING:
    from vacate.metrics import Metrics  # its library takes a fifth of the start of a command

T = TypeVar("T")

STALLED_SECONDS = 60.0
"""An informer that has not made progress for longer makes its process unready."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which part of a kind an informer follows."""

    resource: str
    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""


class InformerFactory:
    """One informer for each kind and selection, however many controllers ask for it.

    Ask, with the indexes that you need, while controllers are being built: once an informer runs it takes no
    new index. `projections` say, by resource, to which fields cached objects are cut down: all controllers of
    a process share its caches, so there is one projection for each kind. With metrics, what the informers
    skip and how long they stand still is shown under the name.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        tuning: Tuning | None = None,
        projections: Mapping[str, Projection[Any]] | None = None,
        *,
        metrics: Metrics | None = None,
        name: str = "",
    ) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._tuning = tuning or Tuning()
        self._projections = projections or {}
        self._metrics = metrics
        self._name = name
        self._informers: dict[Scope, Informer[Any]] = {}  # in the order of the first asking

    def informer(
        self,
        kind: Kind,
        into: type[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        indexes: Mapping[str, IndexFunction[T]] | None = None,
    ) -> Informer[T]:
        """The shared informer; a name of an index means the same function to everyone who asks."""
        scope = Scope(kind.resource, namespace, label_selector, field_selector)
        found = self._shared(kind, into, scope, self._projections.get(kind.resource))
        found.add_indexes(indexes or {})
        return cast(Informer[T], found)

    def requests(
        self,
        dialect: Dialect,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        indexes: Mapping[str, IndexFunction[EvictionRequest]] | None = None,
    ) -> Informer[EvictionRequest]:
        """The shared informer of a dialect's requests, which are cached as records."""
        scope = Scope(dialect.kind.resource, namespace, label_selector, field_selector)
        project = self._projections.get(dialect.kind.resource)
        found = self._shared(dialect.kind, dialect.wire, scope, _reading(dialect, project))
        found.add_indexes({**target_indexes(dialect), **(indexes or {})})
        return found

    def all(self) -> tuple[Informer[Any], ...]:
        """Every informer that someone asked for, oldest first."""
        return tuple(self._informers.values())

    def stalled(self) -> str:
        """Which informers have made no progress for too long, and why; empty where all get on."""
        now = self._clock.now()
        stuck = [(one, _seconds_stalled(one, now)) for one in self.all()]
        return "; ".join(
            f"no changes of {one.kind.resource} have arrived for {seconds:.0f} s"
            + (f": {one.trouble}" if one.trouble else "")
            for one, seconds in stuck
            if seconds > STALLED_SECONDS
        )

    def _measure(self, resource: str, informer: Informer[Any]) -> None:
        if self._metrics is None:
            return
        labels = (self._name, resource)
        skipped = self._metrics.informer_unreadable.labels(*labels)
        informer.subscribe_unreadable(lambda _: skipped.inc())
        alike = [one for scope, one in self._informers.items() if scope.resource == resource]
        self._metrics.informer_unreadable_objects.labels(*labels).set_function(
            lambda: sum(len(one.reader.list_unreadable()) for one in alike)
        )
        self._metrics.informer_stalled_seconds.labels(*labels).set_function(
            lambda: max(_seconds_stalled(one, self._clock.now()) for one in alike)
        )

    def _shared(
        self, kind: Kind, into: type[Any], scope: Scope, project: Projection[Any] | None
    ) -> Informer[Any]:
        found = self._informers.get(scope)
        if found is None:
            found = self._informers[scope] = self._make(kind, into, scope, project)
            self._measure(kind.resource, found)
        if found.into is not into:
            raise TypeError(f"{kind.resource} is cached as {found.into.__name__}, not as {into.__name__}")
        return found

    def _make(self, kind: Kind, into: type[T], scope: Scope, project: Projection[Any] | None) -> Informer[T]:
        return Informer(
            self._client,
            kind,
            into,
            clock=self._clock,
            entropy=self._entropy,
            namespace=scope.namespace,
            label_selector=scope.label_selector,
            field_selector=scope.field_selector,
            tuning=self._tuning,
            project=project,
        )


def _reading(dialect: Dialect, project: Projection[Any] | None) -> Callable[[Any], EvictionRequest]:
    """From the object of a dialect to what is cached of it."""
    return dialect.read if project is None else lambda obj: project(dialect.read(obj))


def _seconds_stalled(informer: Informer[Any], now: dt.datetime) -> float:
    since = informer.stalled_since
    return 0.0 if since is None else (now - since).total_seconds()


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything that a controller may need; nothing in it is ever None."""

    client: Client
    clock: Clock
    entropy: Entropy
    metrics: Metrics
    recorder: Recorder
    informers: InformerFactory
    gates: FeatureGates = field(default_factory=FeatureGates)
    limits: Limits = field(default_factory=Limits)  # the administrator's, for every eviction request
    fencing_job_namespace: str = ""  # where Jobs of FencingPolicies may run; nowhere where it is empty
    # Addresses that fence agents may call although they are not of another machine, such as 127.0.0.1.
    fencing_addresses: tuple[Network, ...] = ()
    # For how many seconds another controller is left to work on lifecycle.k8s.io, before this is asked again.
    lifecycle_pause: Callable[[], float] = float
    # One for all controllers of the process: what holds one of them up is reported by others.
    refusals: RefusedWrites = field(default_factory=RefusedWrites)
