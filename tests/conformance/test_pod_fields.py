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

VOLUMES = [{"name": "v", "emptyDir": {}}, {"name": "w", "persistentVolumeClaim": {"claimName": "c"}}]


def contained(**fields: Any) -> Obj:
    return {"containers": [{"name": "c", "image": "i", **fields}], "volumes": VOLUMES}


FAULTS: dict[str, tuple[Obj, list[str]]] = {
    "restarts": (
        contained(restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]),
        [
            (
                "spec.containers[0].restartPolicy: Required value: "
                "must specify restartPolicy when restart rules are used"
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
