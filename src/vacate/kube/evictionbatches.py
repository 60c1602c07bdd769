"""Deployments without a surge that let their pods be evicted in batches of maxUnavailable, by opt-in.

kubectl annotate deployment web vacate.dev/eviction-request-strategy=MaxUnavailable
"""

from __future__ import annotations

from vacate.api.types import Deployment
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value
from vacate.kube.surge import surge_limit

STRATEGY = "vacate.dev/eviction-request-strategy"
"""An annotation of a Deployment; the proposal has a field `spec.evictionRequestStrategy` for it."""
MAX_UNAVAILABLE = "MaxUnavailable"
_DEFAULT_UNAVAILABLE = "25%"


def goes_in_batches(deployment: Deployment) -> bool:
    """Whether the Deployment has opted in, and has no surge by which its pods could be replaced first."""
    if deployment.metadata.annotations.get(STRATEGY) != MAX_UNAVAILABLE:
        return False
    if deployment.metadata.deletion_timestamp is not None or deployment.spec.replicas <= 0:
        return False
    rolling = deployment.spec.strategy.type == "RollingUpdate"
    return rolling and surge_limit(deployment, deployment.spec.replicas) <= 0


def unavailable_limit(deployment: Deployment) -> int:
    """How many pods may be unavailable: rounded down, and one where that would be none, as in a rollout."""
    rolling = deployment.spec.strategy.rolling_update
    configured = rolling.max_unavailable if rolling is not None else None
    try:
        found = scaled_value(
            _DEFAULT_UNAVAILABLE if configured is None else configured,
            deployment.spec.replicas,
            round_up=False,
        )
    except InvalidIntOrPercent:
        found = 0
    return max(1, found)
