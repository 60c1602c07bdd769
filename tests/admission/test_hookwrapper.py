"""Wrapping of preStop hooks: what becomes of them, that it is done once, and what is left alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from vacate.admission.pods.hookwrapper import HookWrapper, wrapped_pod
from vacate.api.objects import Obj
from vacate.testing import pod

pytestmark = pytest.mark.unit

WRAPPER = HookWrapper("vacate:1", "IfNotPresent", "https://vacate.example:9444/reason 10.0.0.9", "PEM")
PROGRAM = "/var/run/vacate/bin/vacate-prestop"


def with_hook(hook: Obj, annotations: Obj | None = None, **more: Any) -> Obj:
    made = pod("p", namespace="d")
    made["metadata"]["annotations"] = annotations or {}
    made["spec"]["containers"][0] |= {"name": "main", "lifecycle": {"preStop": hook}, **more}
    return made


def command(made: Obj, container: int = 0) -> list[str]:
    found: list[str] = made["spec"]["containers"][container]["lifecycle"]["preStop"]["exec"]["command"]
    return found


def test_a_command_becomes_one_of_the_program() -> None:
    asked = {"vacate.dev/reason-delivery.main": "env=WHY"}
    given = with_hook({"exec": {"command": ["stop", "--why=$(WHY)"]}}, asked)
    made, warnings = wrapped_pod(given, WRAPPER)
    assert command(made) == [PROGRAM, "exec", "--env=WHY", "--ask-seconds=3", "--", "stop", "--why=$(WHY)"]
    assert warnings == []
    (init,) = made["spec"]["initContainers"]
    assert (init["image"], init["command"]) == (
        "vacate:1",
        ["/opt/vacate/bin/vacate-prestop", "install", "/var/run/vacate/bin"],
    )
    assert made["metadata"]["annotations"] == asked | {
        "vacate.dev/reason-service": WRAPPER.service,
        "vacate.dev/reason-authority": "PEM",
    }
    mounts = made["spec"]["containers"][0]["volumeMounts"]
    assert [(one["mountPath"], one["readOnly"]) for one in mounts] == [
        ("/var/run/vacate/bin", True),
        ("/var/run/vacate/reason", True),
    ]
    token = made["spec"]["volumes"][-1]["projected"]["sources"][0]["serviceAccountToken"]
    assert token["audience"] == "reasons.vacate.dev"


def test_a_request_is_sent_by_the_program() -> None:
    get = {"port": "web", "path": "bye?now=1", "httpHeaders": [{"name": "X-A", "value": "b: c"}]}
    given = with_hook({"httpGet": get}, ports=[{"name": "web", "containerPort": 8080}])
    made, _ = wrapped_pod(given, WRAPPER)
    assert command(made) == [
        PROGRAM, "get", "--header=KUBE-POD-TERM-REASON", "--ask-seconds=3", "--url=http://:8080/bye?now=1",
        "--with=X-A:b: c",
    ]  # fmt: skip
    (ip,) = made["spec"]["containers"][0]["env"]
    assert (ip["name"], ip["valueFrom"]["fieldRef"]["fieldPath"]) == ("VACATE_POD_IP", "status.podIP")
    far = with_hook({"httpGet": {"port": 443, "host": "fd00::1", "scheme": "HTTPS"}})
    assert "--url=https://[fd00::1]:443/" in command(wrapped_pod(far, WRAPPER)[0])


def test_wrapping_again_changes_nothing_and_takes_in_what_others_added() -> None:
    once, _ = wrapped_pod(with_hook({"exec": {"command": ["stop"]}}), WRAPPER)
    assert wrapped_pod(once, WRAPPER)[0] is once
    added = copy.deepcopy(once)
    added["spec"]["containers"].append(
        {"name": "sidecar", "image": "x", "lifecycle": {"preStop": {"exec": {"command": ["bye"]}}}}
    )
    twice, _ = wrapped_pod(added, WRAPPER)
    assert command(twice, 1)[-2:] == ["--", "bye"]
    assert command(twice) == command(once)
    assert len(twice["spec"]["initContainers"]) == 1
    names = [one["name"] for one in twice["spec"]["volumes"]]
    assert len(names) == len(set(names))


def test_a_sidecar_is_wrapped_and_starts_after_the_program_is_there() -> None:
    given = with_hook({"sleep": {"seconds": 1}})
    hook = {"preStop": {"exec": {"command": ["bye"]}}}
    given["spec"]["initContainers"] = [
        {"name": "once", "lifecycle": hook},
        {"name": "proxy", "restartPolicy": "Always", "lifecycle": hook},
    ]
    made, _ = wrapped_pod(given, WRAPPER)
    first, once, proxy = made["spec"]["initContainers"]
    assert first["name"] == "vacate-prestop"
    assert once["lifecycle"] == hook
    assert proxy["lifecycle"]["preStop"]["exec"]["command"][0] == PROGRAM
    assert made["spec"]["containers"] == given["spec"]["containers"]


@pytest.mark.parametrize(
    ("hook", "annotations", "spec"),
    [
        ({"sleep": {"seconds": 3}}, {}, {}),
        ({"tcpSocket": {"port": 1}}, {}, {}),
        ({"httpGet": {"port": "unknown"}}, {}, {}),
        ({"exec": {"command": []}}, {}, {}),
        ({"exec": {"command": ["x"]}}, {"vacate.dev/wrap-prestop-hooks": "false"}, {}),
        ({"exec": {"command": ["x"]}}, {"kubernetes.io/config.mirror": "x"}, {}),
        ({"exec": {"command": ["x"]}}, {}, {"os": {"name": "windows"}}),
        (
            {"exec": {"command": ["x"]}},
            {},
            {"tolerations": [{"key": "vacate.dev/process", "operator": "Exists"}]},
        ),
    ],
    ids=["sleep", "tcp", "unknown-port", "no-command", "opted-out", "mirror", "windows", "process-node"],
)
def test_left_alone(hook: Obj, annotations: Obj, spec: Obj) -> None:
    given = with_hook(hook, annotations)
    given["spec"] |= spec
    assert wrapped_pod(given, WRAPPER) == (given, [])


def test_a_malformed_name_is_replaced_with_a_warning() -> None:
    asked = {"vacate.dev/reason-delivery.main": "env=a=b"}
    made, warnings = wrapped_pod(with_hook({"exec": {"command": ["x"]}}, asked), WRAPPER)
    assert "--env=KUBE_POD_TERM_REASON" in command(made)
    assert "using KUBE_POD_TERM_REASON" in warnings[0]
    taken = with_hook({"exec": {"command": ["x"]}}, volumeMounts=[{"mountPath": "/var/run/vacate/bin/"}])
    same, warnings = wrapped_pod(taken, WRAPPER)
    assert same == taken
    assert "is not wrapped" in warnings[0]


def test_the_quality_of_service_stays_and_asking_takes_a_part_of_the_grace() -> None:
    plain, _ = wrapped_pod(with_hook({"exec": {"command": ["x"]}}), WRAPPER)
    assert "resources" not in plain["spec"]["initContainers"][0]
    few = {"cpu": "1", "memory": "1Gi"}
    given = with_hook({"exec": {"command": ["x"]}}, resources={"requests": few, "limits": few})
    given["spec"]["terminationGracePeriodSeconds"] = 5
    sure, _ = wrapped_pod(given, WRAPPER)
    resources = sure["spec"]["initContainers"][0]["resources"]
    assert resources["requests"] == resources["limits"]
    assert "--ask-seconds=0.5" in command(sure)
