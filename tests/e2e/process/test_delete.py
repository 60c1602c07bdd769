"""`vacate delete pod`: graceful by itself, by force only with a confirmation, and never without a trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, Lab
from support.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=2)]

NODES = "/api/v1/nodes"
EVENTS = "/api/v1/namespaces/default/events"
SLOW = {"sim.vacate.dev/stop-seconds": "600"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("delete") / "dir", "--nodes", "1", *FAST_PODS) as running:
        yield Lab(running)


def test_a_pod_is_ended_by_its_node(lab: Lab) -> None:
    lab.pod("web", nodeName="node-1")
    done = lab.vacate("delete", "pod", "web")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("pod/web is terminating: node node-1 ends its processes within 30s")
    until(lambda: lab.https.get(f"{PODS}/web").code == 404)


def test_a_pod_with_the_name_of_a_type(lab: Lab) -> None:
    for name in ("deployment", "named"):
        lab.pod(name, nodeName="node-1")
    refused = lab.vacate("delete", "deployment", "named")
    assert (refused.code, refused.out) == (2, "")
    assert "deletionTimestamp" not in lab.https.get(f"{PODS}/named").obj["metadata"]
    done = lab.vacate("delete", "pod/deployment", "named")
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == 2


@pytest.mark.thorough
def test_no_output_claims_that_a_lost_node_ends_the_pod(lab: Lab) -> None:
    lab.https.create(NODES, {"metadata": {"name": "lost"}})
    unknown = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    lab.https.patch(f"{NODES}/lost/status", unknown)
    containers = [{"name": "main", "image": "app:1"}]
    spec = {"nodeName": "lost", "containers": containers, "tolerations": [{"operator": "Exists"}]}
    lab.https.create(PODS, {"metadata": {"name": "cut-off"}, "spec": spec})
    done = lab.vacate("delete", "pod", "cut-off")
    assert done.code == 0, done.err
    assert done.out == (
        "pod/cut-off is terminating: node lost does not report, and the pod stays until the node returns, "
        "is fenced or is gone for good; see: vacate explain cut-off -n default\n"
    )


def test_force_needs_a_confirmation_and_leaves_an_event(lab: Lab) -> None:
    lab.pod("db-0", nodeName="node-1", annotations=SLOW, terminationGracePeriodSeconds=600)
    refused = lab.vacate("delete", "pod/db-0", "--force")
    assert refused.code == 1
    assert "may go on running" in refused.err
    assert "pass --confirm" in refused.err
    assert "deletionTimestamp" not in lab.https.get(f"{PODS}/db-0").obj["metadata"]
    done = lab.vacate("delete", "pod/db-0", "--force", "--confirm")
    assert done.code == 0, done.err
    assert done.out == (
        "pod/db-0 force deleted: node node-1 has not confirmed that its processes have ended\n"
    )
    assert lab.https.get(f"{PODS}/db-0").code == 404
    items = lab.https.get(EVENTS).obj["items"]
    messages = {one["reason"]: one["message"] for one in items if one["involvedObject"]["name"] == "db-0"}
    assert "kubernetes-admin confirmed force deletion" in messages["ForceDeletionConfirmed"]
    assert 'User "kubernetes-admin" force deleted the pod' in messages["ForceDeleted"]


def test_usage(lab: Lab) -> None:
    assert lab.vacate("delete", "pod").code == 2
    assert lab.vacate("delete", "pod", "x", "--confirm").code == 2
    missing = lab.vacate("delete", "pod", "nowhere", "--force", "--confirm")
    assert (missing.code, "not found in namespace default" in missing.err) == (1, True)


def test_a_reason_is_kept_and_the_first_one_stays(lab: Lab) -> None:
    lab.pod("why", nodeName="node-1", annotations=SLOW, terminationGracePeriodSeconds=600)
    done = lab.vacate("delete", "pod", "why", "--reason=resolve issue 354961", "--grace-period", "300")
    assert (done.code, done.err) == (0, "")
    assert "within 300s" in done.out
    meta = lab.https.get(f"{PODS}/why").obj["metadata"]
    assert (meta["reason"], meta["deletionGracePeriodSeconds"]) == ("resolve issue 354961", 300)
    assert "vacate.dev/termination-reason" not in meta.get("annotations", {})
    again = lab.vacate("delete", "pod", "why", "--reason=another", "--timeout", "1s")
    assert "its reason stays 'resolve issue 354961'" in again.out
    assert (again.code, "still terminating after 1s" in again.err) == (4, True)
    assert lab.https.get(f"{PODS}/why").obj["metadata"]["reason"] == "resolve issue 354961"


def test_a_dry_run_and_a_selection(lab: Lab) -> None:
    for name in ("red-1", "red-2"):
        lab.pod(name, nodeName="node-1", labels={"colour": "red"})
    shown = lab.vacate("delete", "pod", "-l", "colour=red", "--dry-run", "--reason", "x")
    assert sorted(shown.out.splitlines()) == [
        "pod/red-1 would be deleted (dry run)",
        "pod/red-2 would be deleted (dry run)",
    ]
    assert "deletionTimestamp" not in lab.https.get(f"{PODS}/red-1").obj["metadata"]
    done = lab.vacate("delete", "pod", "-l", "colour=red", "--wait")
    assert done.code == 0
    assert {"pod/red-1 gone", "pod/red-2 gone"} <= set(done.out.splitlines())


@pytest.mark.parametrize("reason", ["two\nlines", "--all", "x" * 1025])
def test_a_reason_that_no_hook_could_take_is_refused(lab: Lab, reason: str) -> None:
    refused = lab.vacate("delete", "pod", "x", f"--reason={reason}")
    assert (refused.code, "the reason m" in refused.err) == (2, True)
