"""Metric definitions that more than one room uses, over one registry that is passed in.

The names are those that Kubernetes components export, so that existing dashboards fit.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

_QUEUE_BUCKETS = tuple(1e-8 * 10**n for n in range(12))


class Metrics:
    """The shared families. Resolve label children once and keep them: a look-up costs microseconds."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
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
        self.reconciles = Counter(
            "controller_runtime_reconcile",
            "Reconciliations, by outcome.",
            ["controller", "result"],
            registry=self.registry,
        )
        self.leader = Gauge(
            "leader_election_master_status", "1 while this process leads.", ["name"], registry=self.registry
        )
