"""Vacate's metrics, scraped by Prometheus as its operator configures it, while pods leave and stay."""

from __future__ import annotations

import asyncio
import contextlib
import re
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.evictions.namespace import EvictionNamespace
from support.realcluster.evictions import HOME, RealCluster
from support.realcluster.kube_peers import define, undefine
from support.realcluster.peers import definitions, peer
from support.realcluster.prometheus import (
    Prometheus,
    endpoint_slice,
    everything_here,
    nodes_of,
    operating,
    scraping,
    selector_of,
)
from support.realcluster.promtool import check_metrics
from support.waiting import LIMIT, until
from vacate.api.installednames import MANAGER, WEBHOOK
from vacate.api.kinds import FENCINGPOLICIES, NODEMAINTENANCES
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.errors import VacateError
from vacate.install import Monitoring, Settings
from vacate.install.manifests.grafana import dashboard
from vacate.install.manifests.monitoring import alerts
from vacate.install.objectkinds import path_of
from vacate.install.objects import parts

pytestmark = pytest.mark.timeout(900)

DOCUMENT = Path(__file__).parents[4] / "docs/reference/metrics.md"
KINDS = ("prometheuses", "prometheusrules", "servicemonitors", "podmonitors", "probes")
SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{HOME}/endpointslices"
PROMETHEUSES = f"/apis/monitoring.coreos.com/v1/namespaces/{HOME}/prometheuses"
ADDRESSES = {MANAGER: ("192.0.2.1", "192.0.2.2"), WEBHOOK: ("192.0.2.3",)}
RULES = alerts(Settings())["spec"]["groups"][0]["rules"]
FIGURES = {"turns": 1, "refused": [1.0], "asking": [2.0], "active": [1.0]}
INTERCEPTOR, REQUESTER = "slow.example.com", "watched.example.com"
_METRICS = r"health and metrics on http://127\.0\.0\.1:(\d+)"
_LABEL = re.compile(r"\{\{ ?(?:\$labels\.)?(\w+) ?\}\}")
_ROW = re.compile(r"^\| (?P<names>`[^|]*`) \|(?:(?P<labels>[^|]*)\|)? [^|]+ \|$", re.MULTILINE)
_TIMEOUT = LIMIT


def ports(real: RealCluster) -> dict[str, int]:
    """Where the processes expose metrics, by the address that their pods would have."""
    running = dict(
        zip((*ADDRESSES[MANAGER], *ADDRESSES[WEBHOOK]), (*real.managers, real.webhook), strict=True)
    )
    return {address: int(one.wait_for(_METRICS)) for address, one in running.items()}


@contextlib.contextmanager
def watched(real: RealCluster) -> Iterator[Prometheus]:
    """Monitoring as an installation has it, and Prometheus, which finds it there."""
    made = parts(Settings(monitoring=Monitoring.everything()))
    services = [one for part in ("manager", "webhook") for one in made[part] if one["kind"] == "Service"]
    wanted = [*services, *made["service-monitors"], *made["alerts"], *made["dashboard"]]
    there = [(path_of(obj, collection=True), obj) for obj in wanted]
    there += [(SLICES, endpoint_slice(service, HOME, found)) for service, found in ADDRESSES.items()]
    there += [(PROMETHEUSES, everything_here(real.plane, HOME, ports(real)))]
    with contextlib.ExitStack() as stack:
        kinds = definitions("prometheus-crds", *KINDS)
        define(real.kubeconfig, kinds)
        stack.callback(undefine, real.kubeconfig, kinds)
        for path, obj in there:
            real.admin.create(f"{path}?fieldValidation=Strict", obj)
            stack.callback(real.admin.delete, f"{path}/{obj['metadata']['name']}")
        stack.enter_context(operating(real.plane))
        yield stack.enter_context(scraping(real.plane, HOME, len(ADDRESSES)))


@pytest.fixture
async def busy(real: RealCluster, place: EvictionNamespace) -> AsyncIterator[EvictionNamespace]:
    """A pod that is gone, one that a budget keeps, one with a slow interceptor, a policy, a held drain."""
    gone = await place.pod("gone")
    kept = await place.pod("kept", labels={"app": "kept"})
    slow = await place.pod("slow", INTERCEPTOR)
    await place.budget("kept", minAvailable=1)
    for one in (gone, kept, slow):
        await place.ask(one, REQUESTER)
    await place.until_complete(gone)
    await place.until_active(slow, INTERCEPTOR)
    await place.until_request(kept, _is_refused, "it is refused")
    name, nowhere = f"watched-{place.namespace}", {"matchLabels": {"no-such-label": "x"}}
    spec = {"nodeSelector": nowhere, "agent": {"command": {"program": "fence_none"}}}
    await place.client.create(FENCINGPOLICIES, {"metadata": {"name": name}, "spec": spec})
    # Nobody would create it anew: the drain waits for a person.
    held = await place.pod("held", labels={"app": "held"})
    pods = {"selector": {"matchLabels": {"app": "held"}}}
    drain = {"metadata": {"name": name}, "spec": {"nodes": [held["spec"]["nodeName"]], "pods": pods}}
    await place.client.create(NODEMAINTENANCES, drain)

    async def is_held() -> bool:
        found = await place.client.get(NODEMAINTENANCES, name)
        return bool(found.get("status", {}).get("blockers"))

    await place.until(is_held, "the drain is held")
    yield place
    await place.client.delete(NODEMAINTENANCES, name)
    await place.client.delete(FENCINGPOLICIES, name)


async def test_prometheus_sees_all_that_alerts_and_dashboard_speak_of(
    real: RealCluster, busy: EvictionNamespace
) -> None:
    peer("prometheus")
    await _without_webhook(real, busy)
    with watched(real) as prometheus:
        await asyncio.to_thread(_look, prometheus)


async def test_the_processes_expose_the_metrics_of_the_document(
    real: RealCluster, busy: EvictionNamespace
) -> None:
    leader = real.leader()
    assert leader is not None
    for program, *sections in (
        (leader, "Eviction requests", "Every controller"),
        (real.webhook, "The webhook"),
    ):
        text = _exposed(int(program.wait_for(_METRICS)))
        assert check_metrics(text) == ""
        metrics = _labels_by_metric(text)
        for name, labels in _documented(*sections):
            assert name in metrics, name
            assert labels is None or metrics[name] - {"le"} == labels, name


def _look(prometheus: Prometheus) -> None:
    until(lambda: prometheus.query("sum(up)") == [({}, 4.0)], _TIMEOUT)
    (group,) = prometheus.ask("rules")["groups"]
    assert [rule["name"] for rule in group["rules"]] == [rule["alert"] for rule in RULES]
    for rule in RULES:
        _has_data(prometheus, rule["expr"])
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            _has_data(prometheus, target["expr"])
            shown = until(partial(prometheus.query, target["expr"]), _TIMEOUT)
            for labels, _ in shown:
                assert set(_LABEL.findall(target["legendFormat"])) <= set(labels), target["legendFormat"]
    for alert in ("VacateEvictionRateHigh", "VacateInterceptorOld", "VacateQueueDeep", "VacateNoLeader"):
        _becomes(partial(prometheus.query, _expression(alert)), [])
    _becomes(partial(_figures, prometheus), FIGURES)
    until(
        lambda: all(rule["health"] == "ok" for rule in prometheus.ask("rules")["groups"][0]["rules"]),
        _TIMEOUT,
    )


def _has_data(prometheus: Prometheus, expression: str) -> None:
    """Every selector finds series, and they have the labels by which they are grouped."""
    tree = prometheus.parsed(expression)
    selectors = [selector_of(node) for node in nodes_of(tree) if "matchers" in node]
    assert selectors, expression
    grouping = {label for node in nodes_of(tree) for label in node.get("grouping") or ()}
    for selector in selectors:
        for labels, _ in until(partial(prometheus.query, selector), _TIMEOUT):
            assert grouping <= set(labels), (expression, labels)


def _figures(prometheus: Prometheus) -> Obj:
    """What alerts and dashboard show: each request once, although a manager that waits shows it as well."""
    turns = prometheus.query(_expression("VacateInterceptorOld").partition(" > ")[0])
    refused = prometheus.query("max(vacate_refused_requests)")
    asking = prometheus.query(_shown("Requests by requester"))
    active = prometheus.query(_shown("Turns by interceptor"))
    return {
        "turns": len([value for labels, value in turns if labels["interceptor"] == INTERCEPTOR]),
        "refused": [value for _, value in refused],
        "asking": [value for labels, value in asking if labels["requester"] == REQUESTER],
        "active": [value for labels, value in active if labels["interceptor"] == INTERCEPTOR],
    }


def _becomes(ask: Callable[[], object], wanted: object) -> None:
    """A busy machine may miss a scrape, and then a moment has no data."""
    with contextlib.suppress(AssertionError):
        until(lambda: ask() == wanted, _TIMEOUT)
    assert ask() == wanted


def _expression(alert: str) -> str:
    (expression,) = [rule["expr"] for rule in RULES if rule["alert"] == alert]
    return str(expression)


def _shown(title: str) -> str:
    (expression,) = [
        target["expr"]
        for panel in dashboard()["panels"]
        if panel["title"] == title
        for target in panel["targets"]
    ]
    return str(expression)


async def _without_webhook(real: RealCluster, busy: EvictionNamespace) -> None:
    """Requests are refused and heartbeats pass while nobody answers: API servers count both."""
    slow = await busy.until_active(await busy.ready("slow"), INTERCEPTOR)
    late = await busy.pod("late")
    assert real.webhook.stop() == 0
    with pytest.raises(VacateError, match="failed calling webhook"):
        await busy.ask(late, REQUESTER)
    await busy.report(slow, message="nobody looks")
    real.start_webhook()


def _is_refused(request: EvictionRequest) -> bool:
    status = request.status.pod_eviction_status
    return bool(status and status.failed_api_eviction_counter)


def _exposed(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def _labels_by_metric(text: str) -> dict[str, set[str]]:
    """The names of all metrics, and their labels."""
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            for name in (sample.name, family.name):
                labels.setdefault(name, set()).update(sample.labels)
    return labels


def _documented(*sections: str) -> list[tuple[str, set[str] | None]]:
    """The metrics in the tables of these sections, and their labels where the table has them."""
    found = []
    for part in DOCUMENT.read_text().split("\n## ")[1:]:
        if part.partition("\n")[0] not in sections:
            continue
        with_labels = "| labels |" in part
        for row in _ROW.finditer(part):
            labels = set(re.findall(r"`(\w+)`", row["labels"] or "")) if with_labels else None
            found += [(name, labels) for name in re.findall(r"`(\w+)`", row["names"])]
    assert len(found) >= 4
    return found
