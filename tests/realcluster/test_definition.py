"""The definition of EvictionRequests on a real API server: it is taken, and it refuses in our words."""

from __future__ import annotations

import copy
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.arms.arm import MERGE_PATCH, Answer, Obj
from support.arms.kube import KUBECONFIG, KubeArm
from support.realcluster.definitions import installed
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.crds.catalogue import declaration_of
from vacate.crds.definition import definition_for
from vacate.entropy import system_entropy
from vacate.install.manifest import manifest

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

DEFINITION = yaml.safe_load(manifest(definition_for(KIND)))
# What a server adds where the schema finds errors and rules beyond it have not been asked.
_NOT_CHECKED = "some validation rules were not checked because the object was invalid"
SPEC: Obj = {"target": {"podRef": {"name": "web", "uid": "u"}}, "requesters": [{"name": "a.b"}]}


@pytest.fixture
async def real() -> AsyncIterator[KubeArm]:
    """A real server that has the definition, until the test is over."""
    arm = KubeArm(Path(os.environ[KUBECONFIG]))
    try:
        async with installed(arm, DEFINITION):
            yield arm
    finally:
        await arm.aclose()


def a_request(**changes: Any) -> Obj:
    name = f"u-{system_entropy().uid()[:8]}"
    identity = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}}
    spec = copy.deepcopy(SPEC)
    spec["target"]["podRef"]["uid"] = name
    return {**identity, "spec": spec, **changes}


WRONG_SPECS: dict[str, Any] = {
    "text": "x",
    "empty": {},
    "no-target": {"requesters": []},
    "names": {**SPEC, "target": {"podRef": {"name": "", "uid": 5}}},
    "long": {**SPEC, "target": {"podRef": {"name": "x" * 254, "uid": "u"}}},
    "type": {**SPEC, "type": "Hard"},
    "deadline": {**SPEC, "heartbeatDeadlineSeconds": 86401},
    "deadline-text": {**SPEC, "heartbeatDeadlineSeconds": "600"},
    "thrice": {**SPEC, "requesters": [{"name": "a"}, {"name": "a"}, {"name": "a"}]},
    "no-objects": {**SPEC, "requesters": [{"name": "a"}, {"name": "a"}, 3, {}]},
    "many": {**SPEC, "requesters": [{"name": f"n{i}"} for i in range(101)]},
    "null": {**SPEC, "interceptors": [{"name": "x"}, None]},
}
WRONG_STATUSES: dict[str, Any] = {
    "types": {
        "message": 5,
        "activeInterceptorCompleted": "yes",
        "activeInterceptorName": 1,
        "heartbeatTime": 3,
    },
    "policy": {"evictionRequestCancellationPolicy": "Maybe"},
    "counter": {"podEvictionStatus": {"failedAPIEvictionCounter": -1}},
    "no-counter": {"podEvictionStatus": {}},
    "time": {"heartbeatTime": "x", "expectedInterceptorFinishTime": "2026-01-01"},
    "conditions": {"conditions": [{"type": "A"}, {"type": "A", "status": "Perhaps"}]},
    "long": {"message": "x" * 32769},
}


async def test_it_refuses_in_our_words(real: KubeArm) -> None:
    for name, spec in WRONG_SPECS.items():
        wanted = a_request(spec=spec, metadata={"name": "u"})
        answer = await real.call("POST", KIND.collection_path("default"), body=wanted)
        assert field_errors(answer) == ours(wanted), name


async def test_it_refuses_statuses_in_our_words(real: KubeArm) -> None:
    made = (await real.call("POST", KIND.collection_path("default"), body=a_request())).ok(201)
    path = KIND.object_path(made["metadata"]["name"], "default", "status")
    for name, status in WRONG_STATUSES.items():
        answer = await real.call("PATCH", path, body={"status": status}, content_type=MERGE_PATCH)
        full = {**made["status"], **status}
        assert field_errors(answer) == sorted(
            str(one) for one in declaration_of(KIND).structure.status_errors(full)
        ), name


def field_errors(answer: Answer) -> list[str]:
    assert (answer.code, answer.reason) == (422, "Invalid"), answer
    return sorted(one for one in answer.field_errors if _NOT_CHECKED not in one)


def ours(wanted: Obj) -> list[str]:
    obj = copy.deepcopy(wanted)
    declaration_of(KIND).structure.prune(obj)
    declaration_of(KIND).structure.fill_defaults(obj)
    return sorted(str(one) for one in declaration_of(KIND).structure.field_errors({**obj, "metadata": {}}))


async def test_defaults_pruning_and_columns(real: KubeArm) -> None:
    wanted = a_request(status={"message": "mine"}, unknown=1)
    made = (await real.call("POST", KIND.collection_path("default"), body=wanted)).ok(201)
    assert made["spec"] == {**wanted["spec"], "type": "Soft", "heartbeatDeadlineSeconds": 1800}
    assert made["status"] == {"message": "", "evictionRequestCancellationPolicy": "Allow"}
    assert "unknown" not in made
    path = KIND.object_path(made["metadata"]["name"], "default")
    since = "2026-01-01T00:00:00.123456Z"
    stage = {
        "type": "Progressing",
        "status": "True",
        "reason": "Blocked",
        "message": "",
        "lastTransitionTime": since,
    }
    status = {"conditions": [stage], "podEvictionStatus": {"failedAPIEvictionCounter": 2}}
    await real.given("PATCH", f"{path}/status", {"status": status}, content_type=MERGE_PATCH)
    table = (await real.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")).ok()
    titles = [column["name"] for column in table["columnDefinitions"]]
    assert titles == ["Name", "Pod", "Stage", "Interceptor", "Expected Finish", "Failed Evictions", "Age"]
    assert table["rows"][0]["cells"][1:6] == ["web", "Blocked", None, None, 2]
    again = (await real.call("GET", path)).ok()
    assert again["status"]["conditions"][0]["lastTransitionTime"] == since
