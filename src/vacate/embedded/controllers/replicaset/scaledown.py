"""Why a replica set gives up pods: fewer are wanted, or pods of another template take their place."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.integers import parse_integer
from vacate.api.terminationreason import DECOMMISSIONED, UPDATE
from vacate.api.types import ReplicaSet

# As a deployment notes them on its replica sets.
_REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"


def scale_down_reason(replica_set: ReplicaSet, siblings: Sequence[ReplicaSet]) -> str:
    """The termination reason of the pods that go.

    An older replica set of a deployment shrinks for the newer one. So does the newest where it is emptied
    although pods are wanted: that is how a deployment with the strategy Recreate begins.
    """
    desired = _number(replica_set, _DESIRED)
    if replica_set.metadata.controller is None or not desired:
        return DECOMMISSIONED
    newest = max((_number(one, _REVISION) for one in siblings), default=0)
    if _number(replica_set, _REVISION) < newest or replica_set.spec.replicas == 0:
        return UPDATE
    return DECOMMISSIONED


def _number(replica_set: ReplicaSet, annotation: str) -> int:
    text = replica_set.metadata.annotations.get(annotation, "")
    return parse_integer(text) or 0 if text.isdigit() else 0
