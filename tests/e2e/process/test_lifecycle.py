"""The commands about evictions by lifecycle.k8s.io, against a cluster that serves it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, Lab
from support.waiting import until
from vacate.api.objectnames import LIFECYCLE_CONTROLLER, MANAGER
from vacate.api.objects import Obj
from vacate.cli.common.exitcodes import UNPREPARED

pytestmark = pytest.mark.process

MAINTENANCES = "/apis/vacate.dev/v1alpha1/nodemaintenances"
EVICTIONS = "/apis/lifecycle.k8s.io/v1alpha1/namespaces/default/evictions"
BACKUP = "backup.example.com/backup"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lifecycle") / "dir"
    with running_cluster(folder, *FAST_PODS, "--feature-gates=LifecycleAPI=true") as running:
        yield Lab(running)


def statuses(lab: Lab) -> list[Obj]:
    return [one.get("status", {}) for one in lab.https.get(EVICTIONS).ok()["items"]]


def test_evict_waits_until_the_pod_is_gone(lab: Lab) -> None:
    pod = lab.pod("plain")
    done = lab.vacate("evict", pod, "--api", "lifecycle", "--wait")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "pod/plain eviction requested"
    assert done.out.splitlines()[-1] == "pod/plain evicted"
    assert lab.https.get(f"{PODS}/{pod}").code == 404
    until(lambda: not statuses(lab))  # collected with its requests, which are collected with the pod


def test_evict_says_how_it_goes_and_that_the_pod_was_not_prepared(lab: Lab) -> None:
    pod = lab.pod("skipped", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    waiting = lab.start("evict", pod, "--api", "lifecycle", "--wait")
    until(lambda: any(BACKUP in str(one) for one in statuses(lab)))
    assert lab.vacate("skip", pod, BACKUP).code == 0
    lines = waiting.communicate(timeout=60)[0].splitlines()
    assert waiting.returncode == UNPREPARED
    assert (lines[0], lines[-2]) == ("pod/skipped eviction requested", "pod/skipped evicted")
    assert any(BACKUP in line for line in lines[1:-2])
    assert f"responder {BACKUP} failed; it did not prepare the pod" in lines[-1]


def test_a_drain_by_this_api_frees_the_node(lab: Lab) -> None:
    pod = lab.pod("drained")
    node = lab.https.get(f"{PODS}/{pod}").ok()["spec"]["nodeName"]
    done = lab.vacate("drain", node, "--api", "lifecycle", "--force")
    assert (done.code, done.err) == (0, ""), done
    assert lab.https.get(f"{PODS}/{pod}").code == 404
    assert lab.https.get(f"{MAINTENANCES}/drain-{node}").ok()["spec"]["requestKind"] == "Lifecycle"
    assert lab.vacate("drain", node, "--cancel").code == 0


def test_status_explain_and_cancel_know_an_eviction(lab: Lab) -> None:
    pod = lab.pod("web", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    assert lab.vacate("evict", pod, "--api", "lifecycle").out.startswith("pod/web eviction requested")
    until(lambda: any(BACKUP in str(one) for one in statuses(lab)))
    shown = lab.vacate("status", "--api", "lifecycle")
    assert (shown.code, BACKUP in shown.out) == (0, True)
    explained = lab.vacate("explain", pod)
    assert (explained.code, BACKUP in explained.out) == (0, True)
    removed = lab.vacate("cancel", pod, "--override")
    assert (removed.code, removed.err) == (0, "")
    assert "all requesters were removed (cli.vacate.dev/" in removed.out
    until(lambda: any("CanceledDueToNoRequesters" in str(one) for one in statuses(lab)))
    assert lab.ready(pod)
    again = lab.vacate("evict", pod, "--api", "lifecycle")
    assert again.out.startswith("pod/web eviction requested")

    def is_active() -> bool:
        found = [one for each in statuses(lab) for one in each.get("targetResponders", ())]
        return any(one["state"] == "Active" for one in found)

    until(is_active)
    cancelled = lab.vacate("cancel", pod, "--api", "lifecycle")
    assert (cancelled.code, cancelled.err) == (0, "")
    until(lambda: not is_active())


def test_an_option_names_the_api_whose_request_is_meant(lab: Lab) -> None:
    pod = lab.pod("other", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    assert lab.vacate("evict", pod).code == 0  # by the API in which its responders have their turns
    until(lambda: any(BACKUP in str(one) for one in statuses(lab)))
    assert BACKUP in lab.vacate("explain", pod, "--api", "lifecycle").out
    refused = lab.vacate("cancel", pod, "--api", "evictionrequest")
    assert (refused.code, refused.err) == (
        1,
        "error: there is no eviction request for pod other\n",
    )
    assert lab.vacate("cancel", pod, "--requester", "cli.vacate.dev/nobody").code == 1
    assert lab.vacate("cancel", "-l", "app=other").code == 0
    assert "is not evicted" in lab.vacate("cancel", pod).out


def test_a_silent_responder_is_skipped_as_status_and_blockers_propose(lab: Lab) -> None:
    pod = lab.pod("silent", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    assert lab.vacate("evict", pod, "--api", "lifecycle").out.startswith("pod/silent eviction requested")
    until(lambda: f"pod/{pod} waits for" in lab.vacate("retry", pod).err)
    none = lab.vacate("skip", pod, "other.example.com/backup")
    assert (none.code, BACKUP in none.err) == (1, True)
    skipped = lab.vacate("skip", pod, BACKUP)
    assert (skipped.code, skipped.err) == (0, "")
    assert skipped.out == f"pod/silent responder {BACKUP} is skipped: its turn ends now\n"
    until(lambda: lab.https.get(f"{PODS}/{pod}").code == 404)


def test_version_names_the_other_controller_to_which_vacate_gives_way(lab: Lab) -> None:
    meta = {
        "name": MANAGER,
        "namespace": "shop",
        "annotations": {LIFECYCLE_CONTROLLER: "kube-controller-manager"},
    }
    lab.https.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    lab.https.create("/apis/coordination.k8s.io/v1/namespaces/shop/leases", {"metadata": meta, "spec": {}})
    assert "lifecycle.k8s.io are attended to by kube-controller-manager" in lab.vacate("version").out
