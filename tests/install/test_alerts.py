"""Alerts, judged by Prometheus itself: each is told when it should be, and not when it should not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.promtool import Story, Told, check_rules, check_story, parse
from vacate.install import Monitoring, Settings, objects
from vacate.install.manifests.grafana import dashboard
from vacate.install.manifests.monitoring import alerts

pytestmark = pytest.mark.process

RULES = alerts(Settings())
ACCEPTED, REFUSED = (f'vacate_evictions_total{{result="{result}"}}' for result in ("accepted", "refused"))
TURN = 'vacate_interceptor_oldest_turn_seconds{interceptor="a.example.com",instance="m"}'
DEPTH = 'workqueue_depth{name="evictionrequests",controller="evictionrequests"}'
FIRST, SECOND = (
    f'leader_election_master_status{{name="vacate-manager",instance="{one}"}}' for one in ("a", "b")
)
_HOOK = 'name="evictionrequests.mutate.vacate.dev",type="admit"'
UNREACHED = (
    f'apiserver_admission_webhook_rejection_count{{{_HOOK},operation="CREATE",'
    'error_type="calling_webhook_error",rejection_code="0"}'
)
PASSED = f"apiserver_admission_webhook_fail_open_count{{{_HOOK}}}"

RATE = Told("More than 300 pods a minute are being evicted. If that is not intended, switch Vacate off.")
BUDGETS = Told("Most evictions are refused: disruption budgets allow less than is asked for.")
ENDED = 'vacate_turns_ended_total{result="failed",instance="m"}'
UNPREPARED = Told(
    "Pods were evicted unprepared: an interceptor did not complete (failed). Warning Events name them: "
    "`kubectl get events -A --field-selector type=Warning`.",
    {"result": "failed"},
)
OLD = Told(
    "Interceptor a.example.com has had its turn with a pod for more than six hours. `vacate status -A` names "
    "the pod.",
    {"interceptor": "a.example.com"},
)
DEEP = Told("More than 500 eviction requests wait for the controller's attention.")
NOBODY = Told("No vacate manager works on eviction requests.")
STALLED = Told(
    "vacate-manager has received no changes of pods for more than five minutes and acts on what it knew "
    "before. Its log and /readyz?verbose say why.",
    {"name": "vacate-manager", "resource": "pods"},
)
UNREADABLE = Told(
    "vacate-manager skips 2 objects of pods because it cannot decode them. Its log names each, with "
    "the field to correct.",
    {"name": "vacate-manager", "resource": "pods"},
)
_INFORMER = '{name="vacate-manager",resource="pods",instance="m"}'
SILENT, ODD = f"vacate_informer_stalled_seconds{_INFORMER}", f"vacate_informer_unreadable_objects{_INFORMER}"
AWAY = Told(
    "API servers cannot reach the webhook. New eviction requests are refused; heartbeats and pods "
    "pass unchecked."
)
ENDS = Told(
    "The webhook's certificate ends within five days and is not renewed. Look at the log of deployment "
    "vacate-certificates, or at cert-manager."
)
CERTIFICATE = 'vacate_webhook_certificate_not_after_seconds{instance="a"}'

HELD = Told(
    "A fence of FencingPolicy rack failed or is unclear, and the pods of the node are held. "
    "`kubectl describe fencingpolicy rack` says why.",
    {"policy": "rack"},
)
FENCE = 'vacate_fencing_failing_nodes{instance="a",policy="rack"}'

STORIES = {
    "many leave": Story("VacateEvictionRateHigh", {ACCEPTED: "0+400x30"}, 20, RATE),
    "many leave together": Story(
        "VacateEvictionRateHigh",
        {ACCEPTED: "0+200x30", ACCEPTED.replace("{", '{instance="b",'): "0+200x30"}, 20, RATE,
    ),
    "some leave": Story("VacateEvictionRateHigh", {ACCEPTED: "0+200x30"}, 20),
    "many leave for a moment": Story("VacateEvictionRateHigh", {ACCEPTED: "0+400x5 2000x30"}, 14),
    "many are refused": Story("VacateEvictionRateHigh", {ACCEPTED: "0x30", REFUSED: "0+400x30"}, 20),

    "most are refused": Story("VacateEvictionsRefused", {ACCEPTED: "0+1x90", REFUSED: "0+5x90"}, 70, BUDGETS),
    "all are refused": Story("VacateEvictionsRefused", {ACCEPTED: "0x90", REFUSED: "0+1x90"}, 70, BUDGETS),
    "no success was ever counted": Story("VacateEvictionsRefused", {REFUSED: "0+1x90"}, 70, BUDGETS),
    "many are refused, and many are not": Story(
        "VacateEvictionsRefused", {ACCEPTED: "0+2x90", REFUSED: "0+5x90"}, 70
    ),
    "nothing happens": Story("VacateEvictionsRefused", {ACCEPTED: "7x90", REFUSED: "80x90"}, 70),
    "nothing has ever happened": Story("VacateEvictionsRefused", {}, 70),

    "a turn of seven hours": Story("VacateInterceptorOld", {TURN: "0x480"}, 7 * 60, OLD),
    "a turn that two managers show": Story(
        "VacateInterceptorOld", {TURN: "0x400", TURN.replace('"m"', '"n"'): "_x380 0x100"}, 7 * 60, OLD
    ),
    "a turn of five hours": Story("VacateInterceptorOld", {TURN: "0x480"}, 5 * 60),
    "a turn that is over": Story("VacateInterceptorOld", {TURN: "0x380"}, 7 * 60),
    "a turn that has just begun": Story("VacateInterceptorOld", {TURN: "24000x480"}, 7 * 60),

    "an interceptor failed": Story("VacatePodsUnprepared", {ENDED: "0x5 1x60"}, 20, UNPREPARED),
    "it failed long ago": Story("VacatePodsUnprepared", {ENDED: "0x5 1x120"}, 60),
    "some complete": Story("VacatePodsUnprepared", {ENDED.replace("failed", "completed"): "0+1x60"}, 20),

    "a fence failed": Story("VacateFencingFailed", {FENCE: "0x5 1x30"}, 10, HELD),
    "a fence that went well": Story("VacateFencingFailed", {FENCE: "0x5 1x3 0x30"}, 20),

    "a deep queue": Story("VacateQueueDeep", {DEPTH: "600x30"}, 15, DEEP),
    "a queue that gets shorter": Story("VacateQueueDeep", {DEPTH: "600x8 400x30"}, 15),
    "the queue of another": Story("VacateQueueDeep", {DEPTH.replace("evictionr", "r"): "600x30"}, 15),

    "two who wait": Story("VacateNoLeader", {FIRST: "0x30", SECOND: "0x30"}, 10, NOBODY),
    "nobody is there": Story("VacateNoLeader", {}, 10, NOBODY),
    "one leads": Story("VacateNoLeader", {FIRST: "0x30", SECOND: "1x30"}, 10),
    "one takes over": Story("VacateNoLeader", {FIRST: "1x5 0x30", SECOND: "0x7 1x30"}, 10),

    "no changes arrive": Story("VacateInformerStalled", {SILENT: "0x5 0+60x30"}, 20, STALLED),
    "changes arrive again": Story("VacateInformerStalled", {SILENT: "0x5 0+60x4 0x30"}, 20),
    "two objects that nobody can read": Story("VacateObjectsUnreadable", {ODD: "0x5 2x30"}, 20, UNREADABLE),
    "an object that was corrected": Story("VacateObjectsUnreadable", {ODD: "0x5 2x8 0x30"}, 20),

    "nobody answers": Story("VacateWebhookAway", {UNREACHED: "0+2x30"}, 10, AWAY),
    "heartbeats pass unchecked": Story("VacateWebhookAway", {PASSED: "0+2x30"}, 10, AWAY),
    "the webhook refuses": Story(
        "VacateWebhookAway", {UNREACHED.replace("calling_webhook_error", "no_error"): "0+2x30"}, 10
    ),
    "the webhook of another": Story("VacateWebhookAway", {UNREACHED.replace("vacate", "x"): "0+2x30"}, 10),
    "it was away yesterday": Story("VacateWebhookAway", {UNREACHED: "9x30", PASSED: "9x30"}, 10),

    "a certificate that nobody renews": Story("VacateCertificateEnds", {CERTIFICATE: "430000x30"}, 15, ENDS),
    "a pod that shows an old one": Story(
        "VacateCertificateEnds",
        {CERTIFICATE: "430000x30", CERTIFICATE.replace('"a"', '"b"'): "900000x30"}, 15, ENDS,
    ),
    "a certificate that is due for renewal": Story("VacateCertificateEnds", {CERTIFICATE: "800000x30"}, 15),
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
def test_an_alert_is_told_when_it_should_be(story: Story, tmp_path: Path) -> None:
    assert "SUCCESS" in check_story(tmp_path, RULES, story)


def test_every_alert_has_a_story_in_which_it_is_told_and_one_in_which_it_is_not() -> None:
    known = {rule["alert"] for group in RULES["spec"]["groups"] for rule in group["rules"]}
    told = {story.alert for story in STORIES.values() if story.told}
    silent = {story.alert for story in STORIES.values() if not story.told}
    assert told == silent == known


def test_prometheus_has_nothing_to_say_against_the_rules(tmp_path: Path) -> None:
    assert f"SUCCESS: {len(RULES['spec']['groups'][0]['rules'])} rules found" in check_rules(tmp_path, RULES)


def test_prometheus_understands_every_expression_of_the_dashboard() -> None:
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            assert parse(target["expr"]).strip()


def test_the_dashboard_of_the_cluster_is_the_one_to_import() -> None:
    board = [
        one for one in objects(Settings(monitoring=Monitoring(dashboard=True))) if one["kind"] == "ConfigMap"
    ]
    assert [json.loads(one["data"]["vacate.json"]) for one in board] == [dashboard()]
