"""What a surge by way of an autoscaler says about itself, on the autoscaler."""

from __future__ import annotations

from vacate.api.types import HorizontalPodAutoscaler
from vacate.interceptors.autoscaler.plan import WriteFloor
from vacate.views.phrases import counted


def floor_changed(autoscaler: HorizontalPodAutoscaler, step: WriteFloor) -> tuple[str, str]:
    """Reason and message of an Event about a change of the floor."""
    before, after = autoscaler.spec.min_replicas, step.record.to_floor
    change = f"Changed minReplicas from {before} to {after}"
    if after > before:
        pods = counted(len(step.record.surge.pods), "pod")
        return "SurgeStarted", (f"{change}: {pods} with an eviction request will be replaced before removal.")
    if step.removed:
        pods = counted(len(step.removed), "pod")
        return (
            "SurgeReplaced",
            f"{change}: {pods} with an eviction request has replacements that are available.",
        )
    return "SurgeEnded", (
        f"{change}: the eviction requests that needed more are cancelled, declined or complete."
    )


def gave_way(autoscaler: HorizontalPodAutoscaler, by: str) -> str:
    """Someone else has changed the floor, or the record is not of this surge. `by`: ` by NAME`, or empty."""
    return (
        f"minReplicas was changed to {autoscaler.spec.min_replicas}{by} during a surge, or the record "
        "of another surge came with a manifest: the value stays, and the surge is over."
    )
