"""What a surge says about itself, on the Deployment."""

from __future__ import annotations

from vacate.api.types import Deployment
from vacate.interceptors.surge.plan import Scale
from vacate.kube.surge import SurgeRecord
from vacate.views.phrases import counted


def scaled(deployment: Deployment, step: Scale) -> tuple[str, str]:
    """Reason and message of an Event about a change of replicas."""
    record, before = step.record, deployment.spec.replicas
    if record.to_replicas > before:
        pods = counted(len(record.pods), "pod")
        return "SurgeStarted", (
            f"Scaled from {before} to {record.to_replicas} replicas: {pods} with an eviction request "
            "will be replaced before removal."
        )
    if step.removed:
        pods = counted(len(step.removed), "pod")
        return "SurgeReplaced", (
            f"Scaled from {before} to {record.to_replicas} replicas: {pods} with an eviction request "
            "has replacements that are available."
        )
    return "SurgeEnded", (
        f"Scaled from {before} to {record.to_replicas} replicas: the eviction requests that needed more "
        "are cancelled, declined or complete."
    )


def gave_way(deployment: Deployment, record: SurgeRecord, by: str) -> str:
    """Someone else has changed what we had set, or the record is not of this surge.

    `by` is as ` by NAME`, or empty.
    """
    if record.to_replicas == deployment.spec.replicas:
        return (
            f"The record of an earlier surge to {record.to_replicas} replicas is back, by a rollout undo "
            "perhaps: it is removed, and the count stays."
        )
    return (
        f"Replicas were changed from {record.to_replicas} to {deployment.spec.replicas} during a surge{by}: "
        "the change stays, and the surge is over."
    )
