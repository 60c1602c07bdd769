"""`vacate delete pod`: graceful by itself, by force only with a confirmation, and never without a trace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.cluster_process import FAST_PODS, running_cluster
from support.commands import PODS, Town
from support.waiting import until

pytestmark = pytest.mark.process

EVENTS = "/api/v1/namespaces/default/events"
SLOW = {"sim.vacate.dev/stop-seconds": "600"}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with running_cluster(tmp_path_factory.mktemp("delete") / "dir", "--nodes", "1", *FAST_PODS) as running:
        yield Town(running)


def test_a_pod_is_ended_by_its_node(town: Town) -> None:
    town.pod("web", nodeName="node-1")
    done = town.vacate("delete", "pod", "web")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("pod/web is terminating: node node-1 ends its processes within 30s")
    until(lambda: town.https.get(f"{PODS}/web").code == 404)


def test_force_needs_a_confirmation_and_leaves_an_event(town: Town) -> None:
    town.pod("db-0", nodeName="node-1", annotations=SLOW, terminationGracePeriodSeconds=600)
    refused = town.vacate("delete", "pod/db-0", "--force")
    assert refused.code == 1
    assert "may go on running" in refused.err
    assert "pass --confirm" in refused.err
    assert "deletionTimestamp" not in town.https.get(f"{PODS}/db-0").obj["metadata"]
    done = town.vacate("delete", "pod/db-0", "--force", "--confirm")
    assert done.code == 0, done.err
    assert done.out == (
        "pod/db-0 force deleted: node node-1 has not confirmed that its processes have ended\n"
    )
    assert town.https.get(f"{PODS}/db-0").code == 404
    items = town.https.get(EVENTS).obj["items"]
    told = {one["reason"]: one["message"] for one in items if one["involvedObject"]["name"] == "db-0"}
    assert "kubernetes-admin confirmed force deletion" in told["ForceDeletionConfirmed"]
    assert 'User "kubernetes-admin" force deleted the pod' in told["ForceDeleted"]


def test_usage(town: Town) -> None:
    assert town.vacate("delete", "pod").code == 2
    assert town.vacate("delete", "pod", "x", "--confirm").code == 2
    missing = town.vacate("delete", "pod", "nowhere", "--force", "--confirm")
    assert (missing.code, "not found in namespace default" in missing.err) == (1, True)


def test_a_reason_is_kept_and_the_first_one_stays(town: Town) -> None:
    town.pod("why", nodeName="node-1", annotations=SLOW, terminationGracePeriodSeconds=600)
    done = town.vacate("delete", "pod", "why", "--reason=resolve issue 354961", "--grace-period", "300")
    assert (done.code, done.err) == (0, "")
    assert "within 300s" in done.out
    meta = town.https.get(f"{PODS}/why").obj["metadata"]
    assert (meta["reason"], meta["deletionGracePeriodSeconds"]) == ("resolve issue 354961", 300)
    assert "vacate.dev/termination-reason" not in meta.get("annotations", {})
    again = town.vacate("delete", "pod", "why", "--reason=another", "--timeout", "1s")
    assert "its reason stays 'resolve issue 354961'" in again.out
    assert (again.code, "still terminating after 1s" in again.err) == (4, True)
    assert town.https.get(f"{PODS}/why").obj["metadata"]["reason"] == "resolve issue 354961"


def test_a_dry_run_and_a_selection(town: Town) -> None:
    for name in ("red-1", "red-2"):
        town.pod(name, nodeName="node-1", labels={"colour": "red"})
    shown = town.vacate("delete", "pod", "-l", "colour=red", "--dry-run", "--reason", "x")
    assert sorted(shown.out.splitlines()) == [
        "pod/red-1 would be deleted (dry run)",
        "pod/red-2 would be deleted (dry run)",
    ]
    assert "deletionTimestamp" not in town.https.get(f"{PODS}/red-1").obj["metadata"]
    done = town.vacate("delete", "pod", "-l", "colour=red", "--wait")
    assert done.code == 0
    assert {"pod/red-1 gone", "pod/red-2 gone"} <= set(done.out.splitlines())


@pytest.mark.parametrize("reason", ["two\nlines", "--all", "x" * 1025])
def test_a_reason_that_no_hook_could_take_is_refused(town: Town, reason: str) -> None:
    refused = town.vacate("delete", "pod", "x", f"--reason={reason}")
    assert (refused.code, "the reason m" in refused.err) == (2, True)
