"""Trimmed pods and requests: less to keep, and the same decisions and patches."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.controllers.projections import project_pod, project_request
from vacate.eviction.model import CompletionReason, Finish
from vacate.eviction.records.patches import finish_patch, refusal_patch, unadmitted_patch
from vacate.eviction.records.reader import process_of, target_of
from vacate.kube.exclusivevolumes import uses_volumes
from vacate.kube.podend import has_ended

pytestmark = pytest.mark.unit


def _type(condition: Any) -> str:
    return str(condition["type"])


NOW = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
TIMES = st.sampled_from([None, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000001Z"])
NAMES = st.sampled_from(["a.example.com", "b.example.com", "c.example.com"])
CONDITIONS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["Complete", "Progressing", "InterceptorAssigned", "Forced", "Saved"]),
        "status": st.sampled_from(["True", "False"]),
        "reason": st.sampled_from(["Blocked", "Intercepting", "Other"]),
        "message": st.text(max_size=5),
        "lastTransitionTime": TIMES,
        "observedGeneration": st.integers(0, 3),
    }
)
LISTED = st.lists(st.fixed_dictionaries({"name": NAMES}), max_size=3)
REQUESTS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {
                "name": st.just("uid-1"),
                "namespace": st.just("default"),
                "uid": st.just("own"),
                "resourceVersion": st.just("7"),
                "creationTimestamp": TIMES,
                "deletionTimestamp": TIMES,
                "labels": st.just({"app": "web"}),
                "annotations": st.sampled_from(
                    [{}, {"vacate.dev/admitted": "true", "vacate.dev/reason": "x"}]
                ),
            }
        ),
        "spec": st.fixed_dictionaries(
            {
                "target": st.sampled_from(
                    [
                        {},
                        {"podRef": {"name": "web-1", "uid": "uid-1"}},
                        {"podRef": {"name": "web-1", "uid": "uid-2"}},
                    ]
                ),
                "requesters": LISTED,
                "interceptors": LISTED,
                "heartbeatDeadlineSeconds": st.sampled_from([600, 1800, 86400]),
            }
        ),
        "status": st.fixed_dictionaries(
            {
                "conditions": st.lists(CONDITIONS, max_size=3, unique_by=_type),
                "message": st.text(max_size=5),
                "activeInterceptorName": st.none() | NAMES,
                "activeInterceptorCompleted": st.booleans(),
                "heartbeatTime": TIMES,
                "expectedInterceptorFinishTime": TIMES,
                "evictionRequestCancellationPolicy": st.sampled_from([None, "Allow", "Forbid"]),
                "podEvictionStatus": st.none()
                | st.fixed_dictionaries({"failedAPIEvictionCounter": st.integers(0, 9)}),
            }
        ),
    }
)
PODS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {
                "name": st.just("web-1"),
                "namespace": st.just("default"),
                "uid": st.sampled_from(["uid-1", "u"]),
                "resourceVersion": st.just("3"),
                "labels": st.sampled_from([{}, {"app": "web", "tier": "x"}]),
                "annotations": st.sampled_from([{}, {"kubernetes.io/config.mirror": "hash"}, {"other": "x"}]),
                "ownerReferences": st.lists(
                    st.fixed_dictionaries(
                        {
                            "kind": st.sampled_from(["DaemonSet", "ReplicaSet"]),
                            "name": st.just("owner"),
                            "controller": st.booleans(),
                        }
                    ),
                    max_size=2,
                ),
                "finalizers": st.sampled_from([[], ["example.com/hold"]]),
                "deletionTimestamp": TIMES,
            }
        ),
        "spec": st.fixed_dictionaries({"nodeName": st.sampled_from(["", "node-1"])}),
        "status": st.fixed_dictionaries(
            {"phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])}
        ),
    }
)


def read(obj: Obj, into: Any) -> Any:
    return msgspec.convert(obj, into)


@given(REQUESTS, PODS, st.booleans())
def test_a_trimmed_request_is_decided_and_patched_like_the_whole(made: Obj, pod: Obj, live: bool) -> None:
    whole = read(made, EvictionRequest)
    lean, whole_pod = project_request(whole), read(pod, Pod)
    assert process_of(lean) == process_of(whole)
    assert target_of(lean, project_pod(whole_pod), live=live) == target_of(whole, whole_pod, live=live)
    assert project_pod(whole_pod).metadata.labels == whole_pod.metadata.labels
    assert refusal_patch(lean, "why", NOW) == refusal_patch(whole, "why", NOW)
    assert unadmitted_patch(lean, NOW) == unadmitted_patch(whole, NOW)
    for reason in CompletionReason:
        assert finish_patch(lean, Finish(reason), NOW) == finish_patch(whole, Finish(reason), NOW)


def test_equal_parts_are_held_once() -> None:
    def made(name: str) -> Pod:
        labels = {"app": "web"}
        return project_pod(
            read({"metadata": {"name": name, "labels": labels}, "spec": {"nodeName": "node-1"}}, Pod)
        )

    one, other = made("a"), made("b")
    assert one.metadata.labels is other.metadata.labels
    assert one.spec is other.spec
    assert one.status is other.status


def test_what_shows_the_use_and_the_end_of_a_volume_is_kept() -> None:
    """The claims of ephemeral volumes, a start while the phase is Pending, and a phase that pod GC wrote."""

    def projected(phase: str, **status: object) -> Pod:
        volumes = [
            {"name": "v", "ephemeral": {}},
            {"name": "d", "persistentVolumeClaim": {"claimName": "data"}},
        ]
        made = {
            "metadata": {"name": "a"},
            "spec": {"nodeName": "n", "volumes": volumes},
            "status": {"phase": phase, **status},
        }
        return project_pod(read(made, Pod))

    target = {"type": "DisruptionTarget", "status": "True"}
    assert sorted(projected("Pending").claims) == ["a-v", "data"]
    assert not uses_volumes(projected("Pending", containerStatuses=[{"name": "c"}]))
    assert uses_volumes(projected("Pending", initContainerStatuses=[{"containerID": "containerd://1"}]))
    assert uses_volumes(projected("Running"))
    assert not uses_volumes(projected("Succeeded"))
    assert has_ended(projected("Failed", conditions=[{**target, "reason": "TerminationByKubelet"}]))
    assert not has_ended(projected("Failed", conditions=[{**target, "reason": "DeletionByPodGC"}]))
    assert not has_ended(projected("Running"))
