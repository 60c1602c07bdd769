"""Admission policies as objects: what all of them have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vacate.api.identity import NODE_NAME_EXTRA
from vacate.api.kinds import PODS, Kind
from vacate.api.names import RESERVED_KEYS
from vacate.api.objects import Obj
from vacate.crds.cel import listed, text

API = "admissionregistration.k8s.io/v1"

WAS_COMPLETE = (
    "oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'Complete' && c.status == 'True')"
)
"""Whether the request that is written was over, in CEL."""

OF_OTHERS = f"!k.matches({text(RESERVED_KEYS)})"
# Without a prefix they are mostly what Services select pods by.
WITH_PREFIX = f"k.contains('/') && {OF_OTHERS}"

_OF_NODES = "system:node:"
BY_NODES: Obj = {
    "name": "by-a-node",
    "expression": f"request.userInfo.username.startsWith({text(_OF_NODES)})",
}
"""The match condition of a policy about the identities of nodes."""
NODE_OF_USER = f"request.userInfo.username.substring({len(_OF_NODES)})"
NODE_OF_TOKEN = f"request.userInfo.?extra[?{text(NODE_NAME_EXTRA)}][?0].orValue('')"
"""The node that acts, in CEL: as its identity has it, and as the token of a pod on it."""


def policy_of(name: str, spec: Obj) -> Obj:
    """A policy. It fails closed."""
    head = {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}}
    return {**head, "spec": {"failurePolicy": "Fail", **spec}}


def of_new_requests(who: str, what: str, pod_uid: str, annotations: Sequence[str]) -> dict[str, str]:
    """What holds for the metadata of a new request for a pod, by message: nothing by which others act on it.

    Annotations with a prefix of others pass, since admission plugins of a company may add them.
    """
    meta = "object.metadata"
    pod = f"o.kind == {text(PODS.kind)} && {pod_uid}"
    owners = f"{meta}.?ownerReferences.orValue([]).all(o, {pod} && !o.?blockOwnerDeletion.orValue(false))"
    named = f"{meta}.?annotations.orValue({{}}).all(k, k in {listed(annotations)} || ({WITH_PREFIX}))"
    return of_new(
        {
            f"{who} lets {what} belong to its pod only": owners,
            f"{who} annotates {what} with {', '.join(annotations)} only": named,
        }
    )


def of_new(validations: Mapping[str, str]) -> dict[str, str]:
    """What must hold of an object that is created."""
    return {message: f"request.operation != 'CREATE' || {holds}" for message, holds in validations.items()}


def bound(policy: Obj, *, deny: bool = True, params: Obj | None = None) -> list[Obj]:
    """The policy with its binding: it refuses, or only warns and notes it in the audit log."""
    name = policy["metadata"]["name"]
    spec: Obj = {"policyName": name, "validationActions": ["Deny"] if deny else ["Warn", "Audit"]}
    if params is not None:
        spec["paramRef"] = params
    head = {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}}
    return [policy, {**head, "spec": spec}]


def matched(*rules: Obj) -> Obj:
    """The constraints of a policy. Objects of other versions are converted to the one that a rule names."""
    return {"matchPolicy": "Equivalent", "resourceRules": list(rules)}


def rule_about(kind: Kind, operations: Sequence[str], *subresources: str) -> Obj:
    """The kind, or these subresources of it; the empty one is the kind itself. None is meant by another."""
    parts = subresources or ("",)
    return {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": list(operations),
        "resources": [f"{kind.plural}/{one}" if one else kind.plural for one in parts],
    }


def by_user(name: str) -> Obj:
    """The match condition of a policy about one user."""
    return {"name": "by-the-account", "expression": f"request.userInfo.username == {text(name)}"}


def forbidding(validations: Mapping[str, str]) -> list[Obj]:
    """What must hold, by the message of a refusal."""
    return [validation(_untyped(expression), message) for message, expression in validations.items()]


def validation(expression: str, message: str, reason: str = "Forbidden") -> Obj:
    """What must hold, and how a write is refused where it does not."""
    return {"expression": expression, "message": message, "reason": reason}


def variables(made: Mapping[str, str]) -> list[Obj]:
    """What the validations of a policy speak of, by name."""
    return [{"name": name, "expression": expression} for name, expression in made.items()]


def _untyped(expression: str) -> str:
    """A policy about several kinds is checked against the fields of all, but for values of no known type."""
    return re.sub(r"(?<!\()\b(object|oldObject)\.", r"dyn(\1).", expression)
