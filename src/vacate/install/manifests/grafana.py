"""A Grafana dashboard: drains, evictions, active interceptors, refusals, and the health of the components."""

from __future__ import annotations

import json
from collections.abc import Sequence

from vacate.api.installednames import labels
from vacate.api.objects import Obj
from vacate.install.settings import LOCAL_PAGES, Settings

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_QUEUE = 'name="evictionrequests"'
_WIDTH, _HEIGHT = 12, 8
_OF_DRAIN = "{{maintenance}}"


def _quantile(share: float, metric: str, by: str, which: str, over: str = "5m") -> str:
    """Below what this share of them stay."""
    which = f"{{{which}}}" if which else ""
    return f"histogram_quantile({share}, sum by ({by}) (rate({metric}_bucket{which}[{over}])))"


def _late(metric: str, by: str, which: str) -> str:
    """Below what 99 of 100 stay."""
    return _quantile(0.99, metric, by, which)


# Always the most or the least of all managers: one that waits for its turn shows the same requests.
_NODE_DRAIN = "vacate_node_drain_duration_seconds"
_CALLS = "apiserver_admission_webhook_admission_duration_seconds"
_PANELS: Sequence[tuple[str, str, str, Sequence[tuple[str, str]]]] = (
    ("stat", "Drains by phase", "short", (("max by (phase) (vacate_drains) > 0", "{{phase}}"),)),
    ("timeseries", "Drains that need a person, for how long", "s", (
        ("time() - min by (maintenance) (vacate_drain_blocked_since_seconds)", _OF_DRAIN),
    )),
    ("timeseries", "Nodes left by drain", "short", (
        ("max by (maintenance) (vacate_drain_nodes_left)", _OF_DRAIN),
    )),
    ("timeseries", "Pods left by drain", "short", (
        ("max by (maintenance) (vacate_drain_pods_left)", _OF_DRAIN),
    )),
    ("timeseries", "Blockers of drains", "short", (
        ("max by (kind, resolution) (vacate_drain_blockers)", "{{kind}}, {{resolution}}"),
    )),
    ("timeseries", "Time to drain a node, in the last hour", "s", (
        (_quantile(0.5, _NODE_DRAIN, "le", "", "1h"), "half of them"),
        (_quantile(0.95, _NODE_DRAIN, "le", "", "1h"), "95 %"),
    )),
    ("timeseries", "Evictions by result", "ops", (
        ("sum by (result) (rate(vacate_evictions_total[5m]))", "{{result}}"),
    )),
    ("stat", "Open requests", "short", (("max(vacate_open_requests)", "open"),)),
    ("timeseries", "Requests by requester", "short", (
        ("max by (requester) (vacate_requester_requests)", "{{requester}}"),
    )),
    ("timeseries", "Turns by interceptor", "short", (
        ("max by (interceptor) (vacate_interceptor_turns)", "{{interceptor}}"),
    )),
    ("timeseries", "Oldest turn by interceptor", "s", (
        ("time() - min by (interceptor) (vacate_interceptor_oldest_turn_seconds)", "{{interceptor}}"),
    )),
    ("timeseries", "Requests whose eviction is refused", "short", (
        ("max(vacate_refused_requests)", "requests"),
        ("max(vacate_most_refusals)", "refusals of the one refused most"),
    )),
    ("timeseries", "Queue", "short", (
        (f"max(workqueue_depth{{{_QUEUE}}})", "waiting"),
        (f"sum(rate(workqueue_retries_total{{{_QUEUE}}}[5m]))", "retries a second"),
    )),
    ("timeseries", "Time in the queue, and of the work, 99 %", "s", (
        (_late("workqueue_queue_duration_seconds", "le", _QUEUE), "waiting"),
        (_late("workqueue_work_duration_seconds", "le", _QUEUE), "work"),
    )),
    ("stat", "Leaders", "short", (("sum(leader_election_master_status)", "leaders"),)),
    ("timeseries", "Calls of the webhook, 99 %", "s", (
        (_late(_CALLS, "le, name", 'name=~".*vacate[.]dev"'), "{{name}}"),
    )),
)  # fmt: skip


def dashboard(pages: str = LOCAL_PAGES) -> Obj:
    """The dashboard as Grafana imports it, with links to the pages at this address."""
    variable = {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"}
    return {
        "title": "Vacate",
        "uid": "vacate",
        "tags": ["vacate", "kubernetes"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [variable]},
        "links": [_pages(pages)],
        "panels": [_panel(pages, number, *one) for number, one in enumerate(_PANELS)],
    }


def dashboard_config_map(settings: Settings) -> Obj:
    """The same as a ConfigMap, for Grafana's sidecar."""
    marks = {**labels("dashboard"), "grafana_dashboard": "1"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "vacate-dashboard", "namespace": settings.namespace, "labels": marks},
        "data": {"vacate.json": json.dumps(dashboard(settings.web_url), indent=1) + "\n"},
    }


def _pages(address: str) -> Obj:
    """The pages of `vacate web`."""
    hint = "On your own machine, start `vacate web` first, or forward the pages of the cluster there."
    return {
        "type": "link", "title": "What holds drains: vacate web", "url": f"{address}/drains", "tooltip": hint,
        "targetBlank": True, "icon": "external link", "asDropdown": False, "includeVars": False,
        "keepTime": False, "tags": [],
    }  # fmt: skip


def _panel(
    pages: str, number: int, sort: str, title: str, unit: str, queries: Sequence[tuple[str, str]]
) -> Obj:
    place = {"x": number % 2 * _WIDTH, "y": number // 2 * _HEIGHT, "w": _WIDTH, "h": _HEIGHT}
    return {
        "id": number + 1,
        "type": sort,
        "title": title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, **_links(pages, queries)}, "overrides": []},
        "targets": [_target(chr(ord("A") + index), *query) for index, query in enumerate(queries)],
    }


def _links(pages: str, queries: Sequence[tuple[str, str]]) -> Obj:
    """A series of one drain leads to the page of the drain."""
    if all(legend != _OF_DRAIN for _, legend in queries):
        return {}
    url = f"{pages}/drains/${{__field.labels.maintenance}}"
    return {"links": [{"title": "What holds it, and what helps", "url": url, "targetBlank": True}]}


def _target(letter: str, expression: str, legend: str) -> Obj:
    return {"refId": letter, "expr": expression, "legendFormat": legend, "datasource": _SOURCE}
