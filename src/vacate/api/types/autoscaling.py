"""Projections of autoscaling/v2."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.types.meta import Condition, ObjectMeta, Projection


class CrossVersionObjectReference(Projection, frozen=True):
    """An object of the same namespace."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class HorizontalPodAutoscalerSpec(Projection, frozen=True):
    """What is scaled, between which counts, and by what. Metrics stay dicts: few ever read them."""

    scale_target_ref: CrossVersionObjectReference = msgspec.field(default_factory=CrossVersionObjectReference)
    min_replicas: int = 1
    max_replicas: int = 0
    metrics: list[dict[str, Any]] = msgspec.field(default_factory=list)


class HorizontalPodAutoscalerStatus(Projection, frozen=True):
    """What the autoscaler has seen and wants."""

    current_replicas: int = 0
    desired_replicas: int = 0
    last_scale_time: dt.datetime | None = None
    current_metrics: list[dict[str, Any]] | None = None
    conditions: list[Condition] = msgspec.field(default_factory=list)


class HorizontalPodAutoscaler(Projection, frozen=True, gc=True):
    """A horizontal pod autoscaler."""

    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)
    spec: HorizontalPodAutoscalerSpec = msgspec.field(default_factory=HorizontalPodAutoscalerSpec)
    status: HorizontalPodAutoscalerStatus = msgspec.field(default_factory=HorizontalPodAutoscalerStatus)
