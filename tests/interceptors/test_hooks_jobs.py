"""The Job of a turn: what it is made from, and what its status means."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from vacate.api.objects import Obj
from vacate.api.types.batch import Job, JobStatus
from vacate.api.types.core import Pod, PodSpec
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.meta import Condition, ObjectMeta
from vacate.interceptors.decision import Wait
from vacate.interceptors.hooks.annotations import HookRefused
from vacate.interceptors.hooks.decision import Failed
from vacate.interceptors.hooks.jobs import JobStep, decide_job
from vacate.interceptors.hooks.jobtemplate import job_from
from vacate.sdk.values import Finished

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 11, 16, 4, 0, tzinfo=dt.UTC)
SOON = NOW + dt.timedelta(minutes=5)
POD = Pod(metadata=ObjectMeta(name="db-0", namespace="shop", uid="u-1"), spec=PodSpec(node_name="node-1"))
REQUEST = EvictionRequest(metadata=ObjectMeta(name="u-1", namespace="shop", uid="r-1"))
VARIABLES = {
    "VACATE_POD_NAMESPACE": "shop",
    "VACATE_POD_NAME": "db-0",
    "VACATE_POD_UID": "u-1",
    "VACATE_NODE_NAME": "node-1",
    "VACATE_REASON": "Eviction",
    "VACATE_DEADLINE": "2026-11-16T04:05:00Z",
}


def cron_job(labels: dict[str, str] | None = None, **spec: Any) -> Obj:
    marked = {"vacate.dev/eviction-hook-template": "true"} if labels is None else labels
    containers = [{"name": "a", "env": [{"name": "VACATE_REASON", "value": "mine"}]}]
    template = {"spec": {"serviceAccountName": "flusher", "containers": containers, "initContainers": [{}]}}
    return {
        "metadata": {"name": "flush", "namespace": "shop", "uid": "c-1", "labels": marked},
        "spec": {
            "jobTemplate": {"metadata": {"labels": {"team": "db"}}, "spec": {"template": template, **spec}}
        },
    }


def made(cron: Obj) -> Obj:
    return job_from(cron, POD, REQUEST, reason="Eviction", now=NOW, deadline=SOON)


def test_a_job_is_the_template_for_one_pod() -> None:
    source = cron_job()
    before = repr(source)
    job = made(source)
    assert repr(source) == before
    meta, spec = job["metadata"], job["spec"]
    assert (meta["name"], meta["namespace"]) == ("eviction-hook-r-1", "shop")
    assert meta["labels"] == {"team": "db", "vacate.dev/eviction-hook-request": "r-1"}
    assert meta["annotations"]["vacate.dev/eviction-hook-request-name"] == "evictionrequest/u-1"
    assert [(one["kind"], one["name"], one.get("controller")) for one in meta["ownerReferences"]] == [
        ("CronJob", "flush", None)
    ]
    assert (spec["activeDeadlineSeconds"], spec["ttlSecondsAfterFinished"]) == (300, 3600)
    pod = spec["template"]["spec"]
    assert pod["serviceAccountName"] == "flusher"
    for container, own in ((pod["initContainers"][0], {}), (pod["containers"][0], {"VACATE_REASON": "mine"})):
        assert {one["name"]: one["value"] for one in container["env"]} == VARIABLES | own


@pytest.mark.parametrize(("given", "kept"), [(60, 60), (9000, 300), (0, 300), ("soon", 300)])
def test_a_template_may_allow_less_time_and_not_more(given: object, kept: int) -> None:
    assert made(cron_job(activeDeadlineSeconds=given))["spec"]["activeDeadlineSeconds"] == kept
    assert made(cron_job(ttlSecondsAfterFinished=5))["spec"]["ttlSecondsAfterFinished"] == 5


@pytest.mark.parametrize("labels", [{}, {"vacate.dev/eviction-hook-template": "false"}, {"app": "db"}])
def test_only_a_marked_cronjob_is_a_hook(labels: dict[str, str]) -> None:
    with pytest.raises(HookRefused, match=r"vacate\.dev/eviction-hook-template=true"):
        made(cron_job(labels))


def job(kind: str = "", message: str = "", **status: Any) -> Job:
    conditions = [Condition(type=kind, status="True", reason="Because", message=message)] if kind else []
    return Job(metadata=ObjectMeta(name="j"), status=JobStatus(conditions=conditions, **status))


@pytest.mark.parametrize(
    ("found", "now", "step"),
    [
        (job(), NOW, Wait("Job j: no pod is active yet.")),
        (job(active=1, failed=2), NOW, Wait("Job j: 1 pod active, 2 pods failed.")),
        (job("Complete"), SOON, Finished("Job j is complete.")),
        (job("Failed", "too\x1b[2J many"), NOW, Failed("Job j failed: too [2J many")),
        (job("FailureTarget"), NOW, Failed("Job j failed: Because")),
        (job("Suspended"), NOW, Wait("Job j: no pod is active yet.")),
        (job(active=1), SOON, Failed("Job j was not complete, and its time was over")),
        (None, NOW, Failed("Job j was deleted before it was complete")),
        (
            Job(metadata=ObjectMeta(name="j", deletion_timestamp=NOW)),
            NOW,
            Failed("Job j was deleted before it was complete"),
        ),
    ],
)
def test_what_a_status_means(found: Job | None, now: dt.datetime, step: JobStep) -> None:
    assert decide_job("j", found, now, SOON) == step
