"""What a metric wants. There is no metrics API here: the user writes measured values onto the autoscaler.

    kubectl annotate hpa web metrics.embedded.vacate.dev/requests=30

is the present value of the External metric `requests`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from vacate.api.objects import Obj, dig
from vacate.api.quantity import parse_quantity
from vacate.api.types import HorizontalPodAutoscaler
from vacate.api.untyped import mapping, text

MEASURED = "metrics.embedded.vacate.dev/"
"""Begins the annotations that have measured values; the metric's name follows."""
TOLERANCE = Fraction(1, 10)
"""So far may a value be from its target before anything is scaled."""


@dataclass(frozen=True, slots=True)
class ReplicaProposal:
    """How many pods one metric wants, and the measured value as the status shows it."""

    replicas: int
    name: str
    current: Obj


def proposal_of(autoscaler: HorizontalPodAutoscaler, metric: Obj, replicas: int) -> ReplicaProposal | None:
    """What the metric wants with so many replicas; None where it was not measured."""
    name, target = text(dig(metric, "external", "metric", "name")), mapping(dig(metric, "external", "target"))
    value = _number(autoscaler.metadata.annotations.get(f"{MEASURED}{name}"))
    average, whole = _number(target.get("averageValue")), _number(target.get("value"))
    if metric.get("type") != "External" or value is None or value < 0 or replicas <= 0:
        return None
    if average is not None and average > 0:
        shown = {"averageValue": f"{math.ceil(value * 1000 / replicas)}m"}
        return ReplicaProposal(_scaled(value / (average * replicas), replicas), name, shown)
    if whole is not None and whole > 0:
        shown = {"value": f"{math.ceil(value * 1000)}m"}
        return ReplicaProposal(_scaled(value / whole, replicas), name, shown)
    return None


def _scaled(ratio: Fraction, replicas: int) -> int:
    return replicas if abs(1 - ratio) <= TOLERANCE else math.ceil(ratio * replicas)


def _number(value: object) -> Fraction | None:
    if not isinstance(value, str | int | float):
        return None
    try:
        quantity = parse_quantity(value)
    except ValueError:
        return None
    return Fraction(quantity.unscaled) * Fraction(10) ** quantity.exponent
