"""What pods and their containers may ask of the host."""

from __future__ import annotations

from typing import Any

import pytest

from support.arms import Obj
from support.arms_marks import CONFORMANCE
from support.arms_objects import pod, workload
from support.arms_scene import Scene
from vacate.api.kinds import DEPLOYMENTS, PODS

pytestmark = CONFORMANCE

RANGE = "must be between 0 and 2147483647, inclusive"
APPARMOR = "container.apparmor.security.beta.kubernetes.io/c"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
NO_WINDOWS = "cannot be set for a windows pod"


def contained(**context: Any) -> Obj:
    return {"containers": [{"name": "c", "image": "i", "securityContext": context}]}


def within(**context: Any) -> Obj:
    return {"securityContext": context}


FAULTS: dict[str, tuple[Obj, list[str]]] = {
    "users": (
        within(runAsUser=-1, runAsGroup=2**31, fsGroup=-5, supplementalGroups=[0, -1]),
        [
            f"spec.securityContext.fsGroup: Invalid value: -5: {RANGE}",
            f"spec.securityContext.runAsUser: Invalid value: -1: {RANGE}",
            f"spec.securityContext.runAsGroup: Invalid value: 2147483648: {RANGE}",
            f"spec.securityContext.supplementalGroups[1]: Invalid value: -1: {RANGE}",
        ],
    ),
    "of-a-container": (
        contained(runAsUser=-1, procMount="Unmasked", seccompProfile={"type": "Localhost"}),
        [
            f"spec.containers[0].securityContext.runAsUser: Invalid value: -1: {RANGE}",
            (
                'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": '
                "`hostUsers` must be false to use `Unmasked`"
            ),
            (
                "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: "
                "must be set when seccomp type is Localhost"
            ),
        ],
    ),
    "privileges": (
        contained(privileged=True, allowPrivilegeEscalation=False, seLinuxOptions={"level": "<s0>"}),
        [
            (
                'spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,'
                '"SELinuxOptions":{"User":"","Role":"","Type":"","Level":"\\u003cs0\\u003e"},"WindowsOptions":null,'
                '"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,'
                '"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,'
                '"AppArmorProfile":null}: '
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            )
        ],
    ),
    "sysctls": (
        {"hostNetwork": True, **within(sysctls=[{"name": "net.ipv4.a", "value": "1"}, {"name": "a.b"}])},
        [
            (
                'spec.securityContext.sysctls[0].name: Invalid value: "net.ipv4.a": '
                "may not be specified when 'hostNetwork' is true"
            )
        ],
    ),
    "choices": (
        within(fsGroupChangePolicy="x", supplementalGroupsPolicy="x", seLinuxChangePolicy="MountOption"),
        [
            (
                'spec.securityContext.fsGroupChangePolicy: Unsupported value: "x": '
                'supported values: "Always", "OnRootMismatch"'
            ),
            (
                'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "x": '
                'supported values: "Merge", "Strict"'
            ),
            (
                'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": '
                'supported values: "Recursive"'
            ),
        ],
    ),
    "own-users": (
        {"hostUsers": False, "hostPID": True},
        ["spec.HostPID: Forbidden: when `hostUsers` is false"],
    ),
    "windows": (
        {"os": {"name": "windows"}, "shareProcessNamespace": True, **within(runAsUser=1)},
        [
            f"spec.shareProcessNamespace: Forbidden: {NO_WINDOWS}",
            f"spec.securityContext.runAsUser: Forbidden: {NO_WINDOWS}",
        ],
    ),
    "processes-of-the-host": (
        within(windowsOptions={"hostProcess": True, "runAsUserName": "a\t"}),
        [
            (
                'spec.securityContext.windowsOptions.runAsUserName: Invalid value: "a\\t": '
                "runAsUserName cannot contain control characters"
            ),
            (
                "spec.hostNetwork: Invalid value: false: "
                "hostNetwork must be true if pod contains any hostProcess containers"
            ),
        ],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_refused(scene: Scene, case: str) -> None:
    spec, faults = FAULTS[case]
    (await scene.post(PODS, pod("p", **spec))).refused(422, "Invalid", faults=faults)


async def test_refused_in_a_template(scene: Scene) -> None:
    wanted = workload("w")
    wanted["spec"]["template"]["spec"] |= within(runAsUser=-1)
    answer = await scene.post(DEPLOYMENTS, wanted)
    fault = f"spec.template.spec.securityContext.runAsUser: Invalid value: -1: {RANGE}"
    answer.refused(422, "Invalid", faults=[fault])


async def test_taken_as_it_is(scene: Scene) -> None:
    spec = {
        **within(runAsUser=1, fsGroup=0, sysctls=[{"name": "net/ipv4/a.b", "value": "1"}]),
        **contained(privileged=True, capabilities={"add": ["NET_ADMIN"]}, procMount="Default"),
    }
    created = await scene.create(PODS, pod("p", **spec))
    assert created["spec"]["securityContext"] == spec["securityContext"]
    assert created["spec"]["containers"][0]["securityContext"] == spec["containers"][0]["securityContext"]


async def test_an_annotation_becomes_a_profile(scene: Scene) -> None:
    wanted = pod("p")
    wanted["metadata"]["annotations"] = {APPARMOR: "localhost/mine"}
    created = await scene.create(PODS, wanted)
    profile = {"type": "Localhost", "localhostProfile": "mine"}
    assert created["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}


async def test_an_annotation_that_says_something_else(scene: Scene) -> None:
    wanted = pod("p", **within(seccompProfile={"type": "Unconfined"}))
    wanted["metadata"]["annotations"] = {SECCOMP: "runtime/default"}
    fault = "Forbidden: seccomp type in annotation and field must match"
    answer = await scene.post(PODS, wanted)
    answer.refused(422, "Invalid", faults=[f"spec.securityContext.seccompProfile.type: {fault}"])
