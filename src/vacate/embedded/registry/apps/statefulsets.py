"""StatefulSets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from vacate.admission.checks import (
    not_negative,
    readable_selector,
    selector_errors,
    shown_selector,
    unchanged,
    unsupported,
)
from vacate.admission.context import Context
from vacate.admission.nameformats import dns_label, name_is_label
from vacate.api.fielderrors import FieldError, complaints, invalid, required
from vacate.api.objects import Obj, dig
from vacate.api.untyped import child, mapping, maps, text
from vacate.embedded.registry.apps import podtemplate
from vacate.embedded.registry.apps.percentages import amount, int_or_percent_errors, over_hundred_errors

_UPDATE = "spec.updateStrategy"
_POLICY = "spec.persistentVolumeClaimRetentionPolicy"
_FIXED = ("volumeClaimTemplates", "serviceName", "podManagementPolicy")


class StatefulSetStrategy(podtemplate.WorkloadStrategy):
    """Answers for StatefulSets."""

    new_status: ClassVar[Obj | None] = {"replicas": 0, "availableReplicas": 0}
    parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    counts = ("replicas", *parts, "observedGeneration", "collisionCount")

    def name_format(self, name: str, prefix: bool) -> Sequence[str]:
        """The pods' host names begin with it, so that it is a DNS label."""
        return [_DOTS] if "." in name else name_is_label(name, prefix)

    def default(self, obj: Obj, ctx: Context) -> None:
        """One replica, its pods one after another, claims kept."""
        spec = child(obj, "spec")
        spec.setdefault("replicas", 1)
        podtemplate.default_template(spec, self.kind)
        if not spec.get("podManagementPolicy"):
            spec["podManagementPolicy"] = "OrderedReady"
        strategy = child(spec, "updateStrategy")
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = child(strategy, "rollingUpdate")
            rolling.setdefault("partition", 0)
            rolling.setdefault("maxUnavailable", 1)
        policy = child(spec, "persistentVolumeClaimRetentionPolicy")
        for key in ("whenDeleted", "whenScaled"):
            if not policy.get(key):
                policy[key] = "Retain"
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in maps(spec.get("volumeClaimTemplates")):
            claim |= {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
            child(claim, "spec").setdefault("volumeMode", "Filesystem")
            child(claim, "status").setdefault("phase", "Pending")

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """The spec."""
        spec = mapping(obj.get("spec"))
        found = _policy_errors(spec)
        found += not_negative("spec", spec, "replicas") + not_negative("spec", spec, "minReadySeconds")
        found += not_negative("spec.ordinals", mapping(spec.get("ordinals")), "start")
        if service := text(spec.get("serviceName")):
            found += complaints("spec.serviceName", service, dns_label(service))
        return found + _selector_errors(spec, ctx)

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """The spec again; identity and storage stay."""
        spec, before = mapping(new.get("spec")), mapping(old.get("spec"))
        found = super().update_errors(new, old, step, ctx)
        for key in _FIXED:
            found += unchanged(f"spec.{key}", spec.get(key), before.get(key))
        return found


_DOTS = "must not contain dots"


def _policy_errors(spec: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    if (order := text(spec.get("podManagementPolicy"))) not in ("OrderedReady", "Parallel"):
        found.append(invalid("spec.podManagementPolicy", order, "must be 'OrderedReady' or 'Parallel'"))
    strategy = mapping(spec.get("updateStrategy"))
    sort, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    shown = None
    if rolling is not None:
        given = mapping(rolling)
        shown = {"Partition": given.get("partition"), "MaxUnavailable": given.get("maxUnavailable")}
    if sort == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            found.append(invalid(f"{_UPDATE}.rollingUpdate", shown, detail))
    elif sort == "RollingUpdate":
        found += not_negative(f"{_UPDATE}.rollingUpdate", mapping(rolling), "partition")
        limit = mapping(rolling).get("maxUnavailable")
        found += _limit_errors(limit, f"{_UPDATE}.rollingUpdate.maxUnavailable")
    else:
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        found.append(invalid(_UPDATE, {"Type": sort, "RollingUpdate": shown}, detail))
    policy = mapping(spec.get("persistentVolumeClaimRetentionPolicy"))
    for key in ("whenDeleted", "whenScaled"):
        if (value := text(policy.get(key))) not in ("Retain", "Delete"):
            found.append(unsupported(f"{_POLICY}.{key}", value, ("Retain", "Delete")))
    return found


def _limit_errors(limit: Any, path: str) -> list[FieldError]:
    if limit is None:
        return []
    found = int_or_percent_errors(limit, path)
    if amount(limit) == 0:
        found.append(invalid(path, limit, "cannot be 0"))
    return found + over_hundred_errors(limit, path)


def _with_claims(spec: Obj) -> Obj:
    """The template as its pods will be: containers may mount the claims that are made for them."""
    template = mapping(spec.get("template"))
    inner = mapping(template.get("spec"))
    volumes = maps(inner.get("volumes"))
    given = {one.get("name") for one in volumes}
    names = [text(dig(one, "metadata", "name")) for one in maps(spec.get("volumeClaimTemplates"))]
    claims = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in dict.fromkeys(names)
        if name and name not in given
    ]
    return {**template, "spec": {**inner, "volumes": [*volumes, *claims]}} if claims else template


def _selector_errors(spec: Obj, ctx: Context) -> list[FieldError]:
    selector, template = spec.get("selector"), _with_claims(spec)
    readable = readable_selector(selector)
    found: list[FieldError] = []
    if selector is None:
        found.append(required("spec.selector"))
        readable = None
    else:
        found += selector_errors(selector, "spec.selector")
        if not any(mapping(selector).get(key) for key in ("matchLabels", "matchExpressions")):
            detail = "empty selector is invalid for statefulset"
            found.append(invalid("spec.selector", shown_selector(selector), detail))
            return found + podtemplate.template_errors(template, ctx, "StatefulSet")
        if readable is None:
            return [*found, invalid("spec.selector", shown_selector(selector), "")]
    found += podtemplate.mismatch_errors(template, readable)
    return found + podtemplate.template_errors(template, ctx, "StatefulSet")
