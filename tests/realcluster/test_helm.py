"""Helm on a real API server: install, upgrade, uninstall; nothing is left but what must stay."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from support.arms.arm import MERGE_PATCH, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.crd_steps import request
from support.realcluster.definitions import remove, until
from support.realcluster.helm import Helm, Values, chart_folder, helm_or_reason
from vacate.api.installednames import MANAGER, MUTATING
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import NAMESPACES, PODS
from vacate.entropy import system_entropy
from vacate.install import Settings, objects
from vacate.install.objectkinds import kind_of, path_of
from vacate.webhook.kinds import MUTATING_WEBHOOKS

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

RULES = "rules:\n  - interceptors:\n      - {name: a.b, priority: 1}\n"
COLLECTION = KIND.collection_path("default")


class Release:
    """The chart in a namespace of the cluster."""

    def __init__(self, helm: Helm, arm: KubeArm, namespace: str) -> None:
        self._helm, self.arm, self.namespace = helm, arm, namespace

    def install(self, values: Values | None = None) -> str:
        return self._run("install", "--create-namespace", *self._chart(values))

    def upgrade(self, values: Values | None = None) -> str:
        return self._run("upgrade", "--reset-values", *self._chart(values))

    def test(self) -> str:
        return self._run("test")

    def uninstall(self) -> str:
        return self._run("uninstall")

    def _run(self, verb: str, *options: str) -> str:
        return self._helm.run(verb, "vacate", "-n", self.namespace, *options)

    def _chart(self, values: Values | None) -> tuple[str, ...]:
        given = {"image": Settings().image, **(values or {})}
        return (str(chart_folder()), "-f", self._helm.values(given))

    async def there(self, settings: Settings) -> list[str]:
        """The objects of the settings that are in the cluster, but for the namespace, which Helm keeps."""
        wanted = [obj for obj in objects(settings) if kind_of(obj) != NAMESPACES]
        return [path_of(obj) for obj in wanted if await self.get(obj) is not None]

    async def get(self, obj: Obj) -> Obj | None:
        answer = await self.arm.call("GET", path_of(obj))
        return None if answer.code == 404 else answer.ok()

    async def records(self) -> list[str]:
        """What Helm itself keeps about its releases here."""
        listed = await self.arm.call("GET", f"/api/v1/namespaces/{self.namespace}/secrets")
        return [secret["metadata"]["name"] for secret in listed.ok()["items"]]

    async def clean(self) -> None:
        self._helm.ran("uninstall", "vacate", "-n", self.namespace)
        await remove(self.arm, objects(Settings(namespace=self.namespace)))


@pytest.fixture
async def release(tmp_path: Path) -> AsyncIterator[Release]:
    program, reason = helm_or_reason()
    if program is None:
        pytest.skip(reason)
    kubeconfig = Path(os.environ[KUBECONFIG])
    arm = KubeArm(kubeconfig)
    made = Release(Helm(program, tmp_path, kubeconfig), arm, f"helm-{system_entropy().uid()[:8]}")
    try:
        yield made
    finally:
        await made.clean()
        await arm.aclose()


def paths(settings: Settings) -> list[str]:
    return [path_of(obj) for obj in objects(settings) if kind_of(obj) != NAMESPACES]


def definitions(found: Sequence[str]) -> list[str]:
    return [path for path in found if "/customresourcedefinitions/" in path]


async def test_install_upgrade_and_uninstall(release: Release) -> None:
    settings = Settings(namespace=release.namespace)
    more = Settings(namespace=release.namespace, pod_rules=RULES, manager_replicas=3)
    assert "STATUS: deployed" in release.install()
    assert await release.there(settings) == paths(settings)

    await _helm_test(release)
    await _write_authority(release)
    assert "STATUS: deployed" in release.upgrade({"podRules": RULES, "manager": {"replicas": 3}})
    assert await release.there(more) == paths(more)
    (manager,) = [
        obj for obj in objects(more) if (obj["kind"], obj["metadata"]["name"]) == ("Deployment", MANAGER)
    ]
    found = await release.get(manager)
    assert found is not None
    assert found["spec"]["replicas"] == 3
    await _has_authority(release)

    release.upgrade()
    assert set(await release.there(more)) == set(paths(settings))
    release.uninstall()
    assert await release.there(more) == definitions(paths(settings))
    assert await release.records() == []


async def test_requests_stay_when_the_release_goes_and_are_there_when_it_comes_back(release: Release) -> None:
    settings = Settings(namespace=release.namespace)
    release.install()
    release.uninstall()
    made = (await release.arm.call("POST", COLLECTION, body=request())).ok(201)
    path = KIND.object_path(made["metadata"]["name"], "default")
    release.install()
    assert await release.there(settings) == paths(settings)
    assert (await release.arm.call("GET", path)).ok() == made
    release.uninstall()
    assert (await release.arm.call("GET", path)).ok() == made


async def _helm_test(release: Release) -> None:
    """No node is here: the end of the pod is written as its kubelet would."""
    path = PODS.object_path("vacate-check", release.namespace)
    tested = asyncio.create_task(asyncio.to_thread(release.test))

    async def begun() -> bool:
        return tested.done() or (await release.arm.call("GET", path)).code == 200

    await until(begun)
    ended = {"status": {"phase": "Succeeded"}}
    await release.arm.given("PATCH", f"{path}/status", ended, content_type=MERGE_PATCH)
    assert "Succeeded" in await tested


async def _write_authority(release: Release) -> None:
    """As the webhook does."""
    path = MUTATING_WEBHOOKS.object_path(MUTATING)
    hooks = (await release.arm.call("GET", path)).ok()["webhooks"]
    for hook in hooks:
        hook["clientConfig"]["caBundle"] = "LS0tCg=="
    await release.arm.given("PATCH", path, {"webhooks": hooks}, content_type=MERGE_PATCH)


async def _has_authority(release: Release) -> None:
    hooks = (await release.arm.call("GET", MUTATING_WEBHOOKS.object_path(MUTATING))).ok()["webhooks"]
    kept = [hook["clientConfig"].get("caBundle") for hook in hooks]
    # The webhook for new pods came with the rules; its authority is the webhook's next duty.
    assert kept == [*["LS0tCg=="] * 4, None, "LS0tCg=="]
