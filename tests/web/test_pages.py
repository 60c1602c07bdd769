"""Pages of snapshots: what they say, and that it is true."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import click
import pytest
from msgspec.structs import replace as change

from vacate.api.objects import Obj
from vacate.api.times import parse_time
from vacate.api.types import Node, Pod, PodDisruptionBudget
from vacate.api.types.fencingpolicy import FencingPolicy
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cli.common.serveroptions import site_address
from vacate.client.codec import codec_for
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.install.check.findings import Finding, State
from vacate.install.manifests.grafana import dashboard
from vacate.testing.builders import node, pod
from vacate.views.explanation import explanation_of
from vacate.web.actions import CANCEL_DRAIN, DRAIN, Outcome
from vacate.web.components import Page, local_times
from vacate.web.markup import Element, el, link_away, parts_of, to_html
from vacate.web.pages.act import done_page, preview_page
from vacate.web.pages.blockers import blockers_page
from vacate.web.pages.drains import drains_page
from vacate.web.pages.fencing import fencing_page
from vacate.web.pages.frame import body_of, document
from vacate.web.pages.health import health_page
from vacate.web.pages.interceptors import interceptors_page
from vacate.web.pages.node import node_page, nodes_page
from vacate.web.pages.plan import PlanRun, plan_page
from vacate.web.pages.pod import of_drains, pod_page
from vacate.web.pages.requests import requests_page
from vacate.web.site import trouble
from vacate.web.snapshot import Snapshot

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 23, 50, tzinfo=dt.UTC)


def text(page: Page | Element) -> str:
    """What is read on it."""
    whole = el("div", "", page.main) if isinstance(page, Page) else page
    return "".join(_texts(whole))


def _texts(whole: Element) -> list[str]:
    return [one if isinstance(one, str) else "".join(_texts(one)) for one in whole.children]


def blocked(requester: str = "me.example.com") -> Snapshot:
    """An eviction that a budget holds, outside of all drains."""
    one = pod("db-0", node="node-1", ready=True, labels={"app": "db"}, stored=True)
    meta = one["metadata"]
    budget: Obj = {
        "metadata": {"name": "db", "namespace": "default", "generation": 1},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}},
        "status": {"expectedPods": 1, "desiredHealthy": 1, "currentHealthy": 1, "observedGeneration": 1},
    }
    stamp = {"status": "True", "message": "", "lastTransitionTime": "2026-03-01T23:00:00Z"}
    request: Obj = {
        "metadata": {
            "name": meta["uid"], "namespace": "default", "uid": "r", "labels": {"app": "db"},
            "creationTimestamp": "2026-03-01T22:00:00Z",
        },
        "spec": {
            "target": {"podRef": {"name": "db-0", "uid": meta["uid"]}},
            "requesters": [{"name": requester}],
        },
        "status": {
            "conditions": [{"type": "Progressing", "reason": "Blocked", **stamp}],
            "message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "podEvictionStatus": {"failedAPIEvictionCounter": 3},
        },
    }  # fmt: skip
    read = codec_for(EVICTION_REQUEST.wire).convert(request)
    return Snapshot(
        NOW,
        pods=[codec_for(Pod).convert(one)],
        budgets=[codec_for(PodDisruptionBudget).convert(budget)],
        requests=[EVICTION_REQUEST.read(read)],
    )


def test_an_eviction_that_is_held_outside_of_drains_is_not_called_well() -> None:
    page = drains_page(blocked())
    assert "Stuck: 1 cause needs you" in text(page)
    assert "Nothing is stuck" not in text(page)
    assert "default/db never allows an eviction" in text(page)
    assert page.title.startswith("▲")


def test_a_pod_with_requests_of_two_apis_is_shown_once_on_every_page() -> None:
    held = blocked()
    two = replace(held, requests=[*held.requests, *held.requests])
    for page in (drains_page(two), blockers_page(two)):
        parts_of(body_of(two, page))
        assert "1 cause needs you" in text(page)
    assert text(blockers_page(two)).count("default/db-0") == text(blockers_page(held)).count("default/db-0")


def test_what_a_request_waits_for_has_the_words_of_the_blockers() -> None:
    shown = text(requests_page(blocked()))
    assert "Disruption budget default/db never allows an eviction" in shown


def test_a_filter_chooses_rows_and_not_the_verdict() -> None:
    def drain(name: str, reason: str) -> NodeMaintenance:
        row = {"name": f"node-of-{name}", "phase": "Draining"}
        return codec_for(NodeMaintenance).convert({
            "metadata": {"name": name},
            "spec": {"nodes": [row["name"]], "reason": reason},
            "status": {"phase": "Draining", "nodesTotal": 1, "nodes": [row]},
        })  # fmt: skip

    two = Snapshot(NOW, maintenances=[drain("kernel", "Security update"), drain("disk", "New disks")])
    for query in ("kernel", "node-of-kernel", "security UPDATE"):
        shown = text(drains_page(two, query=query))
        assert "2 drains are under way" in shown
        assert "Security update" in shown
        assert "New disks" not in shown
    down = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    lost = [codec_for(Node).convert({**node(name), **down}) for name in ("a-1", "b-1")]
    shown = text(fencing_page(Snapshot(NOW, nodes=lost), "a-1"))
    assert "2 nodes are lost" in shown
    assert "vacate fence a-1" in shown
    assert "vacate fence b-1" not in shown


@pytest.mark.parametrize("make", [requests_page, fencing_page, nodes_page, interceptors_page, drains_page])
def test_a_filter_that_leaves_nothing_says_so_and_changes_no_title(
    make: Callable[..., Page],
) -> None:
    held, row = blocked(), {"name": "node-1", "phase": "Draining"}
    silent = pod("db-1", node="node-1", interceptors=["backup.example.com"], stored=True)
    drain = {"metadata": {"name": "kernel"}, "spec": {"nodes": ["node-1"]}, "status": {"nodes": [row]}}
    whole = replace(
        held,
        pods=[*held.pods, codec_for(Pod).convert(silent)],
        nodes=[codec_for(Node).convert(node("node-1"))],
        maintenances=[codec_for(NodeMaintenance).convert(drain)],
    )
    page, filtered = make(whole), make(whole, query="no such name")
    assert filtered.title == page.title
    assert text(filtered.main[0]) == text(page.main[0])
    assert "matches the filter." in text(filtered)
    assert "matches the filter." not in text(page)


def test_a_page_whose_verdict_needs_a_person_says_so_in_its_title() -> None:
    fence = {"name": "a", "phase": "Failed", "message": "no answer"}
    policy = codec_for(FencingPolicy).convert({"metadata": {"name": "rack"}, "status": {"nodes": [fence]}})
    held = replace(blocked(), nodes=[codec_for(Node).convert(node("node-1"))])
    for page in (
        fencing_page(Snapshot(NOW, policies=[policy])),
        requests_page(held),
        node_page(held, "node-1"),
        plan_page(held, ["node-1"], PlanRun(Outcome(5, "blocks"))),
        trouble("This page cannot be shown", "no answer"),
    ):
        assert page is not None
        assert page.title.startswith("▲ ")
        assert not page.title.startswith("▲ ▲")
    assert "Stuck: 1 cause needs you" in text(node_page(held, "node-1") or el("p"))
    assert not requests_page(Snapshot(NOW)).title.startswith("▲")


def test_a_filter_of_blockers_chooses_rows_and_not_the_verdict() -> None:
    for query, is_shown in (("ledger", False), ("db-0", True)):
        page = blockers_page(blocked(), query)
        assert "Stuck: 1 cause needs you" in text(page)
        assert page.title == "▲ 1 needs you: Blockers"
        assert ("never allows an eviction" in text(page)) == is_shown
        assert ("No cause matches the filter." in text(page)) != is_shown
    assert "Nothing is blocked" in text(blockers_page(Snapshot(NOW), "db"))


def test_a_page_of_nodes_says_in_its_title_that_one_is_stuck() -> None:
    budget = {
        "node": "a",
        "namespace": "x",
        "pod": "y",
        "kind": "DisruptionBudget",
        "name": "z",
        "message": "no",
    }
    drain = codec_for(NodeMaintenance).convert({
        "metadata": {"name": "kernel"},
        "spec": {"nodes": ["a"]},
        "status": {"phase": "Blocked", "nodesTotal": 1, "nodes": [{"name": "a", "phase": "Blocked"}],
                   "blockers": [{**budget, "resolution": "Manual"}], "blockersTotal": 1},
    })  # fmt: skip
    nodes = [codec_for(Node).convert(node(name)) for name in "ab"]
    page = nodes_page(Snapshot(NOW, nodes=nodes, maintenances=[drain]))
    assert "1 node is stuck in a drain" in text(page)
    assert page.title == "▲ 1 stuck: Nodes"


def test_names_in_findings_are_not_changed() -> None:
    found = [
        Finding("manager", State.OK, "vacate-up leads"),
        Finding("you", State.OK, "you may look"),
        Finding("rights", State.FAILED, "system:node:a may not list pods"),
    ]
    shown = text(health_page(Snapshot(NOW), found))
    for sentence in ("vacate-up leads.", "You may look.", "system:node:a may not list pods."):
        assert sentence in shown


def test_nodes_that_are_not_ready_are_not_claimed_to_report() -> None:
    nodes = [codec_for(Node).convert(node(name, ready=name != "c")) for name in "abc"]
    for made in (nodes_page, fencing_page):
        shown = text(made(Snapshot(NOW, nodes=nodes)))
        assert "1 node is not ready" in shown
        assert "nodes report" not in shown
        assert "All 2 nodes report" in text(nodes_page(Snapshot(NOW, nodes=nodes[:2])))


@pytest.mark.parametrize(
    ("code", "says", "can"),
    [
        (0, "Drain node-1?", True),
        (5, "would block until a person acts", True),
        (6, "left without room", True),
        (1, "Not possible: Drain node-1", False),
    ],
)
def test_a_dry_run_decides_what_can_be_confirmed(code: int, says: str, can: bool) -> None:
    page = preview_page(Snapshot(NOW), DRAIN, {"node": "node-1"}, Outcome(code, "printed"), "", "secret")
    shown = "".join(map(to_html, page.main))
    assert says in shown
    assert ('method="post"' in shown) == can
    assert "Nothing has been changed yet." in shown


def test_what_the_user_may_not_do_has_no_form() -> None:
    given = {"drain": "kernel"}
    page = preview_page(Snapshot(NOW), CANCEL_DRAIN, given, None, "You may not delete.", "secret")
    shown = "".join(map(to_html, page.main))
    assert "You may not delete." in shown
    assert "<form" not in shown


def test_a_page_that_is_made_once_is_not_called_live() -> None:
    page = preview_page(Snapshot(NOW), CANCEL_DRAIN, {"drain": "kernel"}, Outcome(0, ""), "", "secret")
    top = text(body_of(Snapshot(NOW), page))
    assert "As of " in top
    assert "Live" not in top
    assert "Live" in text(body_of(Snapshot(NOW), health_page(Snapshot(NOW), [])))


def test_without_the_script_a_page_reloads_and_that_of_an_action_does_not() -> None:
    """To load it again would run its command again."""
    live, snapshot = health_page(Snapshot(NOW), []), Snapshot(NOW)
    still = (
        preview_page(snapshot, CANCEL_DRAIN, {"drain": "kernel"}, Outcome(0, ""), "", "secret"),
        done_page(snapshot, CANCEL_DRAIN, {"drain": "kernel"}, Outcome(0, "")),
        trouble("This cannot be done", "why", still=True),
    )
    assert 'http-equiv="refresh"' in document(snapshot, live, "t", body_of(snapshot, live))
    for page in still:
        assert 'http-equiv="refresh"' not in document(snapshot, page, "", body_of(snapshot, page))


@pytest.mark.parametrize(
    ("sentence", "moment", "form"),
    [
        ("It times out by 23:55:10 UTC.", "2026-03-01T23:55:10Z", "clock-s"),
        ("It times out by 00:05:00 UTC (in 15m).", "2026-03-02T00:05:00Z", "clock-s"),
        ("It times out by 2026-03-02 00:05:00 UTC (in 15m).", "2026-03-02T00:05:00Z", "clock-s"),
        ("At 2026-03-04 01:02:03 UTC, it ends.", "2026-03-04T01:02:03Z", "whole"),
    ],
)
def test_times_in_sentences_are_those_of_the_reader(sentence: str, moment: str, form: str) -> None:
    shown = to_html(el("p", "", local_times(sentence, NOW)))
    assert f'data-t="{form}"' in shown
    assert f'datetime="{moment}"' in shown
    assert "UTC." not in shown
    assert "UTC " not in shown.partition("</time>")[2]


@pytest.mark.parametrize("sentence", ["", "at 25:00:00 UTC", "2026-13-41 00:00:00 UTC", "00:00:00 UTCX <b>"])
def test_what_is_no_time_stays_as_it_is(sentence: str) -> None:
    assert "".join(map(str, local_times(sentence, NOW))) == sentence


@pytest.fixture(params=["UTC", "America/New_York", "Pacific/Kiritimati"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The time zone of the machine."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize("stamp", ["0001-01-01T00:00:00Z", "9998-12-31T23:59:59Z"])
def test_no_time_that_others_write_is_a_defect(stamp: str) -> None:
    """A heartbeat, the time of a condition and a message; the first one is what Go writes for no time."""
    held, moment = blocked(), parse_time(stamp)
    request, (first,) = held.requests[0], held.requests[0].status.conditions
    odd = f"since 9999-12-31 23:59:59 UTC, or {stamp.replace('T', ' ').replace('Z', ' UTC')}"
    first = change(first, last_transition_time=moment, reason="Intercepting")
    over = change(first, type="Complete", reason="Evicted")
    for conditions in ([first], [first, over]):
        status = change(
            request.status, conditions=conditions, heartbeat_time=moment, message=odd,
            active_interceptor_name="a.b", expected_interceptor_finish_time=moment,
        )  # fmt: skip
        changed = change(request, status=status)
        snapshot = replace(held, requests=[changed])
        explanation = explanation_of(changed, held.pods[0], now=NOW)
        for page in (
            requests_page(snapshot),
            interceptors_page(snapshot),
            blockers_page(snapshot),
            pod_page(snapshot, "default", "db-0", explanation),
        ):
            assert len(to_html(body_of(snapshot, page))) < 100_000


def test_the_request_of_a_drain_is_cancelled_with_the_drain() -> None:
    assert of_drains(blocked(), "default", "db-0") == ""
    gone = blocked("kernel.nodemaintenance.vacate.dev")
    assert of_drains(gone, "default", "db-0") == ""  # nothing requests it again


def test_only_the_address_of_the_dashboard_leads_away() -> None:
    address = "https://grafana.example.com/d/vacate?orgId=1&x=%22"
    snapshot = Snapshot(NOW, dashboard=address)
    foot = to_html(body_of(snapshot, health_page(snapshot, [])))
    assert 'href="https://grafana.example.com/d/vacate?orgId=1&amp;x=%22"' in foot
    assert 'rel="noreferrer noopener"' in foot
    assert "over time" not in to_html(body_of(Snapshot(NOW), health_page(Snapshot(NOW), [])))
    with pytest.raises(ValueError, match="a link away leads to a site"):
        link_away("javascript:alert(1)", "x")
    with pytest.raises(ValueError, match="a page of this program"):
        el("a", "", "x", href=address)


@pytest.mark.parametrize(
    "given", ["javascript:alert(1)", "grafana", "https://", "https://a:b@c/", "http://[", "http://a\nb"]
)
def test_a_dashboard_has_the_address_of_a_site(given: str) -> None:
    with pytest.raises(click.BadParameter, match="is not the address of a site"):
        site_address(given)
    assert site_address("http://grafana:3000/d/vacate") == "http://grafana:3000/d/vacate"


def test_the_dashboard_leads_to_the_pages_and_a_drain_to_its_own() -> None:
    made = dashboard()
    assert [one["url"] for one in made["links"]] == ["http://127.0.0.1:7411/drains"]
    panels = [
        one for one in made["panels"] if any("maintenance" in t["legendFormat"] for t in one["targets"])
    ]
    assert len(panels) == 3
    for panel in panels:
        (link,) = panel["fieldConfig"]["defaults"]["links"]
        assert link["url"] == "http://127.0.0.1:7411/drains/${__field.labels.maintenance}"
