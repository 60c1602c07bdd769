"""Nothing runs twice on two real kubelets, whatever is cut off, forced or fenced.

Real processes write to one volume, and hold a lock there while they live: an overlap of two is on disk, and
fails the test in which it happens. The tests share one cluster and stand in the order of its life.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hack.nodelab import power

from support.nodes.safety import (
    FIRST_NODE,
    GATED,
    LOST,
    PLAIN,
    FencedMachine,
    SafetyCluster,
    database,
    plain_writer,
    policy,
)

pytestmark = [pytest.mark.kube, pytest.mark.timeout(400)]


@pytest.fixture(autouse=True)
def _never_two_writers(place: SafetyCluster) -> Iterator[None]:
    yield
    assert place.overlaps(GATED) == ""


def test_without_the_gate_an_overlap_is_seen_and_reported(place: SafetyCluster) -> None:
    """Kubelets share what Kubernetes lets them share. This is also how it is known that the lock finds it."""
    writers = [plain_writer(node, place.image) for node in (FIRST_NODE, LOST)]
    place.scratch("create -f -", writers).ok()
    both = [f"on-{FIRST_NODE}", f"on-{LOST}"]
    place.wait_for(lambda: place.events(place.scratch, "VolumeShared") == both)
    place.wait_for(lambda: " beside " in place.overlaps(PLAIN))
    place.vacate("explain", both[0], "-n", PLAIN).printed("used at the same time by pod")
    place.scratch("delete pods --all --wait=false").ok()


def test_a_pod_without_the_gate_is_refused(place: SafetyCluster) -> None:
    """Policies and labels of namespaces take effect with a delay."""
    plain = plain_writer(LOST, place.image)
    place.wait_for(lambda: place.databases("create --dry-run=server -f -", plain).code)
    place.databases("create -f -", plain).failed("vacate.dev/exclusive-volumes")


def test_the_volume_goes_from_node_to_node_with_its_pod(place: SafetyCluster) -> None:
    place.databases("create -f -", database(place.image)).ok()
    place.writes(LOST)
    place.system(f"cordon {LOST}").ok()
    place.databases("delete pod db-0 --wait=false").ok()
    place.writes(FIRST_NODE)
    place.system(f"uncordon {LOST}").ok()
    place.databases("delete pod db-0 --wait=false").ok()
    place.writes(LOST)


def test_a_force_deletion_from_a_healthy_node_frees_nothing(place: SafetyCluster) -> None:
    """The kubelet ends the processes and does not report it: the volume stays until someone knows."""
    place.refuses_force()
    first = place.uid()
    place.vacate("delete", "pod", "db-0", "-n", GATED, "--force", "--confirm").ok()
    assert f"vacate detach {GATED} --confirm" in place.waits_at_gate(not_uid=first)
    place.wait_for(lambda: GATED in place.events(place.system.within("default"), "VolumeHeld"))
    place.system(f"cordon {LOST}").ok()
    place.vacate("detach", GATED, "--confirm").ok()
    place.writes(FIRST_NODE)
    assert place.taken_from() == [LOST]


def test_a_restart_of_the_machine_confirms_what_ran_there(place: SafetyCluster) -> None:
    power.wish(LOST, power.OFF, 60)
    power.wish(LOST, power.ON, 60)
    place.wait_for(lambda: place.taken_from() == [])
    place.wait_for(lambda: place.reports() == "True")
    place.system(f"uncordon {LOST}").ok()
    place.databases("delete pod db-0 --wait=false").ok()
    place.writes(LOST)


def test_what_runs_on_a_node_that_is_cut_off_keeps_its_volume(place: SafetyCluster) -> None:
    first = place.uid()
    place.cut_off()
    place.wait_for(lambda: place.reports() == "Unknown")
    place.wait_for(lambda: place.databases("get pod db-0 -o jsonpath={.metadata.deletionTimestamp}").out)
    place.databases.until("describe pod db-0", lambda ran: "vacate.dev/NodeDown" in ran.out)
    place.refuses_force()
    place.vacate("delete", "pod", "db-0", "-n", GATED, "--force", "--confirm").ok()
    explained = place.waits_at_gate(not_uid=first)
    assert f"Node {LOST} does not report" in explained
    assert f"vacate fence {LOST}" in explained
    place.writes(LOST, first)  # its processes have not heard of it


def test_an_agent_that_lies_frees_nothing(place: SafetyCluster, machine: FencedMachine) -> None:
    """It answers that the machine is off. Asked for its state, it says on."""
    machine.lies = True
    place.system("create -f -", policy(machine.url)).ok()
    place.wait_for(lambda: place.phase_of_fence() == "Failed")
    assert "off" in machine.calls
    place.writes(LOST)
    place.system("delete fencingpolicy rack").ok()


def test_a_fence_hands_the_volume_over(place: SafetyCluster, machine: FencedMachine) -> None:
    machine.lies = False
    place.system("create -f -", policy(machine.url)).ok()
    place.wait_for(lambda: place.phase_of_fence() in ("Fenced", "SwitchingOn"))
    place.writes(FIRST_NODE)
    assert machine.calls.count("off") == 2


def test_the_node_comes_back_and_takes_its_pod_again(place: SafetyCluster, machine: FencedMachine) -> None:
    place.wait_for(lambda: "on" in machine.calls)
    place.join()
    place.wait_for(lambda: place.reports() == "True" and not place.phase_of_fence())
    place.system(f"cordon {FIRST_NODE}").ok()
    place.databases("delete pod db-0 --wait=false").ok()
    place.writes(LOST)
