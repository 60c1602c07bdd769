"""Deployments that move, beside what only a real control plane has: apply, rollout undo, quota."""

from __future__ import annotations

from support.evictions.moving import moving, pods, quiet
from support.evictions.namespace import EvictionNamespace
from support.kubectl import Kubectl
from support.realcluster.evictions import RealCluster
from vacate.api.kinds import DEPLOYMENTS, REPLICASETS, Kind
from vacate.api.types import Deployment
from vacate.api.workloads import OPT_IN
from vacate.clock import SystemClock
from vacate.kube.surge import SURGE, next_record
from vacate.testing import deployment

OPTED_IN = {"annotations": {OPT_IN: "true"}}
QUOTAS = Kind("", "v1", "ResourceQuota", "resourcequotas", "resourcequota", namespaced=True)


async def current(place: EvictionNamespace) -> Deployment:
    return await place.client.get(DEPLOYMENTS, "web", place.namespace, into=Deployment)


async def test_server_side_apply_by_the_user_meets_no_conflict_after_a_move(
    place: EvictionNamespace, real: RealCluster, kubectl: Kubectl
) -> None:
    manifest = deployment("web", namespace=place.namespace, replicas=1, metadata=OPTED_IN)
    (old,) = await moving(place, 1, create=lambda: kubectl("apply --server-side -f -", manifest))
    done = await place.vacate("evict", old["metadata"]["name"], "--wait")
    assert done.code == 0, done
    await quiet(place, 1)
    manifest["spec"]["replicas"] = 2
    applied = kubectl("apply --server-side -f -", manifest)
    assert applied.code == 0, applied
    assert (await current(place)).spec.replicas == 2


async def test_a_record_that_rollout_undo_brings_back_changes_no_count(
    place: EvictionNamespace, real: RealCluster, kubectl: Kubectl
) -> None:
    manifest = deployment("web", namespace=place.namespace, replicas=1, metadata=OPTED_IN)
    await moving(place, 1, create=lambda: kubectl("create -f -", manifest))
    (first,) = (await place.client.list(REPLICASETS, place.namespace)).items
    manifest["spec"]["replicas"] = 2
    manifest["spec"]["template"]["metadata"]["labels"]["version"] = "2"
    assert kubectl("replace -f -", manifest).code == 0
    assert kubectl("rollout status deployment/web --timeout=90s").code == 0
    for manager in real.managers:  # away when they should have removed the copy on the ReplicaSet
        assert manager.stop() == 0, manager.output
    try:
        # From 1 to 2, which is the count of today.
        record = next_record(await current(place), 1, {"gone": SystemClock().now()})
        copy = {"metadata": {"annotations": {SURGE: record.text()}}}
        await place.client.patch(REPLICASETS, first["metadata"]["name"], copy, place.namespace)
        undone = kubectl("rollout undo deployment/web")
        assert undone.code == 0, undone
        assert (await current(place)).metadata.annotations[SURGE] == record.text()
    finally:
        real.start_managers()
    await place.until(lambda: place.events("web", "SurgeGaveWay"), "the record is recognised as stale")
    await quiet(place, 2)


async def test_a_quota_is_named_and_the_surge_is_declined(
    place: EvictionNamespace, real: RealCluster
) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}}
    await place.client.create(QUOTAS, quota, place.namespace)
    (old,) = await moving(place, 1, metadata=OPTED_IN, spec={"progressDeadlineSeconds": 8})
    await place.ask(old)
    await place.until_request(old, lambda one: "exceeded quota" in one.status.message, "the quota is named")
    request = await place.until_complete(old)
    conditions = {one.type: one for one in request.status.conditions}
    declined = conditions["deployment.apps.k8s.io/Declined"].message
    assert declined.startswith("the replacement did not become available in time: FailedCreate: ")
    assert "exceeded quota: few" in declined
    await quiet(place, 1)
    assert old["metadata"]["uid"] not in {one["metadata"]["uid"] for one in await pods(place)}
