"""Jobs as hooks on either cluster; on the real one with the account of an installation.

Nodes are simulated: annotations of the template say how its pods end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from support.evictions.namespace import EvictionNamespace, turns
from support.processes.hooks import hooks_process
from support.realcluster.evictions import HOME, RealCluster
from support.realcluster.users import until_granted
from vacate.api.installednames import HOOK_JOBS, HOOKS
from vacate.api.kinds import CLUSTERROLES, CRONJOBS, JOBS, ROLEBINDINGS
from vacate.api.objects import Obj, terminating
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.dialects.turn_conditions import failed_type
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, JOB, TEMPLATE
from vacate.sdk import TurnResult


async def hook(place: EvictionNamespace, name: str, ends: Mapping[str, str], **labels: str) -> None:
    """A CronJob whose pods end like that."""
    pod = {
        "metadata": {"annotations": {f"sim.vacate.dev/{key}": value for key, value in ends.items()}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "flush", "image": "flush:1"}]},
    }
    spec = {
        "schedule": "0 0 1 1 *",
        "suspend": True,
        "jobTemplate": {"spec": {"backoffLimit": 0, "template": pod}},
    }
    meta = {"name": name, "labels": {TEMPLATE: "true"} | labels}
    await place.client.create(CRONJOBS, {"metadata": meta, "spec": spec}, place.namespace)


async def bind(place: EvictionNamespace, real: RealCluster) -> None:
    """What an administrator does in a namespace where Jobs may be run."""
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": HOOK_JOBS}
    subject = {"kind": "ServiceAccount", "name": HOOKS, "namespace": HOME}
    body = {"metadata": {"name": HOOKS}, "roleRef": role, "subjects": [subject]}
    await place.client.create(ROLEBINDINGS, body, place.namespace)
    rules = (await place.client.get(CLUSTERROLES, HOOK_JOBS))["rules"]
    account = f"system:serviceaccount:{HOME}:{HOOKS}"
    await asyncio.to_thread(until_granted, real.admin, account, rules, place.namespace)


async def jobs(place: EvictionNamespace) -> list[Obj]:
    return [one for one in (await place.client.list(JOBS, place.namespace)).items if not terminating(one)]


def failure(request: EvictionRequest) -> str:
    kind = failed_type(HOOKS_INTERCEPTOR)
    return next((one.message for one in request.status.conditions if one.type == kind), "")


@pytest.mark.thorough  # half a minute
async def test_jobs_prepare_evictions(place: EvictionNamespace, tmp_path: Path) -> None:
    await hook(place, "flush", {"run-seconds": "2"})
    await hook(place, "broken", {"run-seconds": "0", "exit-code": "3"})
    await hook(place, "unmarked", {"run-seconds": "0"}, **{TEMPLATE: "false"})
    await hook(place, "endless", {"run-seconds": "never"})
    allowed = {"jobs": {"namespaces": [place.namespace]}}
    with hooks_process(place, tmp_path, allowed) as program:
        if isinstance(place.cluster, RealCluster):
            # Nobody may run Jobs here yet. On the embedded cluster the process is the administrator's.
            early = await place.pod("early", HOOKS_INTERCEPTOR, annotations={JOB: "flush"})
            await place.ask(early)
            over = await place.until_complete(early)
            assert turns(over) == [(HOOKS_INTERCEPTOR, TurnResult.FAILED)]
            assert HOOK_JOBS in failure(over)
            assert await jobs(place) == []
            await bind(place, place.cluster)

        # The process is killed while the Job runs: it is found again, and there is one.
        prepared = await place.pod("prepared", HOOKS_INTERCEPTOR, annotations={JOB: "flush"})
        await place.ask(prepared)
        await place.until(lambda: jobs(place), "the Job is there")
        program.kill()
        program.start()
        over = await place.until_complete(prepared)
        assert turns(over) == [(HOOKS_INTERCEPTOR, TurnResult.COMPLETED)]
        (made,) = await jobs(place)
        assert made["metadata"]["name"] == f"eviction-hook-{over.metadata.uid}"
        given = {
            one["name"]: one["value"] for one in made["spec"]["template"]["spec"]["containers"][0]["env"]
        }
        assert given["VACATE_POD_NAME"] == "prepared"

        for name, why in (
            ("broken", "failed: "),
            ("unmarked", "is not marked as a hook"),
            ("none", "does not exist"),
        ):
            pod = await place.pod(name, HOOKS_INTERCEPTOR, annotations={JOB: name})
            await place.ask(pod)
            over = await place.until_complete(pod)
            assert turns(over) == [(HOOKS_INTERCEPTOR, TurnResult.FAILED)]
            assert why in failure(over)

        # Cancelled while the process is down: the Job goes when it is back.
        before = len(await jobs(place))
        kept = await place.pod("kept", HOOKS_INTERCEPTOR, annotations={JOB: "endless"})
        await place.requester().request("kept")

        async def more() -> bool:
            return len(await jobs(place)) > before

        await place.until(more, "the endless Job is there")
        program.kill()
        await place.requester().withdraw("kept")
        program.start()

        async def gone() -> bool:
            return len(await jobs(place)) == before

        await place.until(gone, "the endless Job is deleted")
        await place.stays(kept)
