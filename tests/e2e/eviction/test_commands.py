"""The commands of Vacate and kubectl about eviction requests, in the words that users see."""

from __future__ import annotations

import datetime as dt
import json
import re

import pytest

from support.evictions.namespace import EvictionNamespace, reason
from support.kubectl import Kubectl
from vacate.api.times import format_micro_time

BACKUP, NOTIFY = "backup.example.com", "notify.example.com"
JANE, DRAIN = "jane.example.com", "drain.example.com"


async def test_evict_and_wait(place: EvictionNamespace) -> None:
    pod = await place.pod("plain")
    done = await place.vacate("evict", "plain", "--wait", "--reason", "kernel update")
    assert (done.code, done.err) == (0, "")
    asked, *progress, ended = done.out.splitlines()
    assert asked == "pod/plain eviction requested"
    assert set(progress) <= {"pod/plain is being evicted", "pod/plain is terminating"}
    assert re.fullmatch("pod/plain (evicted|terminated)", ended)
    await place.gone(pod)


@pytest.mark.thorough
async def test_status_explain_and_cancel(place: EvictionNamespace) -> None:
    pod = await place.pod("db-0", NOTIFY, BACKUP)
    asked = await place.vacate("evict", "db-0", "--requester", JANE, "--reason", "kernel update")
    assert asked.out == f"pod/db-0 eviction requested; first interceptor: {BACKUP}\n", asked
    request = await place.until_active(pod, BACKUP)
    now = format_micro_time(dt.datetime.now(dt.UTC))
    finish = format_micro_time(dt.datetime.now(dt.UTC) + dt.timedelta(minutes=20))
    report = {"message": "Copied 3 of 9 GiB", "expectedInterceptorFinishTime": finish}
    await place.report(request, heartbeatTime=now, **report)

    header, row = (await place.vacate("status", "db-0")).out.splitlines()
    assert header.split()[:3] == ["POD", "STAGE", "ACTIVE"]
    pattern = rf"db-0 +Intercepting +{BACKUP} +\d+s +in 19m +\d+s ago +- +\d+s +{JANE} +Copied 3 of 9 GiB"
    assert re.fullmatch(pattern, row), row

    explanation = (await place.vacate("explain", "db-0")).out
    assert explanation.startswith(f"Interceptor {BACKUP} is preparing pod db-0 for eviction.")
    assert "Reason given: kernel update" in explanation
    assert "Its message: Copied 3 of 9 GiB." in explanation
    assert f"{NOTIFY} is assigned" in explanation

    taken_back = await place.vacate("cancel", "db-0", "--requester", JANE)
    assert taken_back.out == "pod/db-0 is not evicted: the eviction request is cancelled\n"
    assert reason(await place.until_complete(pod), "Complete") == "Cancelled"
    after = (await place.vacate("explain", "db-0", "-o", "json")).out
    assert json.loads(after)["stage"] == "Cancelled"
    await place.stays(pod)


@pytest.mark.thorough
async def test_a_budget_in_status_and_explain(place: EvictionNamespace) -> None:
    pod = await place.pod("tight-1", labels={"app": "tight"})
    await place.budget("tight", minAvailable=1)
    await place.vacate("evict", "tight-1")
    await place.until_stage(pod, "Blocked")
    assert "pdb/tight" in (await place.vacate("status", "tight-1")).out
    explanation = (await place.vacate("explain", "tight-1")).out
    assert "Pod tight-1 cannot be evicted: " in explanation
    assert "Disruption budget tight needs 1 healthy pod, has 1, and allows 0 disruptions now." in explanation
    assert f"kubectl describe pdb tight -n {place.namespace}" in explanation


@pytest.mark.thorough
async def test_forbidden_and_overridden(place: EvictionNamespace) -> None:
    pod = await place.pod("held", BACKUP)
    await place.vacate("evict", "held", "--requester", JANE)
    request = await place.until_active(pod, BACKUP)
    await place.report(request, evictionRequestCancellationPolicy="Forbid")
    refused = await place.vacate("cancel", "held", "--requester", JANE)
    assert refused.code == 1
    assert "--override" in refused.err
    assert (await place.vacate("cancel", "held", "--override")).code == 0
    assert reason(await place.until_complete(pod), "Complete") == "Cancelled"
    assert await place.events(request.metadata.name, "CancellationOverridden")


async def test_the_rows_of_kubectl(place: EvictionNamespace, kubectl: Kubectl) -> None:
    pod = await place.pod("web", BACKUP)
    await place.ask(pod, DRAIN)
    await place.until_active(pod, BACKUP)
    (row,) = kubectl("get evreq").rows()
    assert (row["NAME"], row["POD"]) == (pod["metadata"]["uid"], "web")
    assert (row["STAGE"], row["INTERCEPTOR"]) == ("Intercepting", BACKUP)
    assert {"EXPECTED FINISH", "FAILED EVICTIONS", "AGE"} <= row.keys()
    page = kubectl(f"describe evreq {pod['metadata']['uid']}").ok()
    assert "InterceptorAssigned" in page
    assert BACKUP in page
    kubectl(f"delete evreq {pod['metadata']['uid']}").printed("deleted")
    await place.stays(pod)


async def test_kubectl_explains_the_fields(kubectl: Kubectl) -> None:
    output = " ".join(kubectl("explain evreq --recursive").ok().split())
    assert "Requests the eviction of a pod, and reports its progress." in output
    for field in ("spec <Object>", "podRef <Object>", "heartbeatDeadlineSeconds <integer>"):
        assert field in output
    output = " ".join(kubectl("explain evreq.status.heartbeatTime").ok().split())
    assert "When the active interceptor last reported progress." in output


async def test_kubectl_is_refused_in_words_that_help(place: EvictionNamespace, kubectl: Kubectl) -> None:
    pod = await place.pod("web", BACKUP)
    meta = pod["metadata"]
    request = {
        "apiVersion": "evictionrequest.coordination.k8s.io/v1alpha1",
        "kind": "EvictionRequest",
        "metadata": {"name": "another"},
        "spec": {
            "target": {"podRef": {"name": "web", "uid": meta["uid"]}},
            "requesters": [{"name": DRAIN}],
        },
    }
    kubectl("create -f -", request).failed(
        "metadata.name: Invalid value", "must be equal to spec.target.podRef.uid"
    )
    request["metadata"] = {"generateName": "leave-"}
    kubectl("create -f -", request).failed("metadata.generateName: Forbidden")
    request["metadata"] = {"name": meta["uid"]}
    kubectl("create -f -", request).printed("created")
    kubectl(f"patch evreq {meta['uid']} --type=strategic -p {{}}").failed("application/json-patch+json")
