"""What replaces a pod: its Deployment and what scales it, and whether both can have one more pod."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.types.apps import Deployment
from vacate.api.types.autoscaling import HorizontalPodAutoscaler
from vacate.kube.minreplicas import floor_record_of, unsupported_floor
from vacate.kube.surge import unsupported


@dataclass(frozen=True, slots=True)
class Workload:
    """The Deployment of a pod, and the autoscalers that scale it, as they were read."""

    deployment: Deployment | None = None
    autoscalers: Sequence[HorizontalPodAutoscaler] = ()

    @property
    def autoscaler(self) -> HorizontalPodAutoscaler | None:
        """The one that scales it; None where several do, which work against each other."""
        return self.autoscalers[0] if len(self.autoscalers) == 1 else None

    @property
    def is_recreated(self) -> bool:
        """Whether a rollout of it never has old and new pods side by side: one more may harm it."""
        return self.deployment is not None and self.deployment.spec.strategy.type != "RollingUpdate"

    @property
    def declines(self) -> bool:
        """Whether the interceptors decline to replace its pods for what it is, until that is changed."""
        if self.deployment is None or len(self.autoscalers) > 1:
            return True
        scaler = self.autoscaler
        if scaler is None:
            return bool(unsupported(self.deployment))
        return bool(unsupported_floor(scaler, self.deployment)) or is_at_most(self.deployment, scaler)


def is_at_most(deployment: Deployment, autoscaler: HorizontalPodAutoscaler) -> bool:
    """Whether the Deployment has all the replicas that its autoscaler allows, without a surge among them."""
    raised = floor_record_of(autoscaler) is not None
    return not raised and deployment.spec.replicas >= autoscaler.spec.max_replicas
