"""The guard of Nodes, evaluated: which deletions of a Node it asks about. The real server has it, too."""

from __future__ import annotations

from typing import Any

import pytest

from vacate.admission.pods.forcedeletion import CONFIRMATION, GUARD_LABEL
from vacate.api.installednames import NODE_DELETION
from vacate.api.objects import Obj
from vacate.embedded.cel.expressions import Expression, Variables
from vacate.install.manifests.policies import policies
from vacate.install.settings import Settings
from vacate.kube.nodes import OUT_OF_SERVICE, SAFE_TO_DELETE

pytestmark = pytest.mark.unit

ALICE, CLOUD = "alice", "system:serviceaccount:kube-system:cloud-node-lifecycle-controller"


NOW, BEFORE = "2026-11-18T18:00:00Z", "2026-11-17T18:00:00Z"


def node(ready: str = "False", *, taint: str = "other", since: str | None = NOW, **meta: Any) -> Obj:
    conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": since}] if ready else []
    return {
        "metadata": {"name": "n1", "uid": "u1", **meta},
        "spec": {"taints": [{"key": taint, "effect": "NoExecute"}]},
        "status": {"conditions": conditions},
    }


@pytest.mark.parametrize(
    ("obj", "user", "refused"),
    [
        (node(), ALICE, True),
        (node("Unknown"), ALICE, True),
        (node("True"), ALICE, False),
        (node(""), ALICE, False),  # it has never reported
        (node(taint=OUT_OF_SERVICE), ALICE, False),  # fenced
        (node(labels={GUARD_LABEL: "disabled"}), ALICE, False),
        (node(labels={GUARD_LABEL: "enabled"}), ALICE, True),
        (node(), CLOUD, False),  # the machine is no longer there
        (node(annotations={CONFIRMATION: "u1"}), ALICE, False),
        (node(annotations={CONFIRMATION: "another"}), ALICE, True),  # of a Node of that name before
        (node(annotations={SAFE_TO_DELETE: NOW}), ALICE, False),  # nothing there must run once
        (node(annotations={SAFE_TO_DELETE: BEFORE}), ALICE, True),  # that was so in an earlier outage
        (node(annotations={SAFE_TO_DELETE: ""}), ALICE, True),
        (node(since=None, annotations={SAFE_TO_DELETE: ""}), ALICE, True),
    ],
)
def test_a_node_that_is_not_ready_is_deleted_only_on_confirmation(obj: Obj, user: str, refused: bool) -> None:
    spec = _policy()["spec"]
    seen = Variables({"oldObject": obj, "request": {"userInfo": {"username": user}}})
    asked = all(Expression(one["expression"]).holds(seen) for one in spec["matchConditions"])
    (rule,) = spec["validations"]
    assert (asked and not Expression(rule["expression"]).holds(seen)) is refused
    message = Expression(rule["messageExpression"]).text(seen)
    assert message is not None
    assert f"kubectl annotate node n1 {CONFIRMATION}=u1" in message


def _policy() -> Obj:
    made = policies(Settings(guard_unlabelled=True))
    (found,) = [
        one for one in made
        if (one["kind"], one["metadata"]["name"]) == ("ValidatingAdmissionPolicy", NODE_DELETION)
    ]  # fmt: skip
    return found
