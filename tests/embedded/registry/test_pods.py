"""What pods may do, beside the rules that say what they may not."""

from __future__ import annotations

from typing import Any

import pytest

from embedded.registry.given import CLASSES, GONE, context, errors_of, made, stepped
from vacate.api import kinds
from vacate.api.kinds import PODS, REPLICASETS
from vacate.embedded.registry.core.pods.strategy import quality_of
from vacate.embedded.registry.core.pods.update import FORBIDDEN
from vacate.errors import ApiError, BadRequest

pytestmark = pytest.mark.unit

GATES = {"spec.schedulingGates": [{"name": "a.b/c"}, {"name": "a.b/d"}]}
TERMS = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"


_MOUNT = {"name": "v", "mountPath": "/m", "mountPropagation": "x", "recursiveReadOnly": "x"}


@pytest.mark.parametrize(
    "unread",
    [
        {"spec.dnsPolicy": "None", "spec.dnsConfig": {"nameservers": ["x"]}},
        {"spec.hostAliases": [{"ip": "x"}], "spec.hostnameOverride": "A", "spec.runtimeClassName": "A"},
        {"spec.ephemeralContainers": [{"name": "web"}]},
        {"spec.containers[0].imagePullPolicy": "x", "spec.containers[0].terminationMessagePolicy": "x"},
        {"spec.containers[0].resizePolicy": [{"resourceName": "x"}]},
        {"spec.containers[0].restartPolicy": "Never", "spec.containers[0].restartPolicyRules": [{}]},
        {"spec.containers[0].volumeDevices": [{"name": "none"}]},
        {"spec.volumes": [{"name": "v", "emptyDir": {}}], "spec.containers[0].volumeMounts": [_MOUNT]},
    ],
)
def test_what_nothing_reads_is_not_checked(unread: dict[str, Any]) -> None:
    assert errors_of(PODS, unread) == []


@pytest.mark.parametrize(
    ("step", "before"),
    [
        ({"spec.containers[0].image": "web:2"}, {}),
        ({"spec.activeDeadlineSeconds": 10}, {}),
        ({"spec.activeDeadlineSeconds": 5}, {"spec.activeDeadlineSeconds": 10}),
        ({"spec.tolerations[2]": {"key": "a", "operator": "Exists"}}, {}),
        ({"spec.tolerations[0].tolerationSeconds": 5}, {}),
        ({"spec.tolerations": GONE}, {}),
        ({"spec.schedulingGates": [{"name": "a.b/d"}]}, GATES),
        ({"spec.schedulingGates": GONE}, GATES),
        ({"spec.nodeSelector": {"a": "b"}}, GATES),
        ({TERMS: [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}, GATES),
        ({"spec.terminationGracePeriodSeconds": 1}, {"spec.terminationGracePeriodSeconds": -5}),
        ({"metadata.labels": {"a": "b"}, "metadata.annotations": {"a": "b"}}, {}),
        ({"spec.enableServiceLinks": GONE, "spec.priority": GONE}, {}),
        ({"spec.hostNetwork": False, "spec.nodeSelector": {}, "spec.containers[0].stdin": False}, {}),
    ],
)
def test_allowed_updates(step: dict[str, Any], before: dict[str, Any]) -> None:
    assert stepped(PODS, step, before)[2] == []


@pytest.mark.parametrize(
    "step",
    [
        {"spec.nodeName": "node-1"},
        {"spec.nodeSelector": {"a": "b"}},
        {"spec.priority": 7},
        {"spec.securityContext.runAsUser": 0},
        {"spec.containers[0].command": ["x"]},
        {"spec.containers[0].resources": {"requests": {"cpu": "1"}}},
        {"spec.serviceAccountName": "other", "spec.serviceAccount": "other"},
    ],
)
def test_everything_else_is_refused_in_the_words_of_the_real_server(step: dict[str, Any]) -> None:
    field_errors = stepped(PODS, step)[2]
    assert [field_error.splitlines()[0] for field_error in field_errors] == [f"spec: Forbidden: {FORBIDDEN}"]


def test_the_refusal_lists_the_updatable_fields() -> None:
    assert FORBIDDEN == (
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )


def test_labels_may_change_with_the_status_and_owners_may_not() -> None:
    step = {"metadata.labels": {"a": "b"}, "metadata.ownerReferences": [{}], "status.phase": "Running"}
    new, _, field_errors = stepped(PODS, step, ctx=context("status"))
    assert field_errors == []
    assert new["metadata"]["labels"] == {"a": "b"}
    assert "ownerReferences" not in new["metadata"]
    assert new["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("restart", "exit_code", "allowed"),
    [("Always", 0, True), ("OnFailure", 1, True), ("OnFailure", 0, False), ("Never", 1, False)],
)
def test_ended_containers_restart_only_by_policy(restart: str, exit_code: int, allowed: bool) -> None:
    ended = {"name": "web", "state": {"terminated": {"exitCode": exit_code}}}
    before = {"spec.restartPolicy": restart, "status.containerStatuses": [ended]}
    step = {"status.containerStatuses": [{"name": "web", "state": {"running": {}}}]}
    assert (stepped(PODS, step, before, context("status"))[2] == []) is allowed


def test_interceptors_stay_on_old_objects_when_the_gate_closes() -> None:
    closed = context(gates="EvictionRequestAPI")
    field = {"spec.evictionInterceptors": [{"name": "a.b"}]}
    new, _, field_errors = stepped(PODS, {"metadata.labels": {"a": "b"}}, field, closed)
    assert (new["spec"]["evictionInterceptors"], field_errors) == ([{"name": "a.b"}], [])
    new, _, field_errors = stepped(PODS, field, {}, closed)
    assert ("evictionInterceptors" in new["spec"], field_errors) == (False, [])
    template = {f"spec.template.{path}": value for path, value in field.items()}
    assert "evictionInterceptors" not in made(REPLICASETS, template, closed)["spec"]["template"]["spec"]


def test_interceptor_names_of_kubernetes() -> None:
    def field_errors(name: str, **more: Any) -> list[str]:
        return errors_of(PODS, {"spec.evictionInterceptors": [{"name": name}]}, context(**more))

    assert field_errors("deployment.apps.k8s.io") == []
    assert field_errors("horizontalpodautoscaler.autoscaling.k8s.io") == []
    assert field_errors("not-k8s.io") == []
    assert field_errors("k8s.io") != []
    assert field_errors("actor-a.k8s.io") != []
    assert field_errors("actor-a.k8s.io", allowed_interceptors=("actor-a.k8s.io",)) == []


def test_a_hundred_interceptors_are_allowed() -> None:
    hundred = [{"name": f"i{number}.example.com"} for number in range(100)]
    assert errors_of(PODS, {"spec.evictionInterceptors": hundred}) == []


def test_interceptors_in_a_template_are_checked_in_their_place() -> None:
    path = "spec.template.spec.evictionInterceptors"
    assert errors_of(kinds.DEPLOYMENTS, {path: [{}]}) == [f"{path}[0].name: Required value"]


def test_annotations_of_a_template_are_checked_as_those_of_its_pods() -> None:
    cost = "controller.kubernetes.io/pod-deletion-cost"
    field_error = f'spec.template.annotations[{cost}]: Invalid value: "much": must be a 32bit integer'
    assert errors_of(REPLICASETS, {"spec.template.metadata.annotations": {cost: "much"}}) == [field_error]


def test_template_defaults_are_those_of_a_spec_and_not_of_a_pod() -> None:
    limits = {"spec.template.spec.containers[0].resources": {"limits": {"cpu": "1"}}}
    spec = made(REPLICASETS, limits)["spec"]["template"]["spec"]
    assert spec["restartPolicy"] == "Always"
    assert "enableServiceLinks" not in spec
    assert "tolerations" not in spec
    assert spec["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


def test_an_unreadable_quantity_is_a_bad_request() -> None:
    with pytest.raises(BadRequest) as refusal:
        made(PODS, {"spec.containers[0].resources": {"limits": {"cpu": "much"}}})
    assert refusal.value.message == (
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_a_default_class_counts_only_without_a_class() -> None:
    ctx = context(default_priority_class=lambda: CLASSES["low"])
    assert made(PODS, {}, ctx)["spec"]["priority"] == 7
    assert made(PODS, {"spec.priorityClassName": "high"}, ctx)["spec"]["priority"] == 1000
    assert made(PODS, {"spec.priority": 7}, ctx)["spec"]["priority"] == 7


def test_refusals_name_what_the_server_will_generate_from() -> None:
    with pytest.raises(ApiError) as refusal:
        made(PODS, {"metadata.name": GONE, "metadata.generateName": "web-", "spec.priorityClassName": "x"})
    assert refusal.value.message == 'pods "web-" is forbidden: no PriorityClass with name x was found'


def _container(
    requests: dict[str, str] | None = None, limits: dict[str, str] | None = None
) -> dict[str, Any]:
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


FULL = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "quality"),
    [
        ({"containers": [{}]}, "BestEffort"),
        ({"containers": [_container({"cpu": "0"})]}, "BestEffort"),
        ({"containers": [_container({"example.com/gpu": "1"})]}, "BestEffort"),
        ({"containers": [_container({"cpu": "1"})]}, "Burstable"),
        ({"containers": [_container(FULL, FULL)]}, "Guaranteed"),
        ({"containers": [_container({"cpu": "1000m", "memory": "1024Mi"}, FULL)]}, "Guaranteed"),
        ({"containers": [_container({**FULL, "cpu": "500m"}, FULL)]}, "Burstable"),
        ({"containers": [_container(FULL, FULL), {}]}, "Burstable"),
        ({"containers": [_container(FULL, FULL)], "initContainers": [{}]}, "Burstable"),
        ({"containers": [{}], "resources": {"requests": FULL, "limits": FULL}}, "Guaranteed"),
        ({"containers": [_container(FULL, FULL)], "resources": {"limits": {"cpu": "1"}}}, "Burstable"),
    ],
)
def test_quality_of_service(spec: dict[str, Any], quality: str) -> None:
    assert quality_of(spec) == quality


def test_a_name_that_is_no_longer_allowed_stands_in_the_way_of_no_update() -> None:
    """Removing a finalizer from a pod, or scaling a Deployment, must stay possible."""
    listed = [{"name": "actor-a.k8s.io"}]
    before = {"spec.evictionInterceptors": listed, "metadata.finalizers": ["a.example/x"]}
    assert stepped(kinds.PODS, {"metadata.finalizers": []}, before)[2] == []
    for kind in (kinds.DEPLOYMENTS, kinds.REPLICASETS):
        template = {"spec.template.spec.evictionInterceptors": listed}
        assert stepped(kind, {"spec.replicas": 3}, template)[2] == []
        added = {"spec.template.spec.evictionInterceptors": [*listed, {"name": "new.k8s.io"}]}
        (field_error,) = stepped(kind, added, template)[2]
        assert field_error.startswith("spec.template.spec.evictionInterceptors[1].name: Forbidden")
