"""The guard against unsafe force deletion of pods as admission policies: the API server holds it by itself.

The same rule as in `vacate.admission.pods.forcedeletion`. One thing CEL cannot see: an eviction's review does
not show the pod. So an eviction with grace 0 is confirmed on the Eviction itself, which must name the pod's
UID as precondition, and is refused for pods without processes too.
"""

from __future__ import annotations

from vacate.admission.pods.forcedeletion import (
    CONFIRMATION,
    DISABLED,
    ENABLED,
    GUARD_LABEL,
    SYSTEM_USERS,
)
from vacate.api.objectnames import FORCE_DELETION, FORCE_EVICTION
from vacate.api.objects import Obj
from vacate.api.types.core import TERMINAL_PHASES
from vacate.crds.cel import listed, text

_CONFIRMED = f"metadata.?annotations[?{text(CONFIRMATION)}].orValue('')"
_MEANS = (
    "to confirm that its processes have ended: they may go on running, and a replacement with the same "
    "identity and the same volumes may start beside them and damage data. "
)
_GRACEFUL = (
    "Delete it without --force, or with a grace period of 1 second or more, to let the node terminate it. "
)


def guard(*, unlabelled: bool) -> list[Obj]:
    """The specs of both policies with their names, for namespaces by their label."""
    return [
        {"metadata": {"name": FORCE_DELETION}, "spec": _deletion(unlabelled)},
        {"metadata": {"name": FORCE_EVICTION}, "spec": _eviction(unlabelled)},
    ]


def _deletion(unlabelled: bool) -> Obj:
    no_processes = (
        f"variables.node == '' || oldObject.?status.?phase.orValue('') in {listed(sorted(TERMINAL_PHASES))}"
        " || oldObject.spec.?terminationGracePeriodSeconds.orValue(30) == 0"
    )
    decided = (
        "has(oldObject.metadata.deletionTimestamp)"
        " && oldObject.metadata.?deletionGracePeriodSeconds.orValue(0) == 0"
    )
    name, where = "oldObject.metadata.name", "' -n ' + oldObject.metadata.namespace"
    message_expression = (
        f"'force deletion removes the pod without waiting for node ' + variables.node + {text(' ' + _MEANS)}"
        f" + {text(_GRACEFUL + 'If you know that the processes are gone, confirm with: vacate delete pod ')}"
        f" + {name} + {where} + ' --force --confirm; or: kubectl annotate pod ' + {name} + {where}"
        f" + {text(f' {CONFIRMATION}=')} + oldObject.metadata.uid + ' and delete it again'"
    )
    return {
        "failurePolicy": "Fail",
        "matchConstraints": _about("", "v1", "pods", "DELETE", unlabelled),
        "matchConditions": [
            # A deletion of a collection is reviewed once as a whole, without an object, and then pod by pod.
            {
                "name": "forced",
                "expression": "oldObject != null && request.options.?gracePeriodSeconds.orValue(-1) == 0",
            },
            {"name": "not-by-the-system", "expression": _others()},
        ],
        "variables": [
            {"name": "node", "expression": "oldObject.?spec.?nodeName.orValue('')"},
            {"name": "confirmed", "expression": f"oldObject.{_CONFIRMED} == oldObject.metadata.uid"},
        ],
        "validations": [
            {
                "expression": f"variables.confirmed || {no_processes} || ({decided})"
                " || request.userInfo.username == 'system:node:' + variables.node",
                "message": "force deletion of a pod whose node has not confirmed the end of its processes "
                f"must be confirmed with the annotation {CONFIRMATION}",
                "messageExpression": message_expression,
                "reason": "Forbidden",
            }
        ],
        "auditAnnotations": [
            {
                "key": "force-deletion",
                "valueExpression": "variables.confirmed ? 'confirmed by ' + request.userInfo.username"
                " : 'without processes, or by the node'",
            }
        ],
    }


def _eviction(unlabelled: bool) -> Obj:
    return {
        "failurePolicy": "Fail",
        "matchConstraints": _about("", "v1", "pods/eviction", "CREATE", unlabelled),
        "matchConditions": [
            {"name": "forced", "expression": "object.?deleteOptions.?gracePeriodSeconds.orValue(-1) == 0"},
            {"name": "not-by-the-system", "expression": _others()},
        ],
        "validations": [
            {
                "expression": f"object.{_CONFIRMED} != ''"
                f" && object.{_CONFIRMED} == object.?deleteOptions.?preconditions.?uid.orValue('')",
                "message": "eviction with a grace period of 0 removes the pod without waiting for its node "
                f"{_MEANS}Evict it with a grace period of 1 second or more, or confirm: set the annotation "
                f"{CONFIRMATION} of the Eviction, and deleteOptions.preconditions.uid, to the UID of the pod",
                "reason": "Forbidden",
            }
        ],
    }


def _others() -> str:
    return f"!(request.userInfo.username in {listed(SYSTEM_USERS)})"


def _about(group: str, version: str, resource: str, operation: str, unlabelled: bool) -> Obj:
    rule = {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": [operation],
        "resources": [resource],
        "scope": "Namespaced",
    }
    # A namespace without the label is not in a list either.
    chosen = ("NotIn", DISABLED) if unlabelled else ("In", ENABLED)
    selector = {"matchExpressions": [{"key": GUARD_LABEL, "operator": chosen[0], "values": [chosen[1]]}]}
    return {"namespaceSelector": selector, "resourceRules": [rule]}
