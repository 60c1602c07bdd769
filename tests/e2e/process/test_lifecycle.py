"""The commands about evictions by lifecycle.k8s.io, against a cluster that serves it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, Lab
from support.waiting import until
from vacate.api.installednames import LIFECYCLE_CONTROLLER, MANAGER
from vacate.api.objects import Obj
from vacate.cli.common.exitcodes import TIMED_OUT, UNPREPARED

pytestmark = pytest.mark.process

MAINTENANCES = "/apis/vacate.dev/v1alpha1/nodemaintenances"
EVICTIONS = "/apis/lifecycle.k8s.io/v1alpha1/namespaces/default/evictions"
BACKUP = "backup.example.com/backup"
PAGE = Path(__file__).parents[3] / "docs/how-to/migrate-to-lifecycle.md"
OLD, NEW = "backup.example.com", "example.com/backup"
POLICIES = "/apis/vacate.dev/v1alpha1/deschedulingpolicies"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("lifecycle") / "dir"
    with running_cluster(folder, *FAST_PODS, "--feature-gates=LifecycleAPI=true") as running:
        yield Lab(running)


def statuses(lab: Lab, pod: str) -> list[Obj]:
    """Of the Evictions of one pod: those of other tests' pods say nothing about it."""
    found = lab.https.get(EVICTIONS).ok()["items"]
    return [one.get("status", {}) for one in found if one["spec"]["target"]["pod"]["name"] == pod]


def test_evict_waits_until_the_pod_is_gone(lab: Lab) -> None:
    pod = lab.pod("plain")
    done = lab.vacate("evict", pod, "--api", "lifecycle", "--wait")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[0] == "pod/plain eviction requested"
    assert done.out.splitlines()[-1] == "pod/plain evicted"
    assert lab.https.get(f"{PODS}/{pod}").code == 404
    until(lambda: not statuses(lab, pod))  # collected with its requests, which are collected with the pod


def test_evict_says_how_it_goes_and_that_the_pod_was_not_prepared(lab: Lab) -> None:
    pod = lab.pod("skipped", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    waiting = lab.start("evict", pod, "--api", "lifecycle", "--wait")
    until(lambda: any(BACKUP in str(one) for one in statuses(lab, pod)))
    assert lab.vacate("skip", pod, BACKUP).code == 0
    lines = waiting.communicate(timeout=60)[0].splitlines()
    assert waiting.returncode == UNPREPARED
    assert (lines[0], lines[-2]) == ("pod/skipped eviction requested", "pod/skipped evicted")
    assert any(BACKUP in line for line in lines[1:-2])
    assert f"responder {BACKUP} failed; it did not prepare the pod" in lines[-1]


def test_evict_names_the_stage_of_the_eviction_when_it_waits_no_longer(lab: Lab) -> None:
    pod = lab.pod("slow", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    assert lab.vacate("evict", pod, "--api", "lifecycle").code == 0
    until(lambda: any(BACKUP in str(one) for one in statuses(lab, pod)))
    late = lab.vacate("evict", pod, "--api", "lifecycle", "--timeout", "1")
    assert late.code == TIMED_OUT
    assert "pod/slow not evicted within 1s (stage Intercepting); the request continues" in late.err
    assert lab.vacate("skip", pod, BACKUP).code == 0
    until(lambda: lab.https.get(f"{PODS}/{pod}").code == 404)


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
    until(lambda: any(BACKUP in str(one) for one in statuses(lab, pod)))
    shown = lab.vacate("status", "--api", "lifecycle")
    assert (shown.code, BACKUP in shown.out) == (0, True)
    explained = lab.vacate("explain", pod)
    assert (explained.code, BACKUP in explained.out) == (0, True)
    removed = lab.vacate("cancel", pod, "--override")
    assert (removed.code, removed.err) == (0, "")
    assert "all requesters were removed (cli.vacate.dev/" in removed.out
    until(lambda: any("CanceledDueToNoRequesters" in str(one) for one in statuses(lab, pod)))
    assert lab.ready(pod)
    again = lab.vacate("evict", pod, "--api", "lifecycle")
    assert again.out.startswith("pod/web eviction requested")

    def is_active() -> bool:
        found = [one for each in statuses(lab, pod) for one in each.get("targetResponders", ())]
        return any(one["state"] == "Active" for one in found)

    until(is_active)
    cancelled = lab.vacate("cancel", pod, "--api", "lifecycle")
    assert (cancelled.code, cancelled.err) == (0, "")
    until(lambda: not is_active())


def test_an_option_names_the_api_whose_request_is_meant(lab: Lab) -> None:
    pod = lab.pod("other", evictionResponders=[{"name": BACKUP, "priority": 20_000}])
    assert lab.vacate("evict", pod).code == 0  # by the API in which its responders have their turns
    until(lambda: any(BACKUP in str(one) for one in statuses(lab, pod)))
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


def test_the_commands_of_the_page_about_the_move_to_this_api_work(lab: Lab) -> None:
    text = PAGE.read_text()
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    commands = [one for line in shell.splitlines() for one in line.split(" && ")]
    inline = [one for one in re.findall(r"`([^`\n]+)`", text) if re.match(r"(vacate|kubectl) \w+ .*\w+", one)]
    patches = [shlex.split(one) for one in inline if one.startswith("kubectl patch ")]
    assert len(patches) == 2
    registered = {f"interceptor.evictionrequest.coordination.k8s.io/priority_{OLD}": "500"}
    listed = [{"name": NEW, "priority": 20_000}]
    assert all(one in text for one in (NEW, OLD, "priority: 20000"))
    pod = lab.pod("web-1", annotations=registered, evictionResponders=listed)
    assert lab.vacate("evict", pod, "--api", "evictionrequest").code == 0
    assert OLD in lab.vacate("explain", pod).out
    for path, kind, spec in (
        (MAINTENANCES, "NodeMaintenance", {"nodeSelector": {"matchLabels": {"pool": "old"}}}),
        (POLICIES, "DeschedulingPolicy", {"mode": "Report", "rules": ["NodeTaints"]}),
    ):
        named = {"apiVersion": "vacate.dev/v1alpha1", "kind": kind, "metadata": {"name": "moved"}}
        lab.https.create(path, {**named, "spec": {**spec, "requestKind": "EvictionRequest"}})
    for _, _, resource, name, kind, _, body in patches:
        assert (name, kind) == ("NAME", "--type=merge")
        path = f"{MAINTENANCES if resource == 'nodemaintenance' else POLICIES}/moved"
        assert lab.https.patch(path, json.loads(body))["spec"]["requestKind"] == "Lifecycle"
    done = [lab.vacate(*shlex.split(one)[1:]) for one in commands if "--api" in one]
    assert [one.code for one in done] == [0] * 3, done
    assert "web-1" in done[0].out  # one is open, and is moved by the commands that follow
    until(lambda: any(NEW in str(one) for one in statuses(lab, pod)))
    assert "Intercepting" in done[0].out
    until(lambda: "Cancelled" in lab.vacate("status", "-A", "--api", "evictionrequest").out)
    assert NEW in lab.vacate("explain", pod).out
    for words in (shlex.split(one)[1:] for one in (*commands, *inline) if one.startswith("vacate ")):
        shown = lab.vacate(words[0], "--help").out
        assert all(one.partition("=")[0] in shown for one in words if one.startswith("--")), words
    assert lab.vacate("cancel", pod, "--api", "lifecycle").code == 0
    for path in (f"{MAINTENANCES}/moved", f"{POLICIES}/moved"):
        lab.https.delete(path)


def test_version_names_the_other_controller_to_which_vacate_gives_way(lab: Lab) -> None:
    meta = {
        "name": MANAGER,
        "namespace": "shop",
        "annotations": {LIFECYCLE_CONTROLLER: "kube-controller-manager"},
    }
    lab.https.create("/api/v1/namespaces", {"metadata": {"name": "shop"}})
    lab.https.create("/apis/coordination.k8s.io/v1/namespaces/shop/leases", {"metadata": meta, "spec": {}})
    assert "lifecycle.k8s.io are attended to by kube-controller-manager" in lab.vacate("version").out
