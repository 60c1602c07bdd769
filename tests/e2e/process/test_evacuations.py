"""The commands about Evacuations, against a cluster that serves them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from support.cluster_process import FAST_PODS, running_cluster
from support.commands import PODS, Town
from support.waiting import until
from vacate.api.objects import Obj

pytestmark = pytest.mark.process

EVACUATIONS = "/apis/evacuation.coordination.k8s.io/v1alpha1/namespaces/default/evacuations"
BACKUP = "backup.example.com"
OTHER_WORDS = "(?i)interceptor|(?<!--)requester|heartbeat|eviction request"
REGISTERED = {f"evacuation.coordination.k8s.io/priority_{BACKUP}": "11000/knowledgeable"}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("evacuations") / "dir"
    with running_cluster(folder, *FAST_PODS, "--feature-gates=EvacuationAPI=true") as running:
        yield Town(running)


def evacuations(town: Town) -> list[Obj]:
    found: list[Obj] = town.https.get(EVACUATIONS).ok()["items"]
    return found


def test_evict_waits_for_an_evacuation_until_the_pod_is_gone(town: Town) -> None:
    pod = town.pod("plain")
    done = town.vacate("evict", pod, "--api", "evacuation", "--wait")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "pod/plain eviction requested"
    assert done.out.splitlines()[-1] == "pod/plain evicted"
    assert town.https.get(f"{PODS}/{pod}").code == 404
    until(lambda: not evacuations(town))


def test_the_queue_of_evacuations_is_measured(town: Town) -> None:
    shown = town.https.get("/metrics").text
    for family in ("adds_total", "depth", "retries_total", "unfinished_work_seconds"):
        assert re.search(rf'workqueue_{family}{{[^}}]*name="evacuations"[^}}]*}}', shown), family


def test_status_explain_and_cancel_know_an_evacuation(town: Town) -> None:
    pod = town.pod("web", annotations=REGISTERED)
    asked = town.vacate("evict", pod, "--api", "evacuation")
    assert asked.out == f"pod/web eviction requested; first evacuator: {BACKUP}\n"
    until(lambda: BACKUP in json.dumps([one["status"] for one in evacuations(town)]))
    shown = town.vacate("status", pod, "--api", "evacuation")
    assert (shown.code, BACKUP in shown.out) == (0, True)
    assert town.vacate("status", "--api", "evacuation", "-o", "name").out == "pod/web\n"
    explained = town.vacate("explain", pod)
    assert (explained.code, BACKUP in explained.out) == (0, True)
    assert "Evacuators, in the order of turns:" in explained.out
    written = explained.out + json.dumps(evacuations(town)[0]["status"]["message"])
    assert not re.search(OTHER_WORDS, written), written
    second = town.vacate("evict", pod)
    assert second.code == 1
    assert 'Evacuation "' in second.err
    cancelled = town.vacate("cancel", pod)
    assert (cancelled.code, cancelled.err) == (0, "")
    until(lambda: not evacuations(town))
    assert town.ready(pod)


def test_an_administrator_overrides_forbid(town: Town) -> None:
    pod = town.pod("db", annotations=REGISTERED)
    town.vacate("evict", pod, "--api", "evacuation", "--requester", "drain.example.com")
    until(lambda: BACKUP in json.dumps([one["status"] for one in evacuations(town)]))
    name = f"{town.https.get(f'{PODS}/{pod}').ok()['metadata']['uid']}-db"
    town.https.patch(f"{EVACUATIONS}/{name}/status", {"status": {"evacuationCancellationPolicy": "Forbid"}})
    assert town.vacate("cancel", pod, "--requester", "drain.example.com").code == 1
    assert town.vacate("cancel", pod, "--override").code == 0
    until(lambda: not evacuations(town))


def test_output_of_evict_is_for_eviction_requests(town: Town) -> None:
    refused = town.vacate("evict", "web", "--api", "evacuation", "-o", "json")
    assert refused.code == 2
    assert "kubectl get evacuations -o json" in refused.err


def test_an_installation_hands_the_gate_to_manager_and_webhook(town: Town) -> None:
    printed = town.vacate("install", "--print", "--feature-gates", "EvacuationAPI=true")
    assert printed.code == 0
    assert printed.out.count("- --feature-gates=EvacuationAPI=true") == 2
    assert "name: evacuations.evacuation.coordination.k8s.io" in printed.out
