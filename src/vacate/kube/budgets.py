"""The condition of disruption budgets."""

from __future__ import annotations

DISRUPTION_ALLOWED = "DisruptionAllowed"


SUFFICIENT_PODS = "SufficientPods"


INSUFFICIENT_PODS = "InsufficientPods"


SYNC_FAILED = "SyncFailed"
