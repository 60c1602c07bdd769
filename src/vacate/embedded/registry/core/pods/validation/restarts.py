"""When containers start again: after they end, and after their resources change."""

from __future__ import annotations

from typing import Any

from vacate.admission.checks import unsupported
from vacate.admission.rules import table
from vacate.api.fielderrors import ErrorType, FieldError, invalid, required, too_many
from vacate.api.lenient import mapping, maps, sequence, text
from vacate.api.objects import Obj

_POLICIES = ("Always", "Never", "OnFailure")
_ACTIONS = ("Restart", "RestartAllContainers")
_OPERATORS = ("In", "NotIn")
_MAX_RULES, _MAX_CODES = 20, 255
_RESIZED = ("cpu", "memory")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")

RULES = table(
    "Pod",
    ("spec.containers[].restartPolicy", ErrorType.NOT_SUPPORTED, "Always, Never or OnFailure; init ones too"),
    ("spec.containers[].restartPolicy", ErrorType.REQUIRED, "beside restartPolicyRules"),
    ("spec.containers[].restartPolicyRules", ErrorType.TOO_MANY, "at most 20"),
    (
        "spec.containers[].restartPolicyRules[].action",
        ErrorType.NOT_SUPPORTED,
        "Restart, RestartAllContainers",
    ),
    ("spec.containers[].restartPolicyRules[].exitCodes", ErrorType.REQUIRED, "in every rule"),
    ("spec.containers[].restartPolicyRules[].exitCodes.operator", ErrorType.NOT_SUPPORTED, "In or NotIn"),
    ("spec.containers[].restartPolicyRules[].exitCodes.values", ErrorType.TOO_MANY, "at most 255"),
    ("spec.containers[].resizePolicy[]", ErrorType.DUPLICATE, "one for a resource"),
    ("spec.containers[].resizePolicy", ErrorType.REQUIRED, "resourceName and restartPolicy"),
    (
        "spec.containers[].resizePolicy",
        ErrorType.NOT_SUPPORTED,
        "cpu or memory; NotRequired, RestartContainer",
    ),
    ("spec.containers[].resizePolicy", ErrorType.INVALID, "NotRequired where the pod never restarts"),
    ("spec.initContainers[].resizePolicy[].restartPolicy", ErrorType.INVALID, "NotRequired but for sidecars"),
)


def restart_errors(container: Obj, path: str) -> list[FieldError]:
    """The policy of a container, and the rules that refine it."""
    policy, rules = container.get("restartPolicy"), maps(container.get("restartPolicyRules"))
    if policy is None and not rules:
        return []
    found: list[FieldError] = []
    where = f"{path}.restartPolicy"
    if policy is None and rules:
        found.append(required(where, "must specify restartPolicy when restart rules are used"))
    elif policy is not None and policy not in _POLICIES:
        found.append(unsupported(where, text(policy), _POLICIES))
    return found + _rules_errors(rules, f"{path}.restartPolicyRules")


def init_restart_errors(container: Obj, path: str) -> list[FieldError]:
    """The same for an init container; without a policy its rules are not looked at."""
    if container.get("restartPolicy") is None:
        return restart_errors(container, path)[:1]
    return restart_errors(container, path)


def _rules_errors(rules: list[Obj], path: str) -> list[FieldError]:
    found = [too_many(path, len(rules), _MAX_RULES)] if len(rules) > _MAX_RULES else []
    for index, rule in enumerate(rules):
        where, codes = f"{path}[{index}]", rule.get("exitCodes")
        if rule.get("action") not in _ACTIONS:
            found.append(unsupported(f"{where}.action", text(rule.get("action")), _ACTIONS))
        if codes is None:
            found.append(required(f"{where}.exitCodes", "must be specified"))
        else:
            found += _code_errors(mapping(codes), f"{where}.exitCodes")
    return found


def _code_errors(codes: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    if codes.get("operator") not in _OPERATORS:
        found.append(unsupported(f"{path}.operator", text(codes.get("operator")), _OPERATORS))
    if (count := len(sequence(codes.get("values")))) > _MAX_CODES:
        found.append(too_many(f"{path}.values", count, _MAX_CODES))
    return found


def resize_errors(policies: Any, path: str, pod_policy: Any) -> list[FieldError]:
    """What happens to a container whose resources change."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, policy in enumerate(maps(policies)):
        resource, restart = text(policy.get("resourceName")), text(policy.get("restartPolicy"))
        if resource in seen:
            found.append(FieldError(f"{path}[{index}]", ErrorType.DUPLICATE, "", resource))
        seen.add(resource)
        for value, known in ((resource, _RESIZED), (restart, _RESIZE_POLICIES)):
            if value not in known:
                found.append(unsupported(path, value, known) if value else required(path))
        if pod_policy == "Never" and restart != "NotRequired":
            detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            found.append(invalid(path, restart, detail))
    return found


def init_resize_errors(container: Obj, path: str) -> list[FieldError]:
    """Init containers that end cannot be restarted for it."""
    if container.get("restartPolicy") == "Always":
        return []
    detail = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    return [
        invalid(f"{path}.resizePolicy[{index}].restartPolicy", "RestartContainer", detail)
        for index, policy in enumerate(maps(container.get("resizePolicy")))
        if policy.get("restartPolicy") == "RestartContainer"
    ]
