"""What controllers are built from: one value instead of ten arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from vacate.api.kinds import Kind
from vacate.cache.informer import Informer, Projection, Tuning
from vacate.cache.table import IndexFunction
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.features import FeatureGates
from vacate.metrics import Metrics
from vacate.runtime.events import Recorder

T = TypeVar("T")


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
    a process share its caches, so there is one projection for each kind.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        tuning: Tuning | None = None,
        projections: Mapping[str, Projection[Any]] | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._tuning = tuning or Tuning()
        self._projections = projections or {}
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
        found = self._informers.get(scope)
        if found is None:
            found = self._informers[scope] = self._make(kind, into, scope)
        if found.into is not into:
            raise TypeError(f"{kind.resource} is cached as {found.into.__name__}, not as {into.__name__}")
        found.add_indexes(indexes or {})
        return cast(Informer[T], found)

    def all(self) -> tuple[Informer[Any], ...]:
        """Every informer that someone asked for, oldest first."""
        return tuple(self._informers.values())

    def _make(self, kind: Kind, into: type[T], scope: Scope) -> Informer[T]:
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
            project=self._projections.get(kind.resource),
        )


@dataclass(frozen=True, slots=True)
class Deps:
    """Everything that a controller may need; nothing in it is ever None."""

    client: Client
    clock: Clock
    entropy: Entropy
    metrics: Metrics
    recorder: Recorder
    informers: InformerFactory
    gates: FeatureGates = field(default_factory=FeatureGates)
