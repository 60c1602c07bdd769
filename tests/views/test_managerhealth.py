"""Whether a manager works: every state of its Lease, with and without something that waits for it."""

from __future__ import annotations

import datetime as dt

import msgspec
import pytest

from vacate.api.installednames import MANAGER, TROUBLE
from vacate.api.types import Lease
from vacate.api.types.lifecycle import FINAL_CONDITIONS, LifecycleRequest
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE_REQUEST
from vacate.views.managerhealth import ManagerState, Unattended, manager_health, unattended_request

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)
PODS = "kubectl -n ops get pods"
LOGS = f"kubectl -n ops logs deployment/{MANAGER}"


def lease(renewed: float | None = 1.0, holder: str = "m-1_x", trouble: str = "", duration: int = 15) -> Lease:
    spec: dict[str, object] = {"holderIdentity": holder, "leaseDurationSeconds": duration}
    if renewed is not None:
        spec["renewTime"] = (NOW - dt.timedelta(seconds=renewed)).isoformat()
    marks = {TROUBLE: trouble} if trouble else {}
    meta = {"name": MANAGER, "namespace": "ops", "annotations": marks}
    return msgspec.convert({"metadata": meta, "spec": spec}, Lease)


def waiting(seconds: float) -> Unattended:
    return Unattended("nodemaintenance/drain-a", NOW - dt.timedelta(seconds=seconds))


DENIED = "this process may not watch pods"

TABLE = [
    # leases, how long something has waited, state, words that must be there
    ((lease(),), None, ManagerState.WORKS, ()),
    ((lease(7.0),), None, ManagerState.WORKS, ()),
    ((lease(-3.0),), None, ManagerState.WORKS, ()),
    ((lease(),), 6.0, ManagerState.WORKS, ()),
    ((lease(),), 12.0, ManagerState.SILENT, ("m-1_x", "drain-a", "12s ago", LOGS)),
    ((lease(8.0),), None, ManagerState.STOPPED, ("since 2026-03-01 11:59:52 UTC", "8s", PODS, LOGS)),
    ((lease(8.0, duration=60),), None, ManagerState.WORKS, ()),
    ((lease(40.0, trouble=DENIED),), 12.0, ManagerState.STOPPED, (DENIED, "vacate install")),
    ((lease(20.0, holder=""),), None, ManagerState.ABSENT, ("given back 20s ago", PODS)),
    ((lease(None, holder="", trouble=DENIED),), None, ManagerState.ABSENT, ("no process holds", DENIED)),
    ((lease(trouble=DENIED),), None, ManagerState.HELD_UP, (f"is held up: {DENIED}.", LOGS)),
    ((lease(400.0), lease(1.0)), None, ManagerState.WORKS, ()),
    ((), None, ManagerState.ABSENT, ("no Lease vacate-manager", "kubectl -n vacate-system get pods")),
    (None, None, ManagerState.UNKNOWN, ()),
    (None, 6.0, ManagerState.UNKNOWN, ()),
    (None, 12.0, ManagerState.UNKNOWN, ("may not read Lease", "vacate-viewer", "drain-a", "get pods")),
]


@pytest.mark.parametrize(("leases", "waited", "state", "words"), TABLE)
def test_each_state_has_its_sentence_and_its_commands(
    leases: tuple[Lease, ...] | None, waited: float | None, state: ManagerState, words: tuple[str, ...]
) -> None:
    found = manager_health(leases, NOW, None if waited is None else waiting(waited))
    assert found.state is state
    assert bool(found.line) == bool(words), found.line
    for word in words:
        assert word in found.line, found.line


def test_an_embedded_cluster_has_commands_of_its_own() -> None:
    for leases in ((), (lease(60.0),)):
        line = manager_health(leases, NOW, embedded=True, program="v").line
        assert "v manager" in line
        assert "kubectl" not in line
    assert "v up" in manager_health((lease(),), NOW, waiting(30), embedded=True, program="v").line


@pytest.mark.parametrize(
    ("seen", "generation", "waits"), [(0, 1, True), (1, 1, False), (1, 2, True)], ids=["new", "seen", "again"]
)
def test_a_request_of_lifecycle_is_attended_to_once_its_conditions_say_what_it_awaits(
    seen: int, generation: int, waits: bool
) -> None:
    conditions = [{"type": one, "status": "False", "reason": "AwaitingEviction"} for one in FINAL_CONDITIONS]
    request = {
        "metadata": {"name": "drain", "generation": generation, "creationTimestamp": NOW},
        "spec": {"requester": "acme.io/drain", "intent": "Eviction"},
        "status": {"observedGeneration": seen, "conditions": conditions} if seen else {},
    }
    found = unattended_request([LIFECYCLE_REQUEST.read(msgspec.convert(request, LifecycleRequest))])
    assert (found is not None) == waits
