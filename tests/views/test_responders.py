"""What `explain` says of pods that are older than the opt-in of their workload."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.admission.pods.workloads import REGISTRATIONS
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.views.model import Explanation
from vacate.views.responders import lacks_responders, with_missing_responders

pytestmark = pytest.mark.unit

OWNER = {"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web-5f", "uid": "1", "controller": True}
LISTED = [{"name": "vacate.dev/deployment", "priority": 10_000}]


def of_deployment(*, registered: bool = True, **spec: Any) -> Pod:
    meta = {"name": "web-5f-x", "namespace": "shop", "labels": {"pod-template-hash": "5f"}}
    notes = dict.fromkeys(REGISTRATIONS[:1], "10000/controller") if registered else {}
    return codec_for(Pod).convert(
        {"metadata": {**meta, "annotations": notes, "ownerReferences": [OWNER]}, "spec": spec}
    )


def test_an_older_pod_lacks_them_and_a_restart_helps() -> None:
    made = with_missing_responders(Explanation("shop", "web-5f-x", "Nothing."), of_deployment())
    assert "does not wait for vacate.dev/deployment: the pod was created before" in made.next[0]
    assert [one.command for one in made.remedies] == ["kubectl rollout restart deployment/web -n shop"]


@pytest.mark.parametrize("pod", [of_deployment(registered=False), of_deployment(evictionResponders=LISTED)])
def test_others_lack_none(pod: Pod) -> None:
    before = Explanation("shop", "web-5f-x", "Nothing.")
    assert not lacks_responders(pod)
    assert with_missing_responders(before, pod) is before
