"""The commands about Evacuations, against a cluster that serves them."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, Lab
from support.waiting import until
from vacate.api.objects import Obj
from vacate.api.times import format_exact_time

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

EVACUATIONS = "/apis/evacuation.coordination.k8s.io/v1alpha1/namespaces/default/evacuations"
GROUP = "coordination.k8s.io"
BACKUP, FALLBACK = "backup.example.com", "fallback.example.com"
OTHER_WORDS = "(?i)interceptor|(?<!--)requester|heartbeat|eviction request"
REGISTERED = {f"evacuation.coordination.k8s.io/priority_{BACKUP}": "11000/knowledgeable"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("evacuations") / "dir"
    with running_cluster(folder, *FAST_PODS, "--feature-gates=EvacuationAPI=true") as running:
        yield Lab(running)


def evacuations(lab: Lab) -> list[Obj]:
    found: list[Obj] = lab.https.get(EVACUATIONS).ok()["items"]
    return found


def test_evict_waits_for_an_evacuation_until_the_pod_is_gone(lab: Lab) -> None:
    pod = lab.pod("plain")
    done = lab.vacate("evict", pod, "--api", "evacuation", "--wait")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "pod/plain eviction requested"
    assert done.out.splitlines()[-1] == "pod/plain evicted"
    assert lab.https.get(f"{PODS}/{pod}").code == 404
    until(lambda: not evacuations(lab))


def test_evict_chooses_the_api_by_the_pod_and_joins_the_request_of_either(lab: Lab) -> None:
    pod = lab.pod("chosen", annotations=REGISTERED)
    asked = lab.vacate("evict", pod)  # without --api: it registers an evacuator only
    assert asked.out == f"pod/chosen eviction requested; first evacuator: {BACKUP}\n"
    other = lab.pod("joined", annotations={f"interceptor.evictionrequest.{GROUP}/priority_{BACKUP}": "1"})
    assert lab.vacate("evict", other).code == 0
    joined = lab.vacate("evict", other, "--api", "evacuation", "--requester", "drain.example.com")
    assert joined.out.startswith("pod/joined eviction requested, also by ")
    assert [one["spec"]["podRef"]["name"] for one in evacuations(lab)] == ["chosen"]
    for name in (pod, other):
        assert lab.vacate("cancel", name, "--override").code == 0


def test_the_queue_of_evacuations_is_measured(lab: Lab) -> None:
    shown = lab.https.get("/metrics").text
    for family in ("adds_total", "depth", "retries_total", "unfinished_work_seconds"):
        assert re.search(rf'workqueue_{family}{{[^}}]*name="evacuations"[^}}]*}}', shown), family


def test_status_explain_and_cancel_know_an_evacuation(lab: Lab) -> None:
    pod = lab.pod("web", annotations=REGISTERED)
    asked = lab.vacate("evict", pod, "--api", "evacuation")
    assert asked.out == f"pod/web eviction requested; first evacuator: {BACKUP}\n"
    until(lambda: BACKUP in json.dumps([one["status"] for one in evacuations(lab)]))
    shown = lab.vacate("status", pod, "--api", "evacuation")
    assert (shown.code, BACKUP in shown.out) == (0, True)
    assert lab.vacate("status", "--api", "evacuation", "-o", "name").out == "pod/web\n"
    explained = lab.vacate("explain", pod)
    assert (explained.code, BACKUP in explained.out) == (0, True)
    assert "Evacuators, in the order of turns:" in explained.out
    written = explained.out + json.dumps(evacuations(lab)[0]["status"]["message"])
    assert not re.search(OTHER_WORDS, written), written
    second = lab.vacate("evict", pod)  # of the other API: it joins the request that there is
    assert (second.code, second.out.split(" by ")[0]) == (0, "pod/web eviction already requested")
    cancelled = lab.vacate("cancel", pod)
    assert (cancelled.code, cancelled.err) == (0, "")
    until(lambda: not evacuations(lab))
    assert lab.ready(pod)


def test_an_administrator_overrides_forbid(lab: Lab) -> None:
    pod = lab.pod("db", annotations=REGISTERED)
    lab.vacate("evict", pod, "--api", "evacuation", "--requester", "drain.example.com")
    until(lambda: BACKUP in json.dumps([one["status"] for one in evacuations(lab)]))
    name = f"{lab.https.get(f'{PODS}/{pod}').ok()['metadata']['uid']}-db"
    lab.https.patch(f"{EVACUATIONS}/{name}/status", {"status": {"evacuationCancellationPolicy": "Forbid"}})
    assert lab.vacate("cancel", pod, "--requester", "drain.example.com").code == 1
    assert lab.vacate("cancel", pod, "--override").code == 0
    until(lambda: not evacuations(lab))


def test_an_administrator_sees_who_is_at_work_and_until_when(lab: Lab) -> None:
    second = {f"evacuation.coordination.k8s.io/priority_{FALLBACK}": "2000"}
    pod = lab.pod("observed", annotations={**REGISTERED, **second})
    lab.vacate("evict", pod, "--api", "evacuation", "--requester", "drain.example.com")
    name = f"{lab.https.get(f'{PODS}/{pod}').ok()['metadata']['uid']}-observed"

    def active() -> str:
        return str(lab.https.get(f"{EVACUATIONS}/{name}").ok()["status"].get("activeEvacuatorClass"))

    until(lambda: active() == BACKUP)
    now = dt.datetime.now(dt.UTC)
    report = {
        "message": "Copying table 7 of 12",
        "evacuationProgressTimestamp": format_exact_time(now),
        "expectedEvacuationFinishTime": format_exact_time(now + dt.timedelta(hours=2, seconds=30)),
    }
    lab.https.patch(f"{EVACUATIONS}/{name}/status", {"status": report})
    shown = lab.vacate("status", pod, "--api", "evacuation")
    assert BACKUP in shown.out
    assert "Copying table 7" in shown.out
    explained = lab.vacate("explain", pod).out
    for words in (
        "Copying table 7 of 12",
        "expects to finish in 1",
        "--api evacuation",
        BACKUP,
        FALLBACK,
        "drain.example.com",
    ):
        assert words in explained, (words, explained)
    assert (
        lab.vacate("skip", pod, FALLBACK).out
        == f"pod/{pod} evacuator {FALLBACK} is skipped: it gets no turn\n"
    )
    assert lab.vacate("cancel", pod, "--override").code == 0


def test_drain_makes_evacuations_and_cancel_by_labels_takes_them_back(lab: Lab) -> None:
    pod = lab.pod("drained", annotations=REGISTERED, labels={"app": "drained"})
    node = lab.https.get(f"{PODS}/{pod}").ok()["spec"]["nodeName"]
    options = (node, "--force", "--pod-selector", "app=drained", "--api", "evacuation")
    planned = lab.vacate("drain", *options, "--dry-run")
    assert f"pod default/drained: evicted, after {BACKUP}" in planned.out
    started = lab.vacate("drain", *options, "--detach")
    assert (started.code, started.err) == (0, "")
    until(lambda: BACKUP in json.dumps([one["status"] for one in evacuations(lab)]))
    (one,) = evacuations(lab)
    (finalizer,) = one["metadata"]["finalizers"]
    instigator = finalizer.removeprefix("evacuation.coordination.k8s.io/instigator_")
    assert instigator == f"drain-{node}.nodemaintenance.vacate.dev"
    assert lab.vacate("drain", "--cancel", f"drain-{node}").code == 0
    until(lambda: not evacuations(lab))
    assert lab.vacate("evict", pod, "--api", "evacuation").code == 0
    cancelled = lab.vacate("cancel", "-l", "app=drained")
    assert cancelled.out == "pod/drained is not evicted: the evacuation is cancelled\n"
    until(lambda: not evacuations(lab))


def test_output_of_evict_is_for_eviction_requests(lab: Lab) -> None:
    refused = lab.vacate("evict", "web", "--api", "evacuation", "-o", "json")
    assert refused.code == 2
    assert "kubectl get evacuations.evacuation.coordination.k8s.io -o json" in refused.err


@pytest.mark.thorough
def test_an_installation_hands_the_gate_to_manager_and_webhook(lab: Lab) -> None:
    printed = lab.vacate("install", "--image", "x:1", "--print", "--feature-gates", "EvacuationAPI=true")
    assert printed.code == 0
    assert printed.out.count("- --feature-gates=EvacuationAPI=true") == 2
    assert "name: evacuations.evacuation.coordination.k8s.io" in printed.out
