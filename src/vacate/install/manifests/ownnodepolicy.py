"""The admission policy that keeps the shutdown agent to its own node."""

from __future__ import annotations

import re

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS, SHUTDOWN_TAINT
from vacate.api.objectnames import OWN_NODE, SHUTDOWN_AGENT
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR, MAX_INSTIGATOR
from vacate.crds.cel import listed
from vacate.eviction.requesternames import DIGEST
from vacate.install.settings import ShutdownAgent
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX


def own_node_policy(chosen: ShutdownAgent) -> list[Obj]:
    """What the agent writes is about its own node, which its token names; without one it writes nothing."""
    account = f"system:serviceaccount:{chosen.namespace}:{SHUTDOWN_AGENT}"
    node = "authentication.kubernetes.io/node-name"
    conditions = listed([GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS])
    others = f"status.?conditions.orValue([]).filter(c, !(c.type in {conditions}))"
    taints = f"spec.?taints.orValue([]).filter(t, t.key != '{SHUTDOWN_TAINT}')"
    unchanged = " && ".join(
        f"object.?{path} == oldObject.?{path}"
        for path in ("metadata.?labels", "metadata.?annotations", "spec.?unschedulable", "spec.?providerID")
    )
    requester = f"variables.node + '.{REQUESTER_SUFFIX}'"
    over = "oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'Complete' && c.status == 'True')"
    added = "object.spec.?requesters.orValue([])"
    before = "(oldObject == null ? [] : oldObject.spec.?requesters.orValue([]))"
    foreign = f"filter(r, r.name != {requester})"
    finalizers = "metadata.?finalizers.orValue([])"
    held = f"(oldObject == null ? [] : oldObject.{finalizers})"
    others_hold = f"filter(f, f != {_instigator()} && !{_is_cut_instigator()})"

    def about(resource: str, holds: str) -> str:
        return f"request.resource.resource != '{resource}' || {holds}"

    status = "request.?subResource.orValue('') == 'status'"
    deletes = "request.operation == 'DELETE'"
    requesters = "oldObject.spec.?requesters.orValue([])"
    validations = {
        "the token of the shutdown agent names no node": "variables.node != ''",
        "the shutdown agent writes its own node only": about(
            "nodes", "oldObject.metadata.name == variables.node"
        ),
        f"the shutdown agent changes nothing of a node but its taint {SHUTDOWN_TAINT}": about(
            "nodes", f"{status} || (object.{taints} == oldObject.{taints} && {unchanged})"
        ),
        "the shutdown agent writes its own conditions of a node only": about(
            "nodes", f"!({status}) || object.{others} == oldObject.{others}"
        ),
        "the shutdown agent terminates pods of its own node only": about(
            "pods", "oldObject.spec.?nodeName.orValue('') == variables.node"
        ),
        "the shutdown agent requests evictions in the name of its own node only": about(
            "evictionrequests", f"{deletes} || {added}.{foreign} == {before}.{foreign}"
        ),
        "the shutdown agent removes requests only that are complete or its own": about(
            "evictionrequests", f"!({deletes}) || {requesters}.{foreign}.size() == 0 || {over}"
        ),
        "the shutdown agent is an instigator in the name of its own node only": about(
            "evacuations", f"{deletes} || object.{finalizers}.{others_hold} == {held}.{others_hold}"
        ),
        "the shutdown agent removes Evacuations only that are complete or its own": about(
            "evacuations",
            f"!({deletes}) || oldObject.{finalizers}.{others_hold}.filter(f, f.startsWith('{INSTIGATOR}'))"
            f".size() == 0 || {over}",
        ),
    }
    rules_ = [
        _matched("", "v1", ["pods"], ["DELETE"]),
        _matched("", "v1", ["pods/status", "nodes", "nodes/status"], ["UPDATE"]),
        *(
            _matched(kind.group, kind.version, [kind.plural], ["CREATE", "UPDATE", "DELETE"])
            for kind in (EVICTIONREQUESTS, EVACUATIONS)
        ),
    ]
    api, meta = "admissionregistration.k8s.io/v1", {"name": OWN_NODE}
    policy = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": dict(meta),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules_},
            "matchConditions": [
                {"name": "the-agent", "expression": f"request.userInfo.username == '{account}'"}
            ],
            "variables": [
                {"name": "node", "expression": f"request.userInfo.?extra[?'{node}'][?0].orValue('')"}
            ],
            "validations": [
                {"expression": _untyped(expression), "message": message, "reason": "Forbidden"}
                for message, expression in validations.items()
            ],
        },
    }
    binding = {
        "apiVersion": api,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": dict(meta),
        "spec": {"policyName": OWN_NODE, "validationActions": ["Deny"]},
    }
    return [policy, binding]


def _instigator() -> str:
    """The finalizer of the agent's node, in CEL."""
    return f"'{INSTIGATOR}' + variables.node + '.{REQUESTER_SUFFIX}'"


def _is_cut_instigator() -> str:
    """Whether a finalizer is that of a node whose name is too long for one, by what it is cut to, in CEL.

    CEL has no digests: nodes whose long names begin alike are not distinguished.
    """
    kept = MAX_INSTIGATOR - len(REQUESTER_SUFFIX) - DIGEST - 2
    longest = MAX_INSTIGATOR - len(REQUESTER_SUFFIX) - 1
    pattern = f"-[0-9a-f]{{{DIGEST}}}[.]{REQUESTER_SUFFIX.replace('.', '[.]')}$"
    cut = f"variables.node.substring(0, {kept}).find('^.*[^-.]')"
    begins = f"f.startsWith('{INSTIGATOR}' + {cut})"
    return f"(size(variables.node) > {longest} && {begins} && f.matches('{pattern}'))"


def _untyped(expression: str) -> str:
    """Each validation is about one of several kinds, and would be checked against the fields of all."""
    return re.sub(r"\b(object|oldObject)\.", r"dyn(\1).", expression)


def _matched(group: str, version: str, resources: list[str], operations: list[str]) -> Obj:
    return {"apiGroups": [group], "apiVersions": [version], "operations": operations, "resources": resources}
