"""Parts of a pod that little depends on, and that are checked all the same."""

from __future__ import annotations

from typing import Any

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import pod
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE

NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_EPHEMERAL = "Forbidden: cannot be set for an Ephemeral Container"
VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "w", "persistentVolumeClaim": {"claimName": "c"}}]


def contained(**fields: Any) -> Obj:
    return {"containers": [{"name": "c", "image": "i", **fields}], "volumes": VOLUMES}


FAULTS: dict[str, tuple[Obj, list[str]]] = {
    "dns": (
        {"dnsPolicy": "None"},
        ["spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
    ),
    "nameservers": (
        {"dnsConfig": {"nameservers": ["x", "1.2.3.04", "::1"], "options": [{"value": "5"}]}},
        [
            f'spec.dnsConfig.nameservers[0]: Invalid value: "x": {NO_ADDRESS}',
            'spec.dnsConfig.nameservers[1]: Invalid value: "1.2.3.04": must not have leading 0s',
            "spec.dnsConfig.options[0]: Required value: must not be empty",
        ],
    ),
    "aliases": (
        {"hostAliases": [{"ip": "::ffff:1.2.3.4", "hostnames": ["a.b"]}]},
        [
            (
                'spec.hostAliases[0].ip: Invalid value: "::ffff:1.2.3.4": '
                "must not be an IPv4-mapped IPv6 address"
            )
        ],
    ),
    "host-name": (
        {"hostnameOverride": "a", "hostNetwork": True},
        ["spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true"],
    ),
    "restarts": (
        contained(restartPolicyRules=[{"action": "x"}]),
        [
            (
                "spec.containers[0].restartPolicy: Required value: "
                "must specify restartPolicy when restart rules are used"
            ),
            (
                'spec.containers[0].restartPolicyRules[0].action: Unsupported value: "x": '
                'supported values: "Restart", "RestartAllContainers"'
            ),
            "spec.containers[0].restartPolicyRules[0].exitCodes: Required value: must be specified",
        ],
    ),
    "resizes": (
        contained(resizePolicy=[{"resourceName": "x", "restartPolicy": "NotRequired"}]),
        ['spec.containers[0].resizePolicy: Unsupported value: "x": supported values: "cpu", "memory"'],
    ),
    "mounts": (
        contained(
            volumeMounts=[{"name": "v", "mountPath": "/m", "mountPropagation": "Bidirectional"}],
            volumeDevices=[{"name": "v", "devicePath": "/m"}],
        ),
        [
            (
                'spec.containers[0].volumeMounts[0].name: Invalid value: "v": '
                "must not already exist in volumeDevices"
            ),
            (
                'spec.containers[0].volumeMounts[0].mountPath: Invalid value: "/m": '
                "must not already exist as a path in volumeDevices"
            ),
            (
                "spec.containers[0].volumeMounts.mountPropagation: Forbidden: "
                "Bidirectional mount propagation is available only to privileged containers"
            ),
            (
                'spec.containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume source '
                "type of PersistentVolumeClaim or Ephemeral for block mode"
            ),
            (
                'spec.containers[0].volumeDevices[0].name: Invalid value: "v": '
                "must not already exist in volumeMounts"
            ),
            (
                'spec.containers[0].volumeDevices[0].devicePath: Invalid value: "/m": '
                "must not already exist as a path in volumeMounts"
            ),
        ],
    ),
    "sources": (
        {
            "volumes": [
                {"name": "a", "secret": {"items": [{"key": "k", "path": "..a", "mode": 512}]}, "csi": {}},
                {"name": "b", "downwardAPI": {}, "hostPath": {"path": "/", "type": "x"}},
            ]
        },
        [
            "spec.volumes[0].secret.secretName: Required value",
            "spec.volumes[0].secret.items[0].path: Invalid value: \"..a\": must not start with '..'",
            (
                "spec.volumes[0].secret.items[0].mode: Invalid value: 512: "
                "must be a number between 0 and 0777 (octal), both inclusive"
            ),
            "spec.volumes[0].csi: Forbidden: may not specify more than 1 volume type",
            (
                'spec.volumes[1].hostPath.type: Unsupported value: "x": supported values: "", "BlockDevice", '
                '"CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"'
            ),
            "spec.volumes[1].downwarAPI: Forbidden: may not specify more than 1 volume type",
        ],
    ),
    "ephemeral-containers": (
        {"ephemeralContainers": [{"name": "c", "image": " e", "ports": [{"containerPort": 80}]}]},
        [
            (
                'spec.ephemeralContainers[0].image: Invalid value: " e": '
                "must not have leading or trailing whitespace"
            ),
            'spec.ephemeralContainers[0].name: Duplicate value: "c"',
            f"spec.ephemeralContainers[0].ports: {NOT_EPHEMERAL}",
            "spec.ephemeralContainers: Forbidden: cannot be set on create",
        ],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_refused(api: CaseApi, case: str) -> None:
    spec, field_errors = FAULTS[case]
    (await api.post(PODS, pod("p", **spec))).refused(422, "Invalid", field_errors=field_errors)


async def test_what_a_gate_keeps_out(api: CaseApi) -> None:
    created = await api.create(PODS, pod("p", schedulingGroup={"podGroupName": "g"}))
    assert "schedulingGroup" not in created["spec"]


async def test_affinity_to_pods_of_the_same_release(api: CaseApi) -> None:
    term = {"topologyKey": "z", "labelSelector": {}, "matchLabelKeys": ["app"], "mismatchLabelKeys": ["no"]}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    created = await api.create(PODS, pod("p", affinity={"podAffinity": rule}))
    (kept,) = created["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    written = [{"key": "app", "operator": "In", "values": ["web"]}]
    assert kept["labelSelector"] == {"matchExpressions": written}
