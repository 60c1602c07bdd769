"""The words in which an eviction is refused: codes, causes and messages of the eviction subresource."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.objects import Obj
from vacate.errors import Forbidden, InternalError, TooManyRequests
from vacate.kube.budgets import DISRUPTION_ALLOWED, SYNC_FAILED

_WOULD_VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
_CAUSE = "DisruptionBudget"
_RETRY_SECONDS = 10


def several_budgets() -> InternalError:
    """Two budgets cannot be spent from in one step."""
    return InternalError(
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
        reason="",
    )


def different_dry_runs(asked: Sequence[str], written: Sequence[str]) -> InternalError:
    """The query and the body disagree."""
    return InternalError(
        f"Non-matching dry-run options in request and content: [{' '.join(asked)}] and [{' '.join(written)}]",
        reason="",
    )


def still_processed(budget: str) -> TooManyRequests:
    """The budget's status is older than its spec, or the pod changed meanwhile: try again soon."""
    message = f"The disruption budget {budget} is still being processed by the server."
    return TooManyRequests(
        _WOULD_VIOLATE, details={"causes": _causes(message), "retryAfterSeconds": _RETRY_SECONDS}
    )


def negative_budget(budget: str) -> Forbidden:
    """A status that nobody should have written."""
    why = "pdb disruptions allowed is negative"
    return _forbidden(budget, why, why)


def too_many_unconfirmed(budget: str) -> Forbidden:
    """The disruption controller does not keep up, or does not run."""
    return _forbidden(
        budget,
        "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        "too many pending evictions not confirmed by PDB controller",
    )


def spent_budget(budget: str, status: Obj) -> TooManyRequests:
    """No disruption is left; the cause says why as well as the status knows."""
    return TooManyRequests(_WOULD_VIOLATE, details={"causes": _causes(_why_spent(budget, status))})


def _why_spent(budget: str, status: Obj) -> str:
    refused = _refusing_condition(status)
    message, reason = refused.get("message", ""), refused.get("reason", "")
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    start = f"The disruption budget {budget}"
    # After a failed sync the counts cannot be trusted, so its message comes first.
    if message and reason == SYNC_FAILED:
        return f"{start} does not allow evicting pods currently because it failed sync: {message}"
    if current <= desired:
        return f"{start} needs {desired} healthy pods and has {current} currently"
    if message:
        return f"{start} does not allow evicting pods currently ({reason}): {message}"
    return f"{start} does not allow evicting pods currently"


def _refusing_condition(status: Obj) -> Obj:
    """The DisruptionAllowed condition where it is False, else nothing."""
    for one in status.get("conditions") or ():
        if one.get("type") == DISRUPTION_ALLOWED:
            return one if one.get("status") == "False" else {}
    return {}


def _forbidden(budget: str, why: str, cause: str) -> Forbidden:
    message = f"The disruption budget {budget} does not allow evicting pods currently: {cause}"
    return Forbidden(
        f'poddisruptionbudget.policy "{budget}" is forbidden: {why}',
        details={
            "name": budget,
            "group": "policy",
            "kind": "poddisruptionbudget",
            "causes": _causes(message),
        },
    )


def _causes(message: str) -> list[Obj]:
    return [{"reason": _CAUSE, "message": message}]
