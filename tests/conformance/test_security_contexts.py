"""Under which users the containers of a pod run."""

from __future__ import annotations

from typing import Any

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE
from support.arms.objects import pod, workload
from vacate.api.kinds import DEPLOYMENTS, PODS

pytestmark = CONFORMANCE

RANGE = "must be between 0 and 2147483647, inclusive"


def contained(**context: Any) -> Obj:
    return {"containers": [{"name": "c", "image": "i", "securityContext": context}]}


FAULTS: dict[str, tuple[Obj, list[str]]] = {
    "of-a-pod": (
        {"securityContext": {"runAsUser": -1, "runAsGroup": 2**31}},
        [
            f"spec.securityContext.runAsUser: Invalid value: -1: {RANGE}",
            f"spec.securityContext.runAsGroup: Invalid value: 2147483648: {RANGE}",
        ],
    ),
    "of-a-container": (
        contained(runAsUser=-1),
        [f"spec.containers[0].securityContext.runAsUser: Invalid value: -1: {RANGE}"],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
async def test_refused(api: CaseApi, case: str) -> None:
    spec, field_errors = FAULTS[case]
    (await api.post(PODS, pod("p", **spec))).refused(422, "Invalid", field_errors=field_errors)


async def test_refused_in_a_template(api: CaseApi) -> None:
    wanted = workload("w")
    wanted["spec"]["template"]["spec"] |= {"securityContext": {"runAsUser": -1}}
    answer = await api.post(DEPLOYMENTS, wanted)
    field_error = f"spec.template.spec.securityContext.runAsUser: Invalid value: -1: {RANGE}"
    answer.refused(422, "Invalid", field_errors=[field_error])
