"""The guard against unsafe force deletion of pods as admission policies: the API server holds it by itself.

The same rule as in `vacate.admission.pods.forcedeletion`. One thing CEL cannot see: an eviction's review does
not show the pod. So an eviction with grace 0 is confirmed on the Eviction itself, which must name the pod's
UID as precondition, and is refused for pods without processes too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vacate.admission.nodedeletion import NODE_REMOVERS, REFUSAL
from vacate.admission.pods.forcedeletion import (
    CONFIRMATION,
    DISABLED,
    ENABLED,
    GUARD_LABEL,
    SYSTEM_USERS,
)
from vacate.admission.pods.forcedeletion import NO_GRACE as REFUSES_NO_GRACE
from vacate.api.installednames import FORCE_DELETION, FORCE_EVICTION, NO_GRACE, NODE_DELETION, NODE_MARKS
from vacate.api.kinds import NODES, PODS, STATEFULSETS
from vacate.api.objects import Obj
from vacate.api.types.core import TERMINAL_PHASES
from vacate.crds.cel import listed, text
from vacate.install.manifests.policyobjects import matched, policy_of, rule_about, validation, variables
from vacate.kube.nodes import OUT_OF_SERVICE, SAFE_TO_DELETE

_CONFIRMED = f"metadata.?annotations[?{text(CONFIRMATION)}].orValue('')"
_MEANS = (
    "to confirm that its processes have ended: they may go on running, and a replacement with the same "
    "identity and the same volumes may start beside them and damage data. "
)
_GRACEFUL = (
    "Delete it without --force, or with a grace period of 1 second or more, to let the node terminate it. "
)


def guard(*, unlabelled: bool, managers: Sequence[str]) -> list[Obj]:
    """The policies, for namespaces by their label; those of Nodes where the whole cluster is guarded."""
    of_nodes = [policy_of(NODE_DELETION, _node_deletion()), policy_of(NODE_MARKS, _node_marks(managers))]
    return [
        policy_of(FORCE_DELETION, _deletion(unlabelled)),
        policy_of(FORCE_EVICTION, _eviction(unlabelled)),
        policy_of(NO_GRACE, _no_grace(unlabelled)),
        *(of_nodes if unlabelled else ()),
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
        "matchConstraints": _guarded(rule_about(PODS, ["DELETE"]), unlabelled),
        "matchConditions": [
            # A deletion of a collection is reviewed once as a whole, without an object, and then pod by pod.
            {
                "name": "forced",
                "expression": "oldObject != null && request.options.?gracePeriodSeconds.orValue(-1) == 0",
            },
            {"name": "not-by-the-system", "expression": _others()},
        ],
        "variables": variables(
            {
                "node": "oldObject.?spec.?nodeName.orValue('')",
                "confirmed": f"oldObject.{_CONFIRMED} == oldObject.metadata.uid",
            }
        ),
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
        "matchConstraints": _guarded(rule_about(PODS, ["CREATE"], "eviction"), unlabelled),
        "matchConditions": [
            {"name": "forced", "expression": "object.?deleteOptions.?gracePeriodSeconds.orValue(-1) == 0"},
            {"name": "not-by-the-system", "expression": _others()},
        ],
        "validations": [
            validation(
                f"object.{_CONFIRMED} != ''"
                f" && object.{_CONFIRMED} == object.?deleteOptions.?preconditions.?uid.orValue('')",
                "eviction with a grace period of 0 removes the pod without waiting for its node "
                f"{_MEANS}Evict it with a grace period of 1 second or more, or confirm: set the annotation "
                f"{CONFIRMATION} of the Eviction, and deleteOptions.preconditions.uid, to the UID of the pod",
            )
        ],
    }


def _no_grace(unlabelled: bool) -> Obj:
    """A member of a StatefulSet with a grace period of 0 is removed at once by every deletion.

    StatefulSets make their members, and adopt pods that their selector matches.
    """
    member = (
        "%s.metadata.?ownerReferences.orValue([]).exists("
        f"r, r.kind == '{STATEFULSETS.kind}' && r.?controller.orValue(false))"
    )
    return {
        "matchConstraints": _guarded(rule_about(PODS, ["CREATE", "UPDATE"]), unlabelled),
        "matchConditions": [
            {
                "name": "becomes-a-member",
                "expression": f"{member % 'object'} && (oldObject == null || !{member % 'oldObject'})",
            }
        ],
        "validations": [
            validation(
                "object.spec.?terminationGracePeriodSeconds.orValue(30) > 0",
                REFUSES_NO_GRACE,
            )
        ],
    }


def _node_deletion() -> Obj:
    """Pod GC force deletes the pods of a Node that is gone: deleting it declares its machine gone for good.

    A policy does not see pods. The manager looks at them when the node has become not ready, and says where
    nothing can be harmed; without its word about this outage the policy asks.
    """
    places = {"NAME": "oldObject.metadata.name", "UID": "oldObject.metadata.uid"}
    parts = filter(None, re.split(f"({'|'.join(places)})", REFUSAL))
    safe = f"oldObject.metadata.?annotations[?{text(SAFE_TO_DELETE)}].orValue('-')"
    return {
        "matchConstraints": matched({**rule_about(NODES, ["DELETE"]), "scope": "Cluster"}),
        "matchConditions": [
            {
                "name": "not-ready",
                "expression": "oldObject != null && oldObject.?status.?conditions.orValue([])"
                ".exists(c, c.type == 'Ready' && c.status != 'True')",
            },
            {
                "name": "not-known-to-be-safe",
                "expression": "!dyn(oldObject).?status.?conditions.orValue([])"
                f".exists(c, c.type == 'Ready' && c.?lastTransitionTime.orValue('never') == {safe})",
            },
            {
                "name": "not-fenced",
                "expression": f"!oldObject.spec.?taints.orValue([]).exists(t, t.key == '{OUT_OF_SERVICE}')",
            },
            {
                "name": "not-left-out",
                "expression": f"oldObject.metadata.?labels[?{text(GUARD_LABEL)}].orValue('') != '{DISABLED}'",
            },
            {
                "name": "not-by-the-system",
                "expression": f"!(request.userInfo.username in {listed(NODE_REMOVERS)})",
            },
        ],
        "validations": [
            {
                "expression": f"oldObject.{_CONFIRMED} == oldObject.metadata.uid",
                "message": "deletion of a Node that is not ready must be confirmed with the annotation "
                f"{CONFIRMATION}",
                "messageExpression": " + ".join(places.get(one) or text(one) for one in parts),
                "reason": "Forbidden",
            }
        ],
    }


def _node_marks(managers: Sequence[str]) -> Obj:
    """Kubelets may annotate their own Node, and others all: what spares a confirmation is not theirs."""
    old, new = (
        f"(dyn({one}) == null ? optional.none() : dyn({one}).metadata.?annotations[?{text(SAFE_TO_DELETE)}])"
        for one in ("oldObject", "object")
    )
    return {
        "matchConstraints": matched(rule_about(NODES, ["CREATE", "UPDATE"], "", "status")),
        "matchConditions": [
            {"name": "the-mark-is-set", "expression": f"{new}.hasValue() && {old} != {new}"},
        ],
        "validations": [
            validation(
                f"request.userInfo.username in {listed(managers)}",
                f"only Vacate's manager sets the annotation {SAFE_TO_DELETE}: it says that no pod of a "
                "StatefulSet and no exclusive volume is on the node. To confirm the deletion of a Node, "
                "use vacate delete node NAME --confirm",
            )
        ],
    }


def _others() -> str:
    return f"!(request.userInfo.username in {listed(SYSTEM_USERS)})"


def _guarded(rule: Obj, unlabelled: bool) -> Obj:
    # A namespace without the label is not in a list either.
    operator, value = ("NotIn", DISABLED) if unlabelled else ("In", ENABLED)
    chosen = {"key": GUARD_LABEL, "operator": operator, "values": [value]}
    return {"namespaceSelector": {"matchExpressions": [chosen]}, **matched({**rule, "scope": "Namespaced"})}
