"""Install, upgrade and uninstall on a real API server: no object lost, nothing left behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml

from support.arms.arm import MERGE_PATCH, Answer, Obj
from support.arms.kube import KubeArm
from support.realcluster.crd_steps import A, B, complete, named, request, status, turn
from support.realcluster.definitions import installed, until
from support.realcluster.installation import Installation, installing
from vacate.api.installednames import MUTATING
from vacate.api.kinds import EVACUATIONS, NODEMAINTENANCES
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.clock import SystemClock
from vacate.crds.definition import definition, definition_for, definitions
from vacate.errors import ConfigError
from vacate.install import Monitoring, Settings, objects
from vacate.install.apply.requests import existing
from vacate.install.apply.uninstaller import removable
from vacate.install.check.reader import InstallationCheck
from vacate.install.objectkinds import kind_of, path_of

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

OLD = Path(__file__).parents[1] / "install/schemas-0.1.0/evictionrequests.yaml"
COLLECTION = KIND.collection_path("default")


@pytest.fixture
async def place() -> AsyncIterator[Installation]:
    async with installing() as place:
        yield place


async def test_install_twice_and_uninstall(place: Installation) -> None:
    output = await place.install()
    assert [line for line in output if not line.endswith(" created")] == []
    assert len(output) == len(objects(place.settings))
    assert {line.rpartition(" ")[2] for line in await place.install()} == {"unchanged"}

    removed = await place.uninstall(definitions=False)
    assert removed[0].startswith("mutatingwebhookconfiguration")
    assert removed[1].startswith("validatingwebhookconfiguration")
    for kinds in ("EvictionRequests", "FencingPolicies"):
        assert any(f"kept, with no {kinds};" in line for line in removed)
    assert await place.there(objects(place.settings)) == [path_of(one) for one in definitions()]

    await place.uninstall(definitions=True)
    assert await place.there(removable(place.settings.namespace)) == []
    assert await place.uninstall(definitions=True) == [
        f"nothing of Vacate is in this cluster, or in its namespace {place.settings.namespace}"
    ]


async def test_an_upgrade_keeps_what_others_wrote(place: Installation) -> None:
    await place.install()
    hooks = next(obj for obj in objects(place.settings) if obj["metadata"]["name"] == MUTATING)
    found = await existing(place.client, hooks)
    assert found is not None
    for hook in found["webhooks"]:
        hook["clientConfig"]["caBundle"] = "LS0tCg=="
    change = {"metadata": {"labels": {"team": "ours"}}, "webhooks": found["webhooks"]}
    await place.client.patch(kind_of(hooks), MUTATING, change)

    await place.install()
    kept = await existing(place.client, hooks)
    assert kept is not None
    assert kept["metadata"]["labels"] == {"team": "ours"}
    assert [hook["clientConfig"]["caBundle"] for hook in kept["webhooks"]] == ["LS0tCg=="] * len(
        kept["webhooks"]
    )


async def test_uninstalling_keeps_requests_and_says_so(place: Installation) -> None:
    await place.apply([definition()])
    made = (await place.arm.call("POST", COLLECTION, body=request())).ok(201)
    output = await place.uninstall(definitions=False)
    assert any("kept, with 1 EvictionRequest; --crds" in line for line in output)
    path = KIND.object_path(made["metadata"]["name"], "default")
    (await place.arm.call("GET", path)).ok()
    found = await InstallationCheck(place.client, SystemClock(), "default", "vacate").findings()
    assert "Vacate is not installed in this cluster" in [one.text for one in found]
    output = await place.uninstall(definitions=True)
    assert any("goes, with 1 EvictionRequest" in line for line in output)


async def test_evacuations_go_with_their_definition_though_instigators_hold_them(place: Installation) -> None:
    """Nobody would take away the finalizers later: the controller is gone, and with it the definition."""
    await place.apply([definition_for(EVACUATIONS)])
    uid = "11111111-1111-1111-1111-111111111111"
    held = [f"{EVACUATIONS.group}/instigator_{name}.example.com" for name in ("drain", "sort")]
    body = {
        "apiVersion": EVACUATIONS.api_version,
        "kind": EVACUATIONS.kind,
        "metadata": {"name": f"{uid}-web", "finalizers": held},
        "spec": {"podRef": {"name": "web", "uid": uid}},
    }
    await place.client.create(EVACUATIONS, body, "default")
    output = await place.uninstall(definitions=False)
    assert any("kept, with 1 Evacuation; --crds" in line for line in output)
    assert (await place.client.get(EVACUATIONS, f"{uid}-web", "default"))["metadata"]["finalizers"] == held
    output = await place.uninstall(definitions=True)
    assert any("goes, with 1 Evacuation" in line for line in output)
    assert await existing(place.client, definition_for(EVACUATIONS)) is None


async def test_drains_are_called_off_before_the_manager_goes(place: Installation) -> None:
    """Their finalizers would hold the definition for ever: the manager, played here, undoes them first."""
    await place.apply([definition_for(NODEMAINTENANCES)])
    meta = {"name": "kernel", "finalizers": ["vacate.dev/nodemaintenance"]}
    identity = {"apiVersion": NODEMAINTENANCES.api_version, "kind": NODEMAINTENANCES.kind}
    body = {**identity, "metadata": meta, "spec": {"nodes": ["a"]}}
    await place.client.create(NODEMAINTENANCES, body)

    async def undo() -> None:
        async def going() -> bool:
            found = await place.client.get(NODEMAINTENANCES, "kernel")
            return "deletionTimestamp" in found["metadata"]

        await until(going)
        await place.client.patch(NODEMAINTENANCES, "kernel", {"metadata": {"finalizers": None}})

    manager = asyncio.create_task(undo())
    output = await place.uninstall(definitions=True)
    await manager
    assert "1 NodeMaintenance cancelled" in output
    assert await existing(place.client, definition_for(NODEMAINTENANCES)) is None


async def test_a_part_that_the_cluster_cannot_take_stops_all_of_it(place: Installation) -> None:
    watched = Settings(namespace=place.settings.namespace, monitoring=Monitoring.everything())
    with pytest.raises(ConfigError, match=r"monitoring.coreos.com/v1: install the Prometheus operator first"):
        await place.install(watched)
    assert place.lines == []


async def test_upgrade_from_the_schema_of_0_1_0(place: Installation) -> None:
    """Requests of every stage, written under the old definition, are there under the new one and go on."""
    arm, old = place.arm, yaml.safe_load(OLD.read_text())
    interceptors = {"interceptors": named(A, B)}
    scenarios = {
        "new": ({}, []),
        "active": (interceptors, [turn(B, -60)]),
        "completed": (interceptors, [turn(B, -60), status(activeInterceptorCompleted=True)]),
        "blocked": ({}, [status(podEvictionStatus={"failedAPIEvictionCounter": 7})]),
        "forbid": ({}, [status(evictionRequestCancellationPolicy="Forbid")]),
        "complete": ({}, [complete()]),
        # What the rules of today would refuse to a new one, and the old definition did not.
        "odd": ({"requesters": named("Not_A_Name")}, [status(heartbeatTime="2026-01-01T00:00:00Z")]),
    }
    async with installed(arm, old):
        before = {}
        for name, (spec, steps) in scenarios.items():
            made = (await arm.call("POST", COLLECTION, body=request(**spec))).ok(201)
            path = KIND.object_path(made["metadata"]["name"], "default")
            for step in steps:
                made = (await _patch(arm, f"{path}/status", step)).ok()
            before[name] = (path, made)
        output = await place.apply([definition()])
        assert output == [f"customresourcedefinition.apiextensions.k8s.io/{KIND.resource} configured"]
        await until(lambda: _refuses(arm))
        for name, (path, made) in before.items():
            assert (await arm.call("GET", path)).ok() == made, name
            (await _patch(arm, path, {"metadata": {"labels": {"still": "writable"}}})).ok()
        (await _patch(arm, f"{before['active'][0]}/status", status(heartbeatTime=None))).refused(
            422, "Invalid"
        )
        (await _patch(arm, f"{before['completed'][0]}/status", turn(A, 0))).ok()
        (await _patch(arm, f"{before['new'][0]}/status", complete("Cancelled"))).ok()


async def _patch(arm: KubeArm, path: str, step: Obj) -> Answer:
    return await arm.call("PATCH", path, body=step, content_type=MERGE_PATCH)


async def _refuses(arm: KubeArm) -> bool:
    """Whether the rules of the new definition are in force."""
    wrong = request(requesters=[])
    return (await arm.call("POST", COLLECTION, body=wrong, query={"dryRun": "All"})).failed
