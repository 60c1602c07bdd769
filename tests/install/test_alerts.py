"""Alerts, evaluated by Prometheus itself: each is firing when it should be, and not when it should not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.realcluster.promtool import Alert, Firing, check_alert, check_rules, parse
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

RATE = Firing("More than 300 pods a minute are being evicted. If that is not intended, switch Vacate off.")
BUDGETS = Firing("Most evictions are refused: disruption budgets allow less than is asked for.")
ENDED = 'vacate_turns_ended_total{result="failed",instance="m"}'
UNPREPARED = Firing(
    "Pods were evicted unprepared: an interceptor did not complete (failed). Warning Events name them: "
    "`kubectl get events -A --field-selector type=Warning`.",
    {"result": "failed"},
)
OLD = Firing(
    "Interceptor a.example.com has had its turn with a pod for more than six hours. `vacate status -A` names "
    "the pod.",
    {"interceptor": "a.example.com"},
)
STUCK = Firing(
    "The drain of NodeMaintenance kernel needs a person for more than 15 minutes. `vacate drain --follow "
    "kernel` shows what holds it, and what helps; so does the page /drains/kernel of `vacate web`.",
    {"maintenance": "kernel"},
)
DRAIN = 'vacate_drain_blocked_since_seconds{maintenance="kernel",instance="m"}'
DEEP = Firing("More than 500 eviction requests wait for the controller's attention.")
NOBODY = Firing("No vacate manager works on eviction requests.")
STALLED = Firing(
    "vacate-manager has received no changes of pods for more than five minutes and acts on what it knew "
    "before. Its log and /readyz?verbose say why.",
    {"name": "vacate-manager", "resource": "pods"},
)
UNREADABLE = Firing(
    "vacate-manager skips 2 objects of pods because it cannot decode them. Its log names each, with "
    "the field to correct.",
    {"name": "vacate-manager", "resource": "pods"},
)
_INFORMER = '{name="vacate-manager",resource="pods",instance="m"}'
SILENT, ODD = f"vacate_informer_stalled_seconds{_INFORMER}", f"vacate_informer_unreadable_objects{_INFORMER}"
AWAY = Firing(
    "API servers cannot reach the webhook. New eviction requests are refused; heartbeats and pods "
    "pass unchecked."
)
ENDS = Firing(
    "The webhook's certificate expires within five days and is not renewed. Look at the log of deployment "
    "vacate-certificates, or at cert-manager."
)
CERTIFICATE = 'vacate_webhook_certificate_not_after_seconds{instance="a"}'

HELD = Firing(
    "A fence of FencingPolicy rack failed or is unclear, and the pods of the node are held. "
    "`kubectl describe fencingpolicy rack` says why.",
    {"policy": "rack"},
)
SHARED = Firing(
    "Pods run with an exclusive volume on several nodes: its data may be destroyed. "
    "`kubectl get events -A --field-selector reason=VolumeShared` names them.",
)
VOLUMES = 'vacate_exclusive_volumes_shared{instance="a"}'
FENCE = 'vacate_fencing_failing_nodes{instance="a",policy="rack"}'

ALERT_CASES = {
    "many leave": Alert("VacateEvictionRateHigh", {ACCEPTED: "0+400x30"}, 20, RATE),
    "many leave together": Alert(
        "VacateEvictionRateHigh",
        {ACCEPTED: "0+200x30", ACCEPTED.replace("{", '{instance="b",'): "0+200x30"}, 20, RATE,
    ),
    "some leave": Alert("VacateEvictionRateHigh", {ACCEPTED: "0+200x30"}, 20),
    "many leave for a moment": Alert("VacateEvictionRateHigh", {ACCEPTED: "0+400x5 2000x30"}, 14),
    "many are refused": Alert("VacateEvictionRateHigh", {ACCEPTED: "0x30", REFUSED: "0+400x30"}, 20),

    "most are refused": Alert("VacateEvictionsRefused", {ACCEPTED: "0+1x90", REFUSED: "0+5x90"}, 70, BUDGETS),
    "all are refused": Alert("VacateEvictionsRefused", {ACCEPTED: "0x90", REFUSED: "0+1x90"}, 70, BUDGETS),
    "no success was ever counted": Alert("VacateEvictionsRefused", {REFUSED: "0+1x90"}, 70, BUDGETS),
    "many are refused, and many are not": Alert(
        "VacateEvictionsRefused", {ACCEPTED: "0+2x90", REFUSED: "0+5x90"}, 70
    ),
    "nothing happens": Alert("VacateEvictionsRefused", {ACCEPTED: "7x90", REFUSED: "80x90"}, 70),
    "nothing has ever happened": Alert("VacateEvictionsRefused", {}, 70),

    "a turn of seven hours": Alert("VacateInterceptorOld", {TURN: "0x480"}, 7 * 60, OLD),
    "a turn that two managers show": Alert(
        "VacateInterceptorOld", {TURN: "0x400", TURN.replace('"m"', '"n"'): "_x380 0x100"}, 7 * 60, OLD
    ),
    "a turn of five hours": Alert("VacateInterceptorOld", {TURN: "0x480"}, 5 * 60),
    "a turn that is over": Alert("VacateInterceptorOld", {TURN: "0x380"}, 7 * 60),
    "a turn that has just begun": Alert("VacateInterceptorOld", {TURN: "24000x480"}, 7 * 60),

    "a drain that is stuck": Alert("VacateDrainBlocked", {DRAIN: "0x60"}, 30, STUCK),
    "a drain that two managers show": Alert(
        "VacateDrainBlocked", {DRAIN: "0x60", DRAIN.replace('"m"', '"n"'): "0x60"}, 30, STUCK
    ),
    "a drain that was just blocked": Alert("VacateDrainBlocked", {DRAIN: "_x19 1200x60"}, 30),
    "a drain that goes on": Alert("VacateDrainBlocked", {DRAIN: "0x22"}, 40),

    "an interceptor failed": Alert("VacatePodsUnprepared", {ENDED: "0x5 1x60"}, 20, UNPREPARED),
    "it failed long ago": Alert("VacatePodsUnprepared", {ENDED: "0x5 1x120"}, 60),
    "some complete": Alert("VacatePodsUnprepared", {ENDED.replace("failed", "completed"): "0+1x60"}, 20),

    "a fence failed": Alert("VacateFencingFailed", {FENCE: "0x5 1x30"}, 10, HELD),
    "a fence that went well": Alert("VacateFencingFailed", {FENCE: "0x5 1x3 0x30"}, 20),

    "a volume on two nodes": Alert("VacateVolumeShared", {VOLUMES: "0x5 1x30"}, 10, SHARED),
    "a volume that was on two nodes": Alert("VacateVolumeShared", {VOLUMES: "1x5 0x30"}, 20),

    "a deep queue": Alert("VacateQueueDeep", {DEPTH: "600x30"}, 15, DEEP),
    "a queue that gets shorter": Alert("VacateQueueDeep", {DEPTH: "600x8 400x30"}, 15),
    "the queue of another": Alert("VacateQueueDeep", {DEPTH.replace("evictionr", "r"): "600x30"}, 15),

    "two who wait": Alert("VacateNoLeader", {FIRST: "0x30", SECOND: "0x30"}, 10, NOBODY),
    "nobody is there": Alert("VacateNoLeader", {}, 10, NOBODY),
    "one leads": Alert("VacateNoLeader", {FIRST: "0x30", SECOND: "1x30"}, 10),
    "one takes over": Alert("VacateNoLeader", {FIRST: "1x5 0x30", SECOND: "0x7 1x30"}, 10),

    "no changes arrive": Alert("VacateInformerStalled", {SILENT: "0x5 0+60x30"}, 20, STALLED),
    "changes arrive again": Alert("VacateInformerStalled", {SILENT: "0x5 0+60x4 0x30"}, 20),
    "two objects that nobody can read": Alert("VacateObjectsUnreadable", {ODD: "0x5 2x30"}, 20, UNREADABLE),
    "an object that was corrected": Alert("VacateObjectsUnreadable", {ODD: "0x5 2x8 0x30"}, 20),

    "nobody answers": Alert("VacateWebhookAway", {UNREACHED: "0+2x30"}, 10, AWAY),
    "heartbeats pass unchecked": Alert("VacateWebhookAway", {PASSED: "0+2x30"}, 10, AWAY),
    "the webhook refuses": Alert(
        "VacateWebhookAway", {UNREACHED.replace("calling_webhook_error", "no_error"): "0+2x30"}, 10
    ),
    "the webhook of another": Alert("VacateWebhookAway", {UNREACHED.replace("vacate", "x"): "0+2x30"}, 10),
    "it was away yesterday": Alert("VacateWebhookAway", {UNREACHED: "9x30", PASSED: "9x30"}, 10),

    "one that is not renewed": Alert("VacateCertificateExpires", {CERTIFICATE: "430000x30"}, 15, ENDS),
    "a pod that shows an old one": Alert(
        "VacateCertificateExpires",
        {CERTIFICATE: "430000x30", CERTIFICATE.replace('"a"', '"b"'): "900000x30"}, 15, ENDS,
    ),
    "one that is due for renewal": Alert("VacateCertificateExpires", {CERTIFICATE: "800000x30"}, 15),
}  # fmt: skip


@pytest.mark.thorough(beyond=13)
@pytest.mark.parametrize("case", ALERT_CASES.values(), ids=ALERT_CASES)
def test_an_alert_fires_when_it_should(case: Alert, tmp_path: Path) -> None:
    assert "SUCCESS" in check_alert(tmp_path, RULES, case)


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    known = {rule["alert"] for group in RULES["spec"]["groups"] for rule in group["rules"]}
    firing = {case.alert for case in ALERT_CASES.values() if case.firing}
    silent = {case.alert for case in ALERT_CASES.values() if not case.firing}
    assert firing == silent == known


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
