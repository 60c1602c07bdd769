"""Updates of pods that are refused, and how the server shows what they would have changed."""

from __future__ import annotations

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import pod
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE

MAY_NOT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
SOURCE = {"resourceFieldRef": {"resource": "limits.cpu"}}
CONTAINER = {"name": "c", "image": "other", "env": [{"name": "A", "valueFrom": SOURCE}]}


@pytest.mark.parametrize(
    "spec",
    [
        {"hostname": "x", "affinity": {}},
        {"nodeSelector": {"z": "y", "a": "b"}},
        {"hostNetwork": True, "shareProcessNamespace": True},
        {"containers": [CONTAINER]},
    ],
    ids=["names", "selector", "host", "environment"],
)
async def test_a_change_is_refused(api: CaseApi, spec: Obj) -> None:
    """What the refusal shows of the change, after its first line, is wording."""
    await api.given(PODS, pod("p", serviceAccountName="here"))
    answer = await api.patch(PODS, "p", {"spec": spec})
    answer.refused(422, "Invalid", starting=f'Pod "p" is invalid: spec: Forbidden: {MAY_NOT}')


async def test_a_gate_that_comes_twice_is_reported_once(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    answer = await api.patch(PODS, "p", {"spec": {"schedulingGates": [{"name": "a"}, {"name": "a"}]}})
    new = "Forbidden: only deletion is allowed, but found new scheduling gate 'a'"
    found = ('spec.schedulingGates[1]: Duplicate value: "a"', f"spec.schedulingGates[1].name: {new}")
    answer.refused(422, "Invalid", field_errors=found)
