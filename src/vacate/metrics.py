"""Metric definitions that more than one package uses, over one registry that is passed in.

The names are those that Kubernetes components export, so that existing dashboards fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

_PIECE = 500  # series written at once: few enough to let others have a turn
_DRAIN_BUCKETS = (10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, 86_400)
_QUEUE_BUCKETS = tuple(1e-8 * 10**n for n in range(12))

BYPASSES = ("deadline", "pinned-request", "limit", "prepared", "bridge")
"""Causes for which pods are removed past a disruption budget or an interceptor."""


class MetricSource(Protocol):
    """Something that makes series when they are asked for."""

    def collect(self) -> Iterable[Metric]:
        """The families, as they stand now."""
        ...


class Metrics:
    """The shared families. Resolve label children once and keep them: a look-up costs microseconds."""

    def __init__(self, registry: CollectorRegistry | None = None, *, per_request: bool = False) -> None:
        self.registry = registry or CollectorRegistry()
        # Whether single requests and their pods are named: where readers are known, or it is asked for.
        self.per_request = per_request
        self.requests = Counter(
            "apiserver_request",
            "Requests answered, by verb, resource and code.",
            ["verb", "group", "version", "resource", "subresource", "code"],
            registry=self.registry,
        )
        self.request_seconds = Histogram(
            "apiserver_request_duration_seconds",
            "Time to answer a request, watches aside.",
            ["verb", "resource"],
            registry=self.registry,
        )
        self.watches = Gauge(
            "apiserver_registered_watchers", "Open watches.", ["resource"], registry=self.registry
        )
        self.store_commits = Counter(
            "vacate_store_commits", "Batches that reached the disk.", registry=self.registry
        )
        self.store_records = Counter(
            "vacate_store_records", "Records that reached the disk.", registry=self.registry
        )
        self.store_bytes = Gauge(
            "vacate_store_object_bytes", "Bytes that the stored objects count for.", registry=self.registry
        )
        self.queue_depth = Gauge(
            "workqueue_depth", "Keys that wait.", ["name", "controller"], registry=self.registry
        )
        self.queue_adds = Counter(
            "workqueue_adds", "Keys added.", ["name", "controller"], registry=self.registry
        )
        self.queue_retries = Counter(
            "workqueue_retries",
            "Keys added again after a failure.",
            ["name", "controller"],
            registry=self.registry,
        )
        self.queue_seconds = Histogram(
            "workqueue_queue_duration_seconds",
            "How long a key waited.",
            ["name", "controller"],
            buckets=_QUEUE_BUCKETS,
            registry=self.registry,
        )
        self.work_seconds = Histogram(
            "workqueue_work_duration_seconds",
            "How long a key was worked on.",
            ["name", "controller"],
            buckets=_QUEUE_BUCKETS,
            registry=self.registry,
        )
        self.unfinished_seconds = Gauge(
            "workqueue_unfinished_work_seconds",
            "How long the keys that are worked on have been so far, all together.",
            ["name", "controller"],
            registry=self.registry,
        )
        self.reconciles = Counter(
            "controller_runtime_reconcile",
            "Reconciliations, by outcome.",
            ["controller", "result"],
            registry=self.registry,
        )
        self.leader = Gauge(
            "leader_election_master_status", "1 while this process leads.", ["name"], registry=self.registry
        )
        self.evictions = Counter(
            "vacate_evictions",
            "Evictions that the eviction request controller asked for, by result.",
            ["result"],
            registry=self.registry,
        )
        self.bypasses = Counter(
            "vacate_bypasses",
            "Pods that were removed past a disruption budget or an interceptor, by cause.",
            ["cause"],
            registry=self.registry,
        )
        self.node_drain_seconds = Histogram(
            "vacate_node_drain_duration_seconds",
            "Time from the turn of a node until it was drained.",
            buckets=_DRAIN_BUCKETS,
            registry=self.registry,
        )
        self.drain_seconds = Histogram(
            "vacate_drain_duration_seconds",
            "Time from the turn of the first node of a NodeMaintenance until all were drained.",
            buckets=_DRAIN_BUCKETS,
            registry=self.registry,
        )
        self.force_deletions = Counter(
            "vacate_pod_force_deletions",
            "Requests to remove a pod before its node confirmed the end of its processes, by result.",
            ["result"],
            registry=self.registry,
        )
        self.pod_gc_deletions = Counter(
            "pod_gc_collector_force_delete_pods",
            "Pods that pod GC removed, by reason.",
            ["namespace", "reason"],
            registry=self.registry,
        )
        self.pod_gc_errors = Counter(
            "pod_gc_collector_force_delete_pod_errors",
            "Pods that pod GC could not remove, by reason.",
            ["namespace", "reason"],
            registry=self.registry,
        )
        self.fences = Counter(
            "vacate_fencing_results",
            "What fences came to, by the reason of their Events.",
            ["reason"],
            registry=self.registry,
        )
        self.fencing_failing = Gauge(
            "vacate_fencing_failing_nodes",
            "Nodes whose fence failed or is unclear, so that nothing of them is released.",
            ["policy"],
            registry=self.registry,
        )
        self.volumes_shared = Gauge(
            "vacate_exclusive_volumes_shared",
            "Exclusive volumes with which pods run on several nodes.",
            registry=self.registry,
        )
        self.clock_offset = Gauge(
            "vacate_clock_offset_seconds",
            "How far the API server's clock is ahead of this machine's.",
            registry=self.registry,
        )
        self.turns = Counter(
            "vacate_turns_ended",
            "Turns of interceptors that ended while their request went on, by result.",
            ["result"],
            registry=self.registry,
        )
        self.hook_calls = Counter(
            "vacate_hook_calls",
            "Calls of hooks by HTTP, by target, action and what was answered.",
            ["target", "action", "result"],
            registry=self.registry,
        )
        self.hook_call_seconds = Histogram(
            "vacate_hook_call_seconds",
            "Time that a hook took to answer a call, or that was waited for an answer.",
            ["target"],
            registry=self.registry,
        )
        self.hooks_ended = Counter(
            "vacate_hooks_ended",
            "Hooks that were run before an eviction, by sort and result.",
            ["hook", "result"],
            registry=self.registry,
        )
        self.throttled = Counter(
            "vacate_client_throttled",
            "Requests that a busy API server rejected with 429 and Retry-After.",
            ["method"],
            registry=self.registry,
        )
        self.informer_unreadable = Counter(
            "vacate_informer_unreadable",
            "States of objects that could not be decoded and were skipped.",
            ["name", "resource"],
            registry=self.registry,
        )
        self.informer_unreadable_objects = Gauge(
            "vacate_informer_unreadable_objects",
            "Objects whose newest state cannot be decoded.",
            ["name", "resource"],
            registry=self.registry,
        )
        self.informer_stalled_seconds = Gauge(
            "vacate_informer_stalled_seconds",
            "For how long no change can have arrived; 0 while changes arrive.",
            ["name", "resource"],
            registry=self.registry,
        )
        self._shown: dict[
            str, MetricSource
        ] = {}  # by name, so that a part that starts anew shows its series once

    def show(self, name: str, collector: MetricSource) -> None:
        """Show the collector's series under a name, instead of what was shown under it before."""
        before = self._shown.get(name)
        if before is not None:
            self.registry.unregister(before)
        self._shown[name] = collector
        self.registry.register(collector)


class Unmeasured(Metrics):
    """The same where nobody reads them, as in most simulations: nothing is kept."""

    def __init__(self) -> None:
        super().__init__()
        for name, family in list(vars(self).items()):
            if isinstance(family, Counter | Gauge | Histogram):
                setattr(self, name, _Nothing())


class _Nothing:
    """Stands for a family and for each of its children."""

    def labels(self, *_values: str) -> _Nothing:
        return self

    def inc(self, *_values: object) -> None:
        pass

    dec = set = observe = set_function = remove = inc


Point = tuple[tuple[tuple[str, str], ...], float]
"""One series: its labels and its value."""


class LazyFamily(Metric):
    """A family whose series are made while they are read, as often as they are read: nothing is kept."""

    def __init__(self, name: str, text: str, kind: str, points: Callable[[], Iterator[Point]]) -> None:
        super().__init__(name, text, kind)
        self.points = points
        self.samples: Any = self

    def __iter__(self) -> Iterator[Sample]:
        for labels, value in self.points():
            yield Sample(self.name, dict(labels), value, None, None)

    def lines(self) -> Iterator[str]:
        """The series in the text form, some ten times as quick as through samples."""
        for labels, value in self.points():
            shown = ",".join([f'{key}="{_escaped(text)}"' for key, text in labels])
            yield f"{self.name}{{{shown}}} {value}\n" if labels else f"{self.name} {value}\n"


def exposition(registry: CollectorRegistry) -> Iterator[bytes]:
    """All metrics in the text form of Prometheus, piece by piece: a hundred thousand series take a while."""
    for family in registry.collect():
        if not isinstance(family, LazyFamily):
            yield generate_latest(_Single(family))
            continue
        yield generate_latest(_Single(Metric(family.name, family.documentation, family.type)))
        lines = family.lines()
        while piece := list(islice(lines, _PIECE)):  # a line may be empty: the family is still counting
            yield "".join(piece).encode()


def _escaped(text: str) -> str:
    if '"' in text or "\\" in text or "\n" in text:
        return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return text


class _Single:
    """A registry of one family."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterable[Metric]:
        return (self._family,)
