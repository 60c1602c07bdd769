"""How fast a HorizontalPodAutoscaler may scale: stored and checked; the controller here does not read it."""

from __future__ import annotations

from vacate.admission.checks import unsupported
from vacate.api.fielderrors import FieldError, invalid
from vacate.api.lenient import child, integer, mapping, maps, text
from vacate.api.objects import Obj
from vacate.api.quantity import parse_quantity

_MAX_WINDOW = 3600
_MAX_PERIOD = 1800
_ALL = {"type": "Percent", "value": 100, "periodSeconds": 15}
_FOUR = {"type": "Pods", "value": 4, "periodSeconds": 15}


def default_behavior(spec: Obj) -> None:
    """Both directions are complete as soon as one is mentioned."""
    if spec.get("behavior") is None:
        return
    behavior = child(spec, "behavior")
    up, down = child(behavior, "scaleUp"), child(behavior, "scaleDown")
    up.setdefault("stabilizationWindowSeconds", 0)
    for rules, policies in ((up, (_FOUR, _ALL)), (down, (_ALL,))):
        rules.setdefault("selectPolicy", "Max")
        rules.setdefault("policies", [dict(one) for one in policies])


def behavior_errors(spec: Obj) -> list[FieldError]:
    """Every rule that the behavior breaks."""
    behavior, found = mapping(spec.get("behavior")), list[FieldError]()
    for key in ("scaleUp", "scaleDown"):
        if behavior.get(key) is not None:
            found += _rules_errors(mapping(behavior[key]), f"spec.behavior.{key}")
    return found


def _rules_errors(rules: Obj, path: str) -> list[FieldError]:
    found: list[FieldError] = []
    window = integer(rules.get("stabilizationWindowSeconds"))
    where = f"{path}.stabilizationWindowSeconds"
    if window < 0:
        found.append(invalid(where, window, "must be greater than or equal to zero"))
    if window > _MAX_WINDOW:
        found.append(invalid(where, window, f"must be less than or equal to {_MAX_WINDOW}"))
    chosen = text(rules.get("selectPolicy"))
    if chosen not in ("Disabled", "Max", "Min"):
        found.append(unsupported(f"{path}.selectPolicy", chosen, ("Disabled", "Max", "Min")))
    for index, policy in enumerate(maps(rules.get("policies"))):
        found += _policy_errors(policy, f"{path}.policies[{index}]")
    if rules.get("tolerance") is not None and parse_quantity(rules["tolerance"]).sign < 0:
        tolerance = str(rules["tolerance"])
        found.append(invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0"))
    return found


def _policy_errors(policy: Obj, path: str) -> list[FieldError]:
    sort, found = text(policy.get("type")), list[FieldError]()
    if sort not in ("Percent", "Pods"):
        found.append(unsupported(f"{path}.type", sort, ("Percent", "Pods")))
    for key in ("value", "periodSeconds"):
        if integer(policy.get(key)) <= 0:
            found.append(invalid(f"{path}.{key}", integer(policy.get(key)), "must be greater than zero"))
    period = integer(policy.get("periodSeconds"))
    if period > _MAX_PERIOD:
        detail = f"must be less than or equal to {_MAX_PERIOD}"
        found.append(invalid(f"{path}.periodSeconds", period, detail))
    return found
