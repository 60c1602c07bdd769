"""When containers start again after they end. Nothing here reads what restart rules say in detail."""

from __future__ import annotations

from vacate.admission.checks import unsupported
from vacate.api.fielderrors import FieldError, required
from vacate.api.objects import Obj
from vacate.api.untyped import text

_POLICIES = ("Always", "Never", "OnFailure")


def restart_errors(container: Obj, path: str) -> list[FieldError]:
    """The policy of a container, which rules may refine."""
    policy, where = container.get("restartPolicy"), f"{path}.restartPolicy"
    if policy is None and container.get("restartPolicyRules"):
        return [required(where, "must specify restartPolicy when restart rules are used")]
    return [] if policy is None or policy in _POLICIES else [unsupported(where, text(policy), _POLICIES)]
