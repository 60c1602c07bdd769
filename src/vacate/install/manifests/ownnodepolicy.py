"""The admission policies that keep the shutdown agent, and the identities of nodes, to their own node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vacate.api.installednames import NODE_PODS, NODE_REQUESTS, OWN_NODE, OWN_PODS
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_REQUESTS, NODES, PODS, Kind
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR, MAX_INSTIGATOR
from vacate.crds.cel import text
from vacate.eviction.callers import POD_LABEL
from vacate.eviction.requesternames import DIGEST
from vacate.install.manifests.newrequests import OF_NODES, metadata_of_new
from vacate.install.manifests.policyobjects import (
    BY_NODES,
    NODE_OF_TOKEN,
    NODE_OF_USER,
    WAS_COMPLETE,
    bound,
    by_user,
    forbidding,
    matched,
    of_new,
    policy_of,
    rule_about,
    variables,
)
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX

_REQUESTS = (EVICTIONREQUESTS, EVACUATIONS)


def own_node_policies(user: str) -> list[Obj]:
    """What the agent writes is about its own node, which its token names; without one it writes nothing.

    No admission plugin of others has a part in that, so it holds also where fields are only audited.
    """
    by_agent = by_user(user)
    what = "the shutdown agent requests evictions of pods of its own node only"
    validations = {
        "the token of the shutdown agent names no node": "variables.node != ''",
        "the shutdown agent writes its own node only": _about(
            NODES, "oldObject.metadata.name == variables.node"
        ),
        "the shutdown agent terminates pods of its own node only": _about(
            PODS, "(oldObject != null && oldObject.spec.?nodeName.orValue('') == variables.node)"
        ),
        **_own_requests("the shutdown agent"),
    }
    rules = (
        rule_about(PODS, ["DELETE"]),
        rule_about(PODS, ["UPDATE"], "status"),
        rule_about(NODES, ["UPDATE"], "", "status"),
    )
    return [
        *_own_names(OWN_NODE, by_agent, NODE_OF_TOKEN, validations, rules),
        *_own_pods(OWN_PODS, by_agent, NODE_OF_TOKEN, what),
    ]


def node_policies() -> list[Obj]:
    """The same of what the identities of nodes request, those of `vacate node` and of kubelets."""
    what = "a node requests evictions of its own pods only"
    return [
        *_own_names(NODE_REQUESTS, BY_NODES, NODE_OF_USER, _own_requests("a node")),
        *_own_pods(NODE_PODS, BY_NODES, NODE_OF_USER, what),
    ]


def _own_names(
    name: str, by: Obj, node: str, validations: Mapping[str, str], rules: Sequence[Obj] = ()
) -> list[Obj]:
    about_requests = (rule_about(kind, ["CREATE", "UPDATE", "DELETE"]) for kind in _REQUESTS)
    spec = {
        "matchConstraints": matched(*rules, *about_requests),
        "matchConditions": [by],
        "variables": variables({"node": node}),
        "validations": forbidding(validations),
    }
    return bound(policy_of(name, spec))


def _own_requests(who: str) -> dict[str, str]:
    """Requests in the name of the own node, and the removal of those that nobody else wants."""
    requester = f"variables.node + '.{REQUESTER_SUFFIX}'"
    added = "object.spec.?requesters.orValue([])"
    before = "(oldObject == null ? [] : oldObject.spec.?requesters.orValue([]))"
    foreign = f"filter(r, r.name != {requester})"
    finalizers = "metadata.?finalizers.orValue([])"
    held = f"(oldObject == null ? [] : oldObject.{finalizers})"
    others_hold = f"filter(f, f != {_instigator()} && !{_is_cut_instigator()})"
    deletes = "request.operation == 'DELETE'"
    label = f"!({text(POD_LABEL)} in object.metadata.?labels.orValue({{}}))"
    requesters = "oldObject.spec.?requesters.orValue([])"
    new = {
        **of_new({f"{who} labels no request as the eviction bridge does": label}),
        **metadata_of_new(who, OF_NODES),
    }
    return {
        **new,
        f"{who} requests evictions in the name of its own node only": _about(
            EVICTIONREQUESTS, f"{deletes} || {added}.{foreign} == {before}.{foreign}"
        ),
        f"{who} removes requests only that are complete or its own": _about(
            EVICTIONREQUESTS, f"!({deletes}) || {requesters}.{foreign}.size() == 0 || {WAS_COMPLETE}"
        ),
        f"{who} is an instigator in the name of its own node only": _about(
            EVACUATIONS, f"{deletes} || object.{finalizers}.{others_hold} == {held}.{others_hold}"
        ),
        f"{who} removes Evacuations only that are complete or its own": _about(
            EVACUATIONS,
            f"!({deletes}) || oldObject.{finalizers}.{others_hold}.filter(f, f.startsWith('{INSTIGATOR}'))"
            f".size() == 0 || {WAS_COMPLETE}",
        ),
    }


def _about(kind: Kind, holds: str) -> str:
    return f"!({_is(kind)}) || {holds}"


def _own_pods(name: str, by: Obj, node: str, what: str) -> list[Obj]:
    """A request names a pod and not its node: the policy is asked with every pod of the namespace.

    Deletions too: of those the webhook reviews only what an interceptor guards. A pod that the API server's
    cache does not have yet is none of them: the webhook, which reads the pod, asks the same of each API about
    what is created and changed (`vacate.crds.evictionrequest.target`).
    """
    about = "dyn(object == null ? oldObject : object)"
    uid = (
        f"{_is(EVICTIONREQUESTS)} ? {about}.?spec.?target.?podRef.?uid.orValue('')"
        f" : {_is(LIFECYCLE_REQUESTS)} ? {about}.?spec.?target.?pod.?uid.orValue('')"
        f" : {about}.?spec.?podRef.?uid.orValue('')"
    )
    own = "params.metadata.uid != variables.uid || params.spec.?nodeName.orValue('') == variables.node"
    spec = {
        "paramKind": {"apiVersion": PODS.api_version, "kind": PODS.kind},
        "matchConstraints": matched(
            *(rule_about(kind, ["CREATE", "UPDATE", "DELETE"]) for kind in (*_REQUESTS, LIFECYCLE_REQUESTS))
        ),
        "matchConditions": [by],
        "variables": variables({"node": node, "uid": uid}),
        "validations": [
            {
                "expression": own,
                "message": what,
                "messageExpression": f"{text(what + ': ')} + 'that of node ' + variables.node"
                " + ' none of node ' + params.spec.?nodeName.orValue('')",
                "reason": "Forbidden",
            }
        ],
    }
    # Without a namespace: that of the request. Where no pod is known there, the webhook alone knows.
    params = {"selector": {}, "parameterNotFoundAction": "Allow"}
    return bound(policy_of(name, spec), params=params)


def _is(kind: Kind) -> str:
    """Whether the request is about objects of the kind, in CEL."""
    return f"request.resource.group == '{kind.group}' && request.resource.resource == '{kind.plural}'"


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
