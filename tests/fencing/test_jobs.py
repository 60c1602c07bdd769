"""The Job of a fence: what is added to the administrator's template, and what is left as it is."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.api.objects import Obj, copied
from vacate.errors import ConfigError
from vacate.fencing.jobs import JobCall, make_job, read_end

pytestmark = pytest.mark.unit

CALL = JobCall("off", "node-1", "u-1", "step 1")
AWAY = {"key": "metadata.name", "operator": "NotIn", "values": ["node-1"]}
RULE = "requiredDuringSchedulingIgnoredDuringExecution"


def template(**spec: Any) -> Obj:
    return {
        "metadata": {"name": "fencing"},
        "template": {"spec": {"containers": [{"name": "fence", "image": "fence:1"}], **spec}},
    }


def affinity_terms(job: Obj) -> list[Obj]:
    found: list[Obj] = job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"][RULE]["nodeSelectorTerms"]
    return found


def test_a_job_has_one_try_a_deadline_and_the_environment_in_every_container() -> None:
    given = template(
        restartPolicy="Always",
        initContainers=[{"name": "wait", "env": [{"name": "VACATE_NODE", "value": "forged"}]}],
        volumes=[{"name": "bmc", "secret": {"secretName": "bmc"}}],
    )
    before = copied(given)
    job = make_job(given, CALL, 45)
    assert given == before
    spec = job["spec"]
    assert (spec["backoffLimit"], spec["parallelism"], spec["activeDeadlineSeconds"]) == (0, 1, 45)
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["volumes"] == before["template"]["spec"]["volumes"]
    ours = [
        {"name": "VACATE_NODE", "value": "node-1"},
        {"name": "VACATE_NODE_UID", "value": "u-1"},
        {"name": "VACATE_ACTION", "value": "off"},
    ]
    assert [one["env"] for one in (*pod["containers"], *pod["initContainers"])] == [ours, ours]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ([], [{"matchFields": [AWAY]}]),
        (
            [{"matchExpressions": ["a"]}, {"matchFields": [{"key": "metadata.name"}]}],
            [
                {"matchExpressions": ["a"], "matchFields": [AWAY]},
                {"matchFields": [{"key": "metadata.name"}, AWAY]},
            ],
        ),
        # A term without requirements matches no node; with ours alone it would match nearly all.
        ([{}, {"matchExpressions": ["a"]}], [{"matchExpressions": ["a"], "matchFields": [AWAY]}]),
    ],
)
def test_every_alternative_of_the_affinity_excludes_the_node(terms: list[Obj], expected: list[Obj]) -> None:
    placed = {"nodeAffinity": {RULE: {"nodeSelectorTerms": terms}}, "podAffinity": {"kept": True}}
    job = make_job(template(affinity=placed), CALL, 60)
    assert affinity_terms(job) == expected
    assert job["spec"]["template"]["spec"]["affinity"]["podAffinity"] == {"kept": True}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (template(nodeName="node-1"), "remove nodeName"),
        ({"metadata": {"name": "fencing"}}, "has no container"),
        (template(containers="x"), "has no container"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused(given: Obj, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make_job(given, CALL, 60)


def test_the_name_follows_from_the_step_and_nothing_else() -> None:
    same = JobCall("off", "node-1", "u-1", "step 1")
    others = [
        JobCall("on", "node-1", "u-1", "step 1"),
        JobCall("off", "node-1", "u-2", "step 1"),
        JobCall("off", "node-1", "u-1", "step 2"),
    ]
    assert same.name == CALL.name
    assert len({CALL.name, *(one.name for one in others)}) == 4
    assert len(CALL.name) <= 63


@pytest.mark.parametrize(("name", "value", "proves"), [
    ("VACATE_NODE", "node-1", True), ("VACATE_NODE", "node-2", False), ("VACATE_NODE_UID", "u-2", False),
    ("VACATE_ACTION", "status", False),
])  # fmt: skip
def test_a_pod_that_was_changed_on_its_way_proves_nothing(name: str, value: str, proves: bool) -> None:
    """Admission may change pods: the pod's environment counts, not the Job's."""
    call = JobCall("off", "node-1", "u-1", "step")
    job = make_job({"template": {"spec": {"containers": [{"name": "fence", "image": "i"}]}}}, call, 60)
    job["metadata"]["uid"] = "u-job"
    job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
    spec = {**job["spec"]["template"]["spec"], "nodeName": "node-2"}
    for variable in spec["containers"][0]["env"]:
        if variable["name"] == name:
            variable["value"] = value
    message = '{"node":"node-1","uid":"u-1","state":"off"}'
    ended = {"name": "fence", "state": {"terminated": {"exitCode": 0, "message": message}}}
    owner = {"kind": "Job", "uid": "u-job", "controller": True}
    pod = {
        "metadata": {"name": "p", "ownerReferences": [owner]},
        "spec": spec,
        "status": {"phase": "Succeeded", "containerStatuses": [ended]},
    }
    answer = read_end(job, [pod], call)
    assert answer is not None
    assert answer.ok is proves
