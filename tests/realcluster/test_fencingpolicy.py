"""The definition of FencingPolicies on a real API server: taken, and refusing the same fields as ours."""

from __future__ import annotations

from typing import Any

import pytest

from crds.fencing_samples import REFUSED, VALID
from support.arms.arm import Obj
from support.realcluster.definitions import serving
from vacate.api.kinds import FENCINGPOLICIES as KIND

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("labs")]

_NOT_CHECKED = "<nil>"


def policy(spec: Any, name: str = "rack") -> Obj:
    return {
        "apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": name}, "spec": spec,
    }  # fmt: skip


async def test_the_real_server_takes_and_refuses_what_ours_does() -> None:
    async with serving(KIND) as arm:
        for case, spec in VALID.items():
            made = (await arm.call("POST", KIND.collection_path(), body=policy(spec, case))).ok(201)
            assert made["spec"]["maxFenced"] == spec.get("maxFenced", 1)
        for case, (spec, fields) in REFUSED.items():
            answer = await arm.call("POST", KIND.collection_path(), body=policy(spec))
            assert answer.code == 422, (case, answer)
            found = {one["field"] for one in (answer.details or {})["causes"]} - {_NOT_CHECKED}
            assert found == fields, case
