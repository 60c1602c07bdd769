"""A HorizontalPodAutoscaler whose floor is raised for pods under eviction request: the record on it.

The record is an annotation that is written in the same patch as `spec.minReplicas`. It says from which value
to which, for which pods of which Deployment, and, while a surge is taken back, from which count to which.
"""

from __future__ import annotations

import datetime as dt

import msgspec

from vacate.api.kinds import DEPLOYMENTS
from vacate.api.types import Deployment, HorizontalPodAutoscaler
from vacate.api.types.meta import check_times
from vacate.kube.surge import SURGE, SurgeRecord
from vacate.wire.json import decode_json


class Lowering(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A count of the Deployment that is to be brought back, since without metrics no autoscaler does it."""

    from_replicas: int
    to_replicas: int
    at: dt.datetime


class FloorRecord(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What was changed. Without pods everything is restored and only the record is left to be removed."""

    autoscaler: str  # its UID: annotations are copied with manifests
    from_floor: int
    to_floor: int
    surge: SurgeRecord
    lowering: Lowering | None = None

    def text(self) -> str:
        """As it is written into the annotation."""
        return msgspec.json.encode(self).decode()


_NOTHING = SurgeRecord(deployment="", from_replicas=0, to_replicas=0, pods={})


def floor_record_of(autoscaler: HorizontalPodAutoscaler) -> FloorRecord | None:
    """The record that the autoscaler carries, whether it counts or not; None where there is none.

    One that cannot be read counts as one that does not stand: it belongs to no object.
    """
    text = autoscaler.metadata.annotations.get(SURGE)
    if text is None:
        return None
    try:
        record = decode_json(text, FloorRecord)
        at = record.lowering.at if record.lowering is not None else None
        check_times(*record.surge.pods.values(), record.surge.began, at)
    except ValueError:
        return FloorRecord(autoscaler="", from_floor=0, to_floor=0, surge=_NOTHING)
    return record


def is_raised(autoscaler: HorizontalPodAutoscaler, record: FloorRecord) -> bool:
    """Whether record and floor are both ours still, and on this very object."""
    return (
        record.autoscaler == autoscaler.metadata.uid
        and record.to_floor == autoscaler.spec.min_replicas
        and record.from_floor > 0
        and record.surge.from_replicas > 0
    )


def scales(autoscaler: HorizontalPodAutoscaler, deployment: str) -> bool:
    """Whether it scales the Deployment of that name, in its own namespace."""
    ref = autoscaler.spec.scale_target_ref
    group = ref.api_version.partition("/")[0]
    return (group, ref.kind, ref.name) == (DEPLOYMENTS.group, DEPLOYMENTS.kind, deployment)


def unsupported_floor(autoscaler: HorizontalPodAutoscaler, deployment: Deployment) -> str:
    """Why the floor cannot be raised for an eviction; empty where it can."""
    if autoscaler.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    if deployment.metadata.deletion_timestamp is not None:
        return f"Deployment {deployment.metadata.name} is being deleted"
    if deployment.spec.replicas <= 0:
        return f"Deployment {deployment.metadata.name} is scaled to zero, where an autoscaler lies idle"
    if (owner := autoscaler.metadata.controller) is not None:
        return f"{owner.kind} {owner.name} manages it and would reset its minReplicas"
    return ""
