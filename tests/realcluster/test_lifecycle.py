"""lifecycle.k8s.io on a real kube-apiserver with its gate open, and without any controller but ours.

Responders are users who patch their records; the manager has the rights that its installation gives it, and
in the end no policy has refused what it had to write.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

from support.processes.commands import vacate
from support.realcluster.evictions import LEASE_PATH, RealCluster, real_cluster
from support.realcluster.killed_writes import killed_at_every_write
from support.waiting import until
from vacate.api.installednames import LIFECYCLE_CONTROLLER
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.api.types.lifecycle import EVICTOR
from vacate.api.workloads import OPT_IN
from vacate.eviction.registration import PREFIXES
from vacate.testing import deployment

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("lifecycle")]

GATES = (
    "--feature-gates",
    "EvictionRequestAPI=true,EvacuationAPI=true,LifecycleAPI=true,EvictionBridge=true",
)
NAMESPACE = "/api/v1/namespaces/default"
GROUP = "/apis/lifecycle.k8s.io/v1alpha1/namespaces/default"
STRATEGIC = "application/strategic-merge-patch+json"
BACKUP, WARN = "backup.example.com/backup", "warn.example.com/users"
DRAIN, UPGRADE = "acme.io/drain", "acme.io/upgrade"
CANCELLED = ("EvictionFailed", "CanceledDueToNoRequesters")
EVICTED = (("PodDeleted", "Succeeded"), ("PodTerminal", "Succeeded"))
"""A pod has ended before it is deleted. On a busy machine the first of these is seen alone."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    folder = tmp_path_factory.mktemp("lifecycle")
    with real_cluster(folder, 2, install=GATES, webhook=GATES, manager=GATES, lifecycle=True) as running:
        yield running


class Target:
    """A pod, those who request its eviction, and its responders."""

    def __init__(self, cluster: RealCluster, name: str, *responders: str, interceptor: str = "") -> None:
        self.admin, self.name = cluster.admin, name
        listed = [{"name": one, "priority": 20_000 - place} for place, one in enumerate(responders)]
        spec: Obj = {"containers": [{"name": "main", "image": "app:1"}]}
        if listed:
            spec["evictionResponders"] = listed
        registered = {f"{PREFIXES[0]}/priority_{interceptor}": "10"} if interceptor else {}
        meta = {"name": name, "labels": {"app": name}, "annotations": registered}
        body = {"metadata": meta, "spec": spec}
        self.uid = self.admin.create(f"{NAMESPACE}/pods", body)["metadata"]["uid"]
        until(self._is_ready)

    def request(self, requester: str = DRAIN) -> None:
        """An EvictionRequest of that requester, by kubectl's way."""
        spec = {
            "target": {"pod": {"name": self.name, "uid": self.uid}},
            "requester": requester,
            "intent": "Eviction",
        }
        self.admin.create(
            f"{GROUP}/evictionrequests", {"metadata": {"name": self._request(requester)}, "spec": spec}
        )

    def intend(self, intent: str, requester: str = DRAIN) -> None:
        """The requester changes its mind."""
        path = f"{GROUP}/evictionrequests/{self._request(requester)}"
        self.admin.patch(path, {"spec": {"intent": intent}})

    def respond(self, responder: str, **fields: str) -> None:
        """The responder writes its own record."""
        body = {"status": {"responders": [{"name": responder, **fields}]}}
        path = f"{GROUP}/evictions/{self.eviction()['metadata']['name']}/status"
        self.admin.call("PATCH", path, body, content_type=STRATEGIC).ok()

    def evictions(self) -> list[Obj]:
        """All Evictions of the pod, the oldest first."""
        found = self.admin.get(f"{GROUP}/evictions").ok()["items"]
        mine = [one for one in found if one["spec"]["target"]["pod"]["uid"] == self.uid]
        return sorted(mine, key=lambda one: str(one["metadata"]["name"]))

    def eviction(self) -> Obj:
        """The newest of them."""
        return until(self.evictions)[-1]

    def states(self) -> dict[str, str]:
        """Each responder's state."""
        listed = self.eviction().get("status", {}).get("targetResponders", [])
        return {one["name"]: one["state"] for one in listed}

    def record(self, responder: str) -> Obj:
        """What the responder has reported."""
        listed = self.eviction().get("status", {}).get("responders", [])
        return next((one for one in listed if one["name"] == responder), {})

    def requesters(self) -> dict[str, str]:
        """Who wants the eviction, as the Eviction has it."""
        listed = self.eviction().get("status", {}).get("requesters", [])
        return {one["name"]: one["intent"] for one in listed}

    def outcome(self, requester: str = DRAIN) -> tuple[str, str]:
        """The reasons of the two final conditions of a request."""
        found = self.admin.get(f"{GROUP}/evictionrequests/{self._request(requester)}").ok()
        reasons = {one["type"]: one["reason"] for one in found.get("status", {}).get("conditions", ())}
        return reasons.get("TargetEvicted", ""), reasons.get("Failed", "")

    def is_there(self) -> bool:
        """Whether nobody has asked the pod to end."""
        found = self.admin.get(f"{NAMESPACE}/pods/{self.name}")
        return found.code == 200 and "deletionTimestamp" not in found.obj["metadata"]

    def _is_ready(self) -> bool:
        found = self.admin.get(f"{NAMESPACE}/pods/{self.name}").ok()["status"].get("conditions", ())
        return any((one["type"], one["status"]) == ("Ready", "True") for one in found)

    def _request(self, requester: str) -> str:
        return f"{self.name}-{requester.partition('/')[2]}"


def _condition(obj: Obj, sort: str) -> str:
    found = obj["status"].get("conditions", ())
    return next((str(one["status"]) for one in found if one["type"] == sort), "")


def now() -> str:
    return format_time(dt.datetime.now(dt.UTC))


def test_several_requesters_share_an_eviction_whose_responders_have_their_turns(
    cluster: RealCluster,
) -> None:
    target = Target(cluster, "shared", BACKUP, WARN)
    target.request()
    target.request(UPGRADE)
    until(lambda: target.requesters() == {DRAIN: "Eviction", UPGRADE: "Eviction"})
    assert target.states() == {BACKUP: "Active", WARN: "Inactive", EVICTOR: "Inactive"}
    target.respond(BACKUP, heartbeatTime=now(), message="saving")
    target.intend("Withdrawn")
    until(lambda: target.requesters() == {DRAIN: "Withdrawn", UPGRADE: "Eviction"})
    target.intend("Eviction")
    until(lambda: target.requesters()[DRAIN] == "Eviction")
    until(lambda: len(target.eviction()["metadata"]["ownerReferences"]) == 2)
    labels = {DRAIN: "requester", UPGRADE: "requester", BACKUP: "responder", WARN: "responder"}
    assert target.eviction()["metadata"]["labels"] == {**labels, EVICTOR: "responder"}
    target.respond(BACKUP, completionTime=now())
    until(lambda: target.states()[WARN] == "Active")
    assert target.is_there()
    target.respond(WARN, completionTime=now(), message="users know")
    until(lambda: target.outcome() in EVICTED and target.outcome(UPGRADE) in EVICTED)
    assert target.states() == {BACKUP: "Completed", WARN: "Completed", EVICTOR: "Completed"}
    assert [one["metadata"]["name"] for one in target.evictions()] == ["pod-1-shared"]


def test_the_last_requester_to_withdraw_cancels_and_its_return_begins_another_eviction(
    cluster: RealCluster,
) -> None:
    target = Target(cluster, "returning", BACKUP)
    target.request()
    until(lambda: target.states().get(BACKUP) == "Active")
    target.intend("Withdrawn")
    until(lambda: target.outcome() == CANCELLED)
    assert target.states()[BACKUP] == "Canceled"
    assert target.is_there()
    target.intend("Eviction")
    until(lambda: len(target.evictions()) == 2)
    until(lambda: target.states().get(BACKUP) == "Active")
    target.respond(BACKUP, completionTime=now())
    until(lambda: target.outcome() in EVICTED)
    assert [one["metadata"]["name"] for one in target.evictions()] == ["pod-1-returning", "pod-2-returning"]


def test_a_budget_is_respected_and_reported_until_it_lets_the_pod_go(cluster: RealCluster) -> None:
    target = Target(cluster, "budgeted")
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "budgeted"}}}
    cluster.admin.create(budgets, {"metadata": {"name": "budgeted"}, "spec": spec})
    target.request()
    until(lambda: "(attempts=2)" in target.record(EVICTOR).get("message", ""))
    assert target.is_there()
    # Whoever says that the evictor is done leaves nobody to evict the pod: another Eviction begins.
    target.respond(EVICTOR, completionTime=now())
    until(lambda: len(target.evictions()) == 2)
    (first, _) = target.evictions()
    failed = next(one for one in first["status"]["conditions"] if one["type"] == "Failed")
    assert (failed["status"], failed["reason"]) == ("True", "NoFurtherResponder")
    shown = vacate({"KUBECONFIG": str(cluster.kubeconfig)}, "explain", "budgeted")
    assert "budgeted" in shown.out
    assert "feature gate" not in shown.out + shown.err
    cluster.admin.delete(f"{budgets}/budgeted")
    until(lambda: target.outcome() in EVICTED)
    assert target.record(EVICTOR)["completionTime"]


def test_the_leader_is_killed_in_the_middle_of_a_turn_and_the_other_manager_goes_on(
    cluster: RealCluster,
) -> None:
    target = Target(cluster, "orphaned", BACKUP)
    target.request()
    until(lambda: target.states().get(BACKUP) == "Active")
    began = target.record(BACKUP)["startTime"]
    cluster.start_managers()  # one that lost its lease on a busy machine has ended, as it should
    leader = until(cluster.leader)
    assert leader is not None
    leader.kill()
    target.respond(BACKUP, heartbeatTime=now(), completionTime=now())
    until(lambda: target.outcome() in EVICTED)
    assert target.record(BACKUP)["startTime"] == began
    assert [one["metadata"]["name"] for one in target.evictions()] == ["pod-1-orphaned"]
    cluster.start_managers()


@pytest.mark.thorough
def test_a_manager_that_is_killed_at_every_write_loses_and_repeats_nothing(cluster: RealCluster) -> None:
    """Before each write reaches the API server, and after it is done."""
    target = Target(cluster, "often-orphaned", BACKUP)
    with killed_at_every_write(cluster, "/apis/lifecycle.k8s.io/", "/eviction") as killed:
        target.request()
        until(lambda: target.states().get(BACKUP) == "Active", 300.0)
        began = target.record(BACKUP)["startTime"]
        target.respond(BACKUP, heartbeatTime=now(), completionTime=now())
        until(lambda: target.outcome() in EVICTED, 300.0)
    assert len(killed.done) > 5, killed.done
    assert target.record(BACKUP)["startTime"] == began
    assert len(target.evictions()) == 1
    evicted = [one for one in killed.done if one.endswith("/eviction 201")]
    assert evicted == [f"POST {NAMESPACE}/pods/{target.name}/eviction 201"]


def test_a_request_that_cannot_be_followed_says_why(cluster: RealCluster) -> None:
    target = Target(cluster, "replaced")
    target.uid = "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"
    target.request()
    until(lambda: target.outcome() == ("EvictionFailed", "EvictionInvalid"))
    assert target.is_there()


def test_commands_request_show_and_wait_for_the_end(cluster: RealCluster) -> None:
    target = Target(cluster, "asked", BACKUP)
    shell = {"KUBECONFIG": str(cluster.kubeconfig)}
    done = vacate(shell, "evict", "asked", "--api", "lifecycle")
    assert (done.code, done.err) == (0, "")
    until(lambda: target.states().get(BACKUP) == "Active")
    assert BACKUP in vacate(shell, "status", "--api", "lifecycle").out
    assert BACKUP in vacate(shell, "explain", "asked").out
    cancelled = vacate(shell, "cancel", "asked")
    assert (cancelled.code, cancelled.err) == (0, "")
    until(lambda: target.states().get(BACKUP) == "Canceled")
    assert target.is_there()


PROGRAM = """
from vacate.sdk import interceptor, run_interceptors

@interceptor("backup.example.com/backup", apis=("lifecycle",), label_selector="app=served")
async def back_up(context):
    await context.report("saving")

@interceptor("warn.example.com/users", apis=("lifecycle",), label_selector="app=served")
async def warn(context):
    return context.declined("nobody is there")

run_interceptors(back_up, warn, namespace="default")
"""


@contextlib.contextmanager
def serving(cluster: RealCluster) -> Iterator[None]:
    """A user's program of two interceptors, under an account with the role for it."""
    cluster.admin.create(f"{NAMESPACE}/serviceaccounts", {"metadata": {"name": "served"}})
    account = {"kind": "ServiceAccount", "name": "served", "namespace": "default"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "vacate-interceptor"}
    bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
    cluster.admin.create(bindings, {"metadata": {"name": "served"}, "subjects": [account], "roleRef": role})
    shell = {**os.environ, "KUBECONFIG": str(cluster.account("default", "served"))}
    program = subprocess.Popen([sys.executable, "-c", PROGRAM], env=shell)
    try:
        yield
    finally:
        assert program.poll() is None
        program.terminate()
        program.wait(30)


def test_a_program_of_the_sdk_completes_one_turn_and_declines_another(cluster: RealCluster) -> None:
    target = Target(cluster, "served", BACKUP, WARN)
    with serving(cluster):
        target.request()
        until(lambda: target.outcome() in EVICTED)
    assert target.states() == {BACKUP: "Completed", WARN: "Completed", EVICTOR: "Completed"}
    assert target.record(BACKUP)["heartbeatTime"]
    (eviction,) = target.evictions()
    messages = {one["type"]: one["message"] for one in eviction["status"]["conditions"]}
    assert "nobody is there" in messages[f"{WARN}.Declined"]


def test_a_direct_eviction_waits_for_responders(cluster: RealCluster) -> None:
    target = Target(cluster, "bridged", BACKUP)
    meta = {"name": "bridged", "namespace": "default"}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}

    def evict() -> int:
        return cluster.admin.call("POST", f"{NAMESPACE}/pods/bridged/eviction", eviction).code

    until(lambda: target.states().get(BACKUP) == "Active" if evict() == 429 else False)
    (asks,) = target.requesters()
    assert asks.startswith("bridge.vacate.dev/")
    assert target.is_there()
    target.respond(BACKUP, completionTime=now())
    until(lambda: evict() in (201, 404) and not target.is_there())


def test_a_direct_eviction_waits_for_responders_though_interceptors_of_the_pod_are_done(
    cluster: RealCluster,
) -> None:
    saver = "saver.example.com"
    target = Target(cluster, "both", BACKUP, interceptor=saver)
    own = f"{EVICTIONREQUESTS.collection_path('default')}/{target.uid}"
    meta = {"name": "both", "namespace": "default"}
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}

    def evict() -> int:
        return cluster.admin.call("POST", f"{NAMESPACE}/pods/both/eviction", eviction).code

    def active() -> str:
        found = cluster.admin.get(own)
        return str(found.obj.get("status", {}).get("activeInterceptorName")) if found.code == 200 else ""

    until(lambda: evict() == 429 and active() == saver)
    target.request()
    until(target.evictions)
    assert target.states() == {}
    done = {"status": {"activeInterceptorCompleted": True}}
    cluster.admin.patch(f"{own}/status", done)
    until(lambda: target.states().get(BACKUP) == "Active")
    assert evict() == 429
    assert target.is_there()
    target.respond(BACKUP, completionTime=now())
    until(lambda: evict() in (201, 404) and not target.is_there())
    until(lambda: target.outcome() in EVICTED)


def test_a_drain_frees_the_node_and_an_opted_in_deployment_moves_first(cluster: RealCluster) -> None:
    for one in cluster.admin.get(f"{NAMESPACE}/pods").ok()["items"]:  # of the tests before
        cluster.admin.call("DELETE", f"{NAMESPACE}/pods/{one['metadata']['name']}", {"gracePeriodSeconds": 0})
    body = deployment("moving", replicas=1, metadata={"annotations": {OPT_IN: "true"}})
    cluster.admin.create("/apis/apps/v1/namespaces/default/deployments", body)

    def ready() -> list[Obj]:
        found = cluster.admin.get(f"{NAMESPACE}/pods?labelSelector=app%3Dmoving").ok()["items"]
        return [one for one in found if _condition(one, "Ready") == "True"]

    (pod,) = until(ready)
    listed = {one["name"]: one["priority"] for one in pod["spec"]["evictionResponders"]}
    assert listed["vacate.dev/deployment"] == 10_000
    node = pod["spec"]["nodeName"]
    shell = {"KUBECONFIG": str(cluster.kubeconfig)}
    done = vacate(shell, "drain", node, "--api", "lifecycle", "--timeout", "150s")
    assert done.code == 0, done
    everywhere = cluster.admin.get(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}").ok()["items"]
    assert everywhere == []
    assert [one["spec"]["nodeName"] != node for one in ready()] == [True]
    events = cluster.admin.get(f"{NAMESPACE}/events").ok()["items"]
    about = [one for one in events if one["involvedObject"].get("uid") == pod["metadata"]["uid"]]
    assert any(one["reason"] == "InterceptorCompleted" for one in about), about
    assert vacate(shell, "drain", node, "--cancel").code == 0


def test_vacate_gives_way_to_what_kube_controller_manager_has_written(cluster: RealCluster) -> None:
    """Its own controller is not there yet: somebody writes under its name, and the server notes who did."""
    target = Target(cluster, "given", BACKUP, WARN)
    target.request()
    until(lambda: target.states().get(BACKUP) == "Active")
    target.respond(BACKUP, completionTime=now())
    until(lambda: target.states()[WARN] == "Active")
    (eviction,) = target.evictions()
    listed = [{"name": "kube.example.com/drain", "intent": "Eviction"}]
    path = f"{GROUP}/evictions/{eviction['metadata']['name']}/status?fieldManager=kube-controller-manager"
    body = {"status": {"requesters": listed}}
    cluster.admin.call("PATCH", path, body, content_type=STRATEGIC).ok()

    def controller() -> str:
        lease = cluster.admin.get(LEASE_PATH).ok()
        return str(lease["metadata"]["annotations"].get(LIFECYCLE_CONTROLLER))

    until(lambda: controller() == "kube-controller-manager")
    assert (
        "attended to by kube-controller-manager"
        in vacate({"KUBECONFIG": str(cluster.kubeconfig)}, "version").out
    )
    leader = until(cluster.leader)
    assert leader is not None
    port = leader.wait_for(r"health and metrics on http://[^:]+:(\d+)")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz?verbose") as answer:
        assert "are left to kube-controller-manager" in answer.read().decode()
    # It is remembered when the Eviction is gone and the managers have started again.
    target.respond(WARN, completionTime=now())
    cluster.admin.delete(f"{GROUP}/evictionrequests/given-drain")
    cluster.admin.call("DELETE", f"{GROUP}/evictions/{eviction['metadata']['name']}")
    until(lambda: not target.evictions())
    for one in cluster.managers:
        assert not one.running or one.stop() == 0
    cluster.start_managers()
    until(cluster.leader)
    target.request()
    until(lambda: controller() == "kube-controller-manager")
    assert target.evictions() == []
    # Whoever knows that it does not run says so, and Vacate goes on at once.
    for one in cluster.managers:
        assert one.stop() == 0
    cluster.start_managers("--lifecycle-controller", "on")
    until(lambda: target.states().get(BACKUP) == "Active")
    assert controller() == "vacate"
