"""An upgrade removes what an earlier installation had and this one has not, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.arms.arm import Obj
from support.arms.kube import KUBECONFIG
from support.realcluster.installation import Installation, installing
from vacate.api.installednames import INSTALL_LEASE, WEBHOOK
from vacate.api.kinds import CLUSTERROLES, CONFIGMAPS, LEASES, NAMESPACES
from vacate.client.client import Client
from vacate.client.http import HttpTransport
from vacate.client.kubeconfig import load_cluster
from vacate.clock import SystemClock
from vacate.crds.definition import definition
from vacate.entropy import system_entropy
from vacate.errors import ConfigError
from vacate.install import Monitoring, Settings, objects
from vacate.install.apply.installer import Installer, InstallOptions
from vacate.install.apply.inventory import line_of, object_of
from vacate.install.apply.requests import applied, existing
from vacate.install.apply.uninstaller import Uninstaller, removable
from vacate.install.manifests.roles import former_roles
from vacate.install.objectkinds import kind_of, path_of, shown

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

RULES = "rules:\n  - interceptors: [{name: a.example.com, priority: 1}]\n"
BOARD = Monitoring(dashboard=True)


@pytest.fixture
async def place() -> AsyncIterator[Installation]:
    async with installing() as place:
        yield place


def lines(found: Settings) -> set[str]:
    return {line_of(obj) for obj in objects(found)}


def dropped(before: Settings, after: Settings) -> list[Obj]:
    left = lines(before) - lines(after)
    return [obj for obj in objects(before) if line_of(obj) in left]


def in_cluster(place: Installation, **changes: object) -> Settings:
    """Everything runs in the cluster, or would if somebody ran pods."""
    return place.changed(webhook_url="", **changes)


async def test_what_is_no_longer_wanted_goes(place: Installation) -> None:
    """Deployments, budgets, services, network policies, rules and the dashboard, all at once."""
    full = in_cluster(place, pod_rules=RULES, monitoring=BOARD)
    await place.install(full)
    assert [line for line in await place.install(full) if not line.endswith(" unchanged")] == []
    assert sorted(await place.noted()) == sorted(lines(full))
    less = place.changed(deploy_manager=False, network_policy=False)
    gone = dropped(full, less)
    assert len(gone) == 12, gone

    output = await place.install(less)
    pruned = [line.removesuffix(" pruned") for line in output if line.endswith(" pruned")]
    assert sorted(pruned) == sorted(map(shown, gone))
    assert await place.there(gone) == []
    assert sorted(await place.there(objects(less))) == sorted(
        path_of(obj) for obj in objects(less) if kind_of(obj) != NAMESPACES
    )
    assert sorted(await place.noted()) == sorted(lines(less))
    assert [line for line in await place.install(less) if not line.endswith(" unchanged")] == []


async def test_no_prune_keeps_it_until_a_later_run(place: Installation) -> None:
    await place.install(place.changed(monitoring=BOARD))
    (board,) = dropped(place.changed(monitoring=BOARD), place.settings)
    output = await place.install(options=InstallOptions(prune=False))
    assert not [line for line in output if "pruned" in line]
    assert len(await place.there([board])) == 1
    assert f"{shown(board)} pruned" in await place.install()


async def test_the_definition_and_its_requests_are_never_pruned(place: Installation) -> None:
    await place.install()
    without = place.changed(definitions=False)
    output = await place.install(without)
    assert f"{shown(definition())} kept: others have objects there" in output
    assert await existing(place.client, definition()) is not None


async def test_what_is_not_ours_stays(place: Installation) -> None:
    """By name it could be ours, or the notes say so; but by the word of the server it is somebody else's."""
    namespace = place.settings.namespace
    await place.install()
    (board,) = dropped(place.changed(monitoring=BOARD), place.settings)
    theirs = {"metadata": {"name": board["metadata"]["name"]}, "data": {"a": "b"}}
    await place.client.create(CONFIGMAPS, theirs, namespace)
    await place.client.create(CONFIGMAPS, {"metadata": {"name": "victim"}}, namespace)
    note = "".join(f"{line}\n" for line in [*await place.noted(), f"v1 ConfigMap {namespace}/victim"])
    hostile = f"{note}v1 Node n\n v1\nv1 Namespace default\nv1 ConfigMap a/b/c\n\n"
    change = {"data": {"objects": hostile}}
    await place.client.patch(CONFIGMAPS, "vacate-installation", change, namespace)

    output = await place.install()
    assert [line for line in output if "pruned" in line] == []
    assert "configmap/victim kept: it is not from vacate install" in output
    for name in (board["metadata"]["name"], "victim"):
        assert await place.client.get(CONFIGMAPS, name, namespace)
    assert await place.client.get(NAMESPACES, "default")


async def test_what_another_manager_has_applied_as_well_stays(place: Installation) -> None:
    await place.install(place.changed(monitoring=BOARD))
    (board,) = dropped(place.changed(monitoring=BOARD), place.settings)
    query = {"fieldManager": "flux", "force": "true"}
    answer = await place.arm.call(
        "PATCH", path_of(board), body=board, query=query, content_type="application/apply-patch+yaml"
    )
    answer.ok()
    assert f"{shown(board)} kept: flux has applied it as well" in await place.install()
    assert len(await place.there([board])) == 1


async def test_an_upgrade_takes_the_former_rights_of_the_webhook(place: Installation) -> None:
    """As version 0.1 left it: a Role for Secrets, and a ClusterRole that may patch the configurations."""
    namespace = place.settings.namespace
    await place.install(options=InstallOptions(prune=False))
    role, binding = former_roles(namespace)
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}
    await applied(place.client, {**role, "rules": [rule]})
    subject = {"kind": "ServiceAccount", "name": WEBHOOK, "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": WEBHOOK}
    await applied(place.client, {**binding, "roleRef": reference, "subjects": [subject]})
    wide = {"apiVersion": role["apiVersion"], "kind": "ClusterRole", "metadata": {"name": WEBHOOK}}
    hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"]
    patching = {"apiGroups": ["admissionregistration.k8s.io"], "resources": hooks, "verbs": ["patch"]}
    await applied(place.client, {**wide, "rules": [patching]})

    output = await place.install()
    assert {f"{shown(role)} pruned", f"{shown(binding)} pruned"} <= set(output)
    assert await place.there([role, binding]) == []
    narrow = await place.client.get(CLUSTERROLES, WEBHOOK)
    assert not [rule for rule in narrow["rules"] if rule["apiGroups"] == ["admissionregistration.k8s.io"]]


async def test_an_installation_from_before_there_were_notes(place: Installation) -> None:
    full = in_cluster(place, monitoring=BOARD)
    for obj in objects(full):
        await applied(place.client, obj)
    assert await place.noted() == []
    await place.install()
    assert await place.there(dropped(full, place.settings)) == []


async def test_what_was_interrupted_is_finished_by_the_next_run(place: Installation) -> None:
    """Ended after each write in turn: the notes name all that is there, and the next run leaves no trace."""
    full = in_cluster(place, monitoring=BOARD)
    await place.install(full)
    gone = dropped(full, place.settings)
    for stop_after in (1, 5, len(objects(place.settings)), len(objects(place.settings)) + 2):
        tell = _ends_after(stop_after)
        installer = Installer(place.client, SystemClock(), system_entropy(), tell)
        with pytest.raises(Killed):
            await installer.install(place.settings)
        known = [obj for line in await place.noted() if (obj := object_of(line)) is not None]
        there = await place.there(objects(full))
        assert set(there) <= {path_of(obj) for obj in known}
    await place.install()
    assert await place.there(gone) == []
    assert sorted(await place.noted()) == sorted(lines(place.settings))


class Jumping(SystemClock):
    """The clock of a machine that was asleep meanwhile."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class Asleep:
    """Hears what a command did; after the seventh line its machine sleeps, and another process has a turn."""

    def __init__(self, namespace: str) -> None:
        self.clock, self.lines = Jumping(), list[str]()
        self._namespace = namespace

    def tell(self, line: str) -> None:
        self.lines.append(line)
        if len(self.lines) == 7:
            self.clock.ahead = 60.0
            with ThreadPoolExecutor(1) as elsewhere:
                elsewhere.submit(asyncio.run, self._had_its_turn()).result()

    async def _had_its_turn(self) -> None:
        cluster = load_cluster([Path(os.environ[KUBECONFIG])])
        async with contextlib.aclosing(Client(HttpTransport(cluster, SystemClock()))) as client:
            given_back = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
            await client.patch(LEASES, INSTALL_LEASE, given_back, self._namespace)


async def test_who_was_asleep_for_too_long_writes_nothing_more(place: Installation) -> None:
    """Another process has begun, and may be done by now."""
    asleep = Asleep(place.settings.namespace)
    installer = Installer(place.client, asleep.clock, system_entropy(), asleep.tell)
    with pytest.raises(ConfigError, match="the connection to the cluster was lost for too long"):
        await installer.install(place.settings)
    assert len(asleep.lines) == 7
    assert len(await place.there(objects(place.settings))) == 6  # and the namespace
    assert sorted(await place.noted()) == sorted(lines(place.settings))


async def test_who_was_asleep_while_uninstalling_removes_nothing_more(place: Installation) -> None:
    """Another process may have installed it anew, and that is not what was to go."""
    await place.install()
    before = await place.there(objects(place.settings))
    asleep = Asleep(place.settings.namespace)
    with pytest.raises(ConfigError, match="the connection to the cluster was lost for too long"):
        await Uninstaller(place.client, asleep.clock, system_entropy(), asleep.tell).uninstall(
            place.settings.namespace
        )
    assert len(asleep.lines) == 7
    assert len(await place.there(objects(place.settings))) == len(before) - 7


class Killed(BaseException):
    """Nothing that anybody handles."""


def _ends_after(count: int) -> Callable[[str], None]:
    printed: list[str] = []

    def tell(line: str) -> None:
        printed.append(line)
        if len(printed) >= count:
            raise Killed

    return tell


async def test_a_dry_run_changes_nothing_and_says_what_would_change(place: Installation) -> None:
    dry = InstallOptions(dry_run=True)
    output = await place.install(options=dry)
    assert {line.partition(" ")[2] for line in output} == {
        "created (server dry run)",
        "created (not checked: its namespace is not there yet)",
    }
    assert await place.there(objects(place.settings)) == []
    await place.install(place.changed(monitoring=BOARD))
    output = await place.install(place.changed(deploy_manager=False, pod_webhooks=False), dry)
    ends = [line.partition(" ")[2] for line in output]
    assert set(ends) == {
        "unchanged (server dry run)", "configured (server dry run)", "pruned (server dry run)",
    }  # fmt: skip
    again = await place.install(place.changed(monitoring=BOARD))
    assert [line for line in again if not line.endswith(" unchanged")] == []


async def test_there_is_one_installation_in_a_cluster(place: Installation) -> None:
    await place.install()
    async with installing() as other:
        with pytest.raises(ConfigError, match=f"Vacate is in namespace {place.settings.namespace}"):
            await other.install()
        with pytest.raises(ConfigError, match=f"use -n {place.settings.namespace}"):
            await other.uninstall(definitions=False)
        assert await existing(other.client, objects(other.settings)[0]) is None
    assert len(await place.there(objects(place.settings))) == len(objects(place.settings)) - 1


async def test_uninstalling_removes_what_the_notes_know_and_is_ours(place: Installation) -> None:
    """What a later version has installed under names of its own; but a note is not believed by itself."""
    await place.install()
    namespace = place.settings.namespace
    meta = {"name": "of-later", "namespace": namespace}
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}}
    await applied(place.client, extra)
    victim = f"victim-{namespace}"
    await place.client.create(CONFIGMAPS, {"metadata": {"name": victim}}, "default")
    hostile = [f"v1 ConfigMap default/{victim}", "v1 Namespace default"]
    note = "".join(f"{line}\n" for line in [*await place.noted(), line_of(extra), *hostile])
    await place.client.patch(CONFIGMAPS, "vacate-installation", {"data": {"objects": note}}, namespace)
    output = await place.uninstall(definitions=True)
    assert "configmap/of-later pruned" in output
    assert f"configmap/{victim} kept: it is not from vacate install" in output
    assert await place.client.get(CONFIGMAPS, victim, "default")
    assert "deletionTimestamp" not in (await place.client.get(NAMESPACES, "default"))["metadata"]
    await place.client.delete(CONFIGMAPS, victim, "default")


async def test_a_namespace_of_another_owner_stays_as_it_is(place: Installation) -> None:
    namespace = place.settings.namespace
    made = await place.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    output = await place.install(options=InstallOptions(dry_run=True))
    assert output[0] == f"namespace/{namespace} kept: it does not belong to Vacate (server dry run)"
    output = await place.install()
    assert output[0] == f"namespace/{namespace} kept: it does not belong to Vacate"
    assert await place.client.get(NAMESPACES, namespace) == made
    output = await place.uninstall(definitions=True)
    assert output[-1] == f"namespace/{namespace} kept: it was not made for Vacate"
    assert await place.there(removable(namespace)) == []
    for kind in (CONFIGMAPS, LEASES):
        assert [one["metadata"]["name"] for one in (await place.client.list(kind, namespace)).items] == []
    await place.client.delete(NAMESPACES, namespace)
