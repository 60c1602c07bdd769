"""A node that is short of memory or disk: thresholds, which pod goes, and what it learns about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.nodes.agents import NODE, agent_place, main_status, ready
from vacate.api.kinds import NODES, PODS
from vacate.errors import ConfigError
from vacate.nodeagent.pressure.measures import measure
from vacate.nodeagent.pressure.thresholds import (
    CONDITIONS,
    DISK,
    MEMORY,
    Candidate,
    Measure,
    Pressure,
    PressureConfig,
    Threshold,
    eviction,
    read_thresholds,
    victim,
)

GIB = 2**30
_HOOK = "until test -e up; do sleep 0.02; done; echo $KUBE_POD_TERM_REASON > why"


@pytest.mark.unit
def test_thresholds_are_read_from_a_kubelets_configuration() -> None:
    document = {
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "0%", "imagefs.available": "15%"},
        "evictionSoft": {"nodefs.available": "10%"},
        "evictionSoftGracePeriod": {"nodefs.available": "1m30s"},
        "evictionMaxPodGracePeriod": 60,
        "evictionPressureTransitionPeriod": "30s",
    }
    hard, soft = Threshold(MEMORY, "100Mi"), Threshold(DISK, "10%", 90.0, hard=False)
    config = read_thresholds(document)
    assert config == PressureConfig((hard, soft), 60.0, 30.0)
    assert (config.grace_seconds(hard, 30.0), config.grace_seconds(soft, 30.0)) == (1.0, 30.0)
    assert read_thresholds({}) == PressureConfig()


@pytest.mark.unit
@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"evictionHard": ["x"]}, "evictionHard: must map signals"),
        ({"evictionHard": {"memory.avaliable": "1Mi"}}, "evictionHard[memory.avaliable]: is not a signal"),
        ({"evictionHard": {MEMORY: 7}}, f"evictionHard[{MEMORY}]: must be an amount"),
        ({"evictionHard": {MEMORY: "101%"}}, f"evictionHard[{MEMORY}]: must be an amount"),
        ({"evictionHard": {MEMORY: "-1"}}, f"evictionHard[{MEMORY}]: must be an amount"),
        ({"evictionHard": {MEMORY: "nan%"}}, f"evictionHard[{MEMORY}]: must be an amount"),
        ({"evictionSoft": {MEMORY: "1Mi"}}, f"evictionSoftGracePeriod[{MEMORY}]: is missing"),
        (
            {"evictionSoft": {MEMORY: "1Mi"}, "evictionSoftGracePeriod": {MEMORY: "soon"}},
            f"evictionSoftGracePeriod[{MEMORY}]: must be a duration",
        ),
        ({"evictionMaxPodGracePeriod": -1}, "evictionMaxPodGracePeriod: must be a number"),
        ({"evictionPressureTransitionPeriod": 5}, "evictionPressureTransitionPeriod: must be a duration"),
    ],
)
def test_every_bad_value_names_its_field(document: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_thresholds(document, "--config: f")
    assert f"--config: f: {named}" in str(caught.value)


@pytest.mark.unit
def test_pressure_begins_after_its_time_and_ends_after_the_transition() -> None:
    hard, soft = Threshold(MEMORY, "1Gi"), Threshold(DISK, "10%", 60.0, hard=False)
    config = PressureConfig((soft, hard), 30.0, 300.0)
    low = {MEMORY: Measure(GIB - 1, 4 * GIB), DISK: Measure(GIB, 11 * GIB)}
    fine = {MEMORY: Measure(GIB, 4 * GIB), DISK: Measure(2 * GIB, 11 * GIB)}
    pressure = Pressure()
    pressure.observe(config, low, 0.0)
    assert pressure.due(0.0) == [hard]
    assert pressure.conditions(config, 0.0) == {"MemoryPressure"}
    pressure.observe(config, low, 60.0)
    assert pressure.due(60.0) == [hard, soft]
    assert pressure.conditions(config, 60.0) == {"MemoryPressure", "DiskPressure"}
    pressure.observe(config, {}, 70.0)  # not measured: nothing is known to be better
    assert pressure.due(70.0) == [hard, soft]
    pressure.observe(config, fine, 80.0)
    assert (pressure.due(80.0), len(pressure.conditions(config, 80.0))) == ([], 2)
    pressure.observe(config, fine, 371.0)
    assert pressure.conditions(config, 371.0) == frozenset()


@pytest.mark.unit
def test_who_goes_first() -> None:
    critical = Candidate("critical", 2_000_000_000, "BestEffort", "2026-01-09")
    low = Candidate("low", -1, "Guaranteed", "2026-01-01")
    young, old = (
        Candidate("young", 0, "BestEffort", "2026-01-02"),
        Candidate("old", 0, "BestEffort", "2026-01-01"),
    )
    promised = Candidate("promised", 0, "Burstable", "2026-01-03")
    waiting, order = [old, promised, critical, low, young], []
    while (gone := victim(waiting)) is not None:
        waiting.remove(gone)
        order.append(gone.uid)
    assert order == ["low", "young", "old", "promised"]
    assert waiting == [critical]


@pytest.mark.unit
def test_the_words_of_the_kubelet_and_real_measures(tmp_path: Path) -> None:
    end = eviction(Threshold(MEMORY, "100Mi"), Measure(50 * 2**20, GIB))
    assert (end.reason, end.phase) == ("Evicted", "Failed")
    assert end.message.startswith(
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 51200Ki"
    )
    found = measure(CONDITIONS, tmp_path)
    assert all(0 < one.available <= one.capacity for one in found.values())


@pytest.mark.process
async def test_a_pod_is_evicted_and_its_hook_learns_why(tmp_path: Path) -> None:
    always = PressureConfig(
        (Threshold(MEMORY, "100%", 0.0, hard=False),), max_grace_seconds=60.0, interval_seconds=0.1
    )
    async with agent_place(tmp_path, pressure=always) as place:
        hook = {"preStop": {"exec": {"command": ["sh", "-c", _HOOK]}}}
        script = "trap 'cat why; exit 0' TERM; touch up; while :; do sleep 0.02; done"
        made = await place.create("web", script, container={"lifecycle": hook})
        ended = await place.until("web", lambda one: one["status"].get("phase") == "Failed")
        assert (ended["status"]["reason"], main_status(ended)["state"]["terminated"]["exitCode"]) == (
            "Evicted",
            0,
        )
        target = next(one for one in ended["status"]["conditions"] if one["type"] == "DisruptionTarget")
        assert target["reason"] == "TerminationByKubelet"
        assert target["message"] == ended["status"]["message"]
        assert "Eviction" in await place.logged(made, "Eviction")
        node = await place.client.get(NODES, NODE)
        assert {one["type"]: one["status"] for one in node["status"]["conditions"]}[
            "MemoryPressure"
        ] == "True"
        assert not ready(ended)
        await place.client.delete(PODS, "web", "default")
        await place.gone("web")
