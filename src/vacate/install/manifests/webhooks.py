"""Which writes reach the webhook, and what becomes of them while it does not answer.

Nothing here can lock a cluster out. Pods are created without the webhook when it is away; nodes are drained
and namespaces deleted without it; it never sees the pods of its own namespace; and what fails closed are
EvictionRequests and Evacuations alone.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from vacate.admission.pods.workloads import OPT_IN
from vacate.api import objectnames
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, REPLICASETS, STATEFULSETS, Kind
from vacate.api.objects import Obj
from vacate.api.selectors.labels import match_expressions
from vacate.api.terminationreason import WRAP
from vacate.api.types.evictionrequest import ADMITTED_STAMP, FORBID
from vacate.crds.cel import listed
from vacate.crds.celfields import EVACUATION_FIELDS, EVICTION_REQUEST_FIELDS
from vacate.eviction.registration import PREFIXES
from vacate.install.settings import Certificates, FailurePolicy, Settings

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")
NAMESPACE_CONTROLLERS = (
    "system:serviceaccount:kube-system:namespace-controller",
    "system:kube-controller-manager",  # where its controllers share one identity
)
_API = "admissionregistration.k8s.io/v1"
_SUFFIX = "vacate.dev"

# A finalizer's owner may always update a terminating request: a namespace must be able to go.
_TERMINATING = (
    "request.operation == 'UPDATE' && has(object.metadata.deletionTimestamp) && object.spec == oldObject.spec"
    f" && object.metadata.?annotations[?'{ADMITTED_STAMP}']"
    f" == oldObject.metadata.?annotations[?'{ADMITTED_STAMP}']"
)
_POLICIES = {EVICTIONREQUESTS: EVICTION_REQUEST_FIELDS.policy, EVACUATIONS: EVACUATION_FIELDS.policy}
_PATHS = {
    EVICTIONREQUESTS: (objectnames.MUTATE_REQUESTS, objectnames.VALIDATE_REQUESTS),
    EVACUATIONS: (objectnames.MUTATE_EVACUATIONS, objectnames.VALIDATE_EVACUATIONS),
}
"""For each API: where its objects are completed, and where they are checked."""
_REGISTERS = "(" + " || ".join(f"k.startsWith('{prefix}/')" for prefix in PREFIXES) + ")"


def webhook_configurations(settings: Settings) -> list[Obj]:
    """Both configurations."""
    mutating = [make(settings, kind) for kind in _PATHS for make in (_completed, _status)]
    validating = [make(settings, kind) for kind in _PATHS for make in (_checked, _deletion)]
    if settings.pod_rules:
        mutating.append(_new_pods(settings))
    if settings.pod_webhooks:
        mutating.append(_workload_pods(settings))  # after the rules, which are for pods without any
        validating.append(_registering_pods(settings))
    if settings.prestop_wrapper:
        mutating.append(_hooks(settings))
    if settings.eviction_bridge:
        validating.append(_evictions(settings))
    if settings.termination_reasons:
        validating.append(_deletions(settings))
    for one in mutating:
        one["reinvocationPolicy"] = "IfNeeded"
    return [
        _configuration("MutatingWebhookConfiguration", objectnames.MUTATING, mutating, settings),
        _configuration("ValidatingWebhookConfiguration", objectnames.VALIDATING, validating, settings),
    ]


def _configuration(kind: str, name: str, hooks: list[Obj], settings: Settings) -> Obj:
    meta: Obj = {"name": name}
    if settings.certificates is Certificates.CERT_MANAGER and settings.deploys_webhook:
        meta["annotations"] = {
            "cert-manager.io/inject-ca-from": f"{settings.namespace}/{objectnames.WEBHOOK}"
        }
    return {"apiVersion": _API, "kind": kind, "metadata": meta, "webhooks": hooks}


def _completed(settings: Settings, kind: Kind) -> Obj:
    return _requests(settings, kind, _PATHS[kind][0])


def _checked(settings: Settings, kind: Kind) -> Obj:
    return _requests(settings, kind, _PATHS[kind][1])


def _requests(settings: Settings, kind: Kind, path: str) -> Obj:
    """Creating and changing requests: asked closely, and refused while nobody answers."""
    verb = path.split("/")[1]
    return _hook(
        f"{kind.plural}.{verb}.{_SUFFIX}",
        path,
        _rule(kind.group, kind.version, kind.plural, "CREATE", "UPDATE"),
        settings.request_failure_policy,
        settings,
        conditions=[("not-on-its-way-out", f"!({_TERMINATING})")],
        timeout=10,
    )


def _status(settings: Settings, kind: Kind) -> Obj:
    """Progress of requests. The first to look, so that all errors come at once; it changes nothing."""
    return _hook(
        f"status.{kind.plural}.mutate.{_SUFFIX}",
        _PATHS[kind][0],
        _rule(kind.group, kind.version, f"{kind.plural}/status", "UPDATE"),
        settings.status_failure_policy,
        settings,
        conditions=[("status-changes", "object.?status != oldObject.?status")],
        timeout=3,
    )


def _deletion(settings: Settings, kind: Kind) -> Obj:
    """Deleting a request that an interceptor guards, unless its whole namespace goes."""
    guarded = (
        f"oldObject.?status.?{_POLICIES[kind]}.orValue('') == '{FORBID}'"
        " && !oldObject.?status.?conditions.orValue([])"
        ".exists(c, c.type == 'Complete' && c.status == 'True')"
    )
    by_others = f"!(request.userInfo.username in {listed(NAMESPACE_CONTROLLERS)})"
    return _hook(
        f"deletion.{kind.plural}.validate.{_SUFFIX}",
        _PATHS[kind][1],
        _rule(kind.group, kind.version, kind.plural, "DELETE"),
        settings.request_failure_policy,
        settings,
        conditions=[("guarded", guarded), ("namespace-stays", by_others)],
        timeout=10,
    )


def _new_pods(settings: Settings) -> Obj:
    """New pods that register nobody, to be annotated by rule. Those of nodes themselves are left alone."""
    annotations = "object.metadata.?annotations.orValue({})"
    hook = _hook(
        f"pods.mutate.{_SUFFIX}",
        objectnames.MUTATE_PODS,
        _rule("", "v1", "pods", "CREATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[
            ("not-of-a-node", f"!('kubernetes.io/config.mirror' in {annotations})"),
            ("registers-no-interceptor", f"!{annotations}.exists(k, {_REGISTERS})"),
        ],
        timeout=3,
    )
    return {**hook, "namespaceSelector": _own_namespaces_aside(settings)}


def _workload_pods(settings: Settings) -> Obj:
    """New pods of workloads, in namespaces that say whether their workloads move before eviction.

    Elsewhere no pod waits for the webhook: there the registration controller annotates workloads that have
    opted in by themselves.
    """
    owned = (
        "object.metadata.?ownerReferences.orValue([])"
        f".exists(r, r.kind in ['{REPLICASETS.kind}', '{STATEFULSETS.kind}'] && r.?controller.orValue(false))"
    )
    hook = _hook(
        f"workloadpods.mutate.{_SUFFIX}",
        objectnames.MUTATE_WORKLOAD_PODS,
        _rule("", "v1", "pods", "CREATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[("of-a-workload", owned)],
        timeout=3,
    )
    apart = _own_namespaces_aside(settings)["matchExpressions"]
    selector = {"matchExpressions": [*apart, {"key": OPT_IN, "operator": "Exists"}]}
    return {**hook, "namespaceSelector": selector}


def _hooks(settings: Settings) -> Obj:
    """New pods with preStop hooks, in namespaces that want them wrapped."""
    restartable = (
        "object.spec.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue('') == 'Always')"
    )
    wrappable = (
        "has(c.lifecycle) && has(c.lifecycle.preStop)"
        " && (has(c.lifecycle.preStop.exec) || has(c.lifecycle.preStop.httpGet))"
    )
    hooks = f"object.spec.containers.exists(c, {wrappable}) || {restartable}.exists(c, {wrappable})"
    hook = _hook(
        f"prestophooks.mutate.{_SUFFIX}",
        objectnames.MUTATE_HOOKS,
        _rule("", "v1", "pods", "CREATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[("has-prestop-hooks", hooks)],
        timeout=3,
    )
    apart = _own_namespaces_aside(settings)["matchExpressions"]
    chosen = {"key": WRAP, "operator": "In", "values": ["true"]}
    return {**hook, "namespaceSelector": {"matchExpressions": [*apart, chosen]}}


def _registering_pods(settings: Settings) -> Obj:
    """Pods whose annotations register interceptors, when these are new or change."""
    new = "object.metadata.?annotations.orValue({})"
    old = "(oldObject == null ? {} : oldObject.metadata.?annotations.orValue({}))"
    changes = (
        f"{new}.exists(k, {_REGISTERS} && !(k in {old} && {old}[k] == {new}[k]))"
        f" || {old}.exists(k, {_REGISTERS} && !(k in {new}))"
    )
    hook = _hook(
        f"pods.validate.{_SUFFIX}",
        objectnames.VALIDATE_PODS,
        _rule("", "v1", "pods", "CREATE", "UPDATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[("registers-interceptors", changes)],
        timeout=3,
    )
    return {**hook, "namespaceSelector": _own_namespaces_aside(settings)}


def _evictions(settings: Settings) -> Obj:
    """Direct evictions, where those of the manager and dry runs have nothing to wait for.

    It always fails open, and soon: a drain is more important than those who want to prepare it. Not so soon
    that a busy webhook counts as one that is away: a drain evicts all pods of a node at once. The pod is not
    in the review, so that whether it has interceptors is looked up by the webhook.
    """
    by_others = f"!(request.userInfo.username in {listed(settings.controllers)})"
    real = "!request.?dryRun.orValue(false) && object.?deleteOptions.?dryRun.orValue([]).size() == 0"
    hook = _hook(
        f"evictions.validate.{_SUFFIX}",
        objectnames.VALIDATE_EVICTIONS,
        _rule("", "v1", "pods/eviction", "CREATE"),
        FailurePolicy.IGNORE,
        settings,
        conditions=[("not-of-the-manager", by_others), ("no-dry-run", real)],
        timeout=2,
    )
    chosen = match_expressions(settings.bridge_namespaces)
    apart = _own_namespaces_aside(settings)
    selector = {"matchExpressions": [*apart["matchExpressions"], *chosen]}
    # It makes requests, though never for a dry run.
    return {**hook, "namespaceSelector": selector, "sideEffects": "NoneOnDryRun"}


def _deletions(settings: Settings) -> Obj:
    """Deletions and evictions of pods, to note why. It refuses none, and none waits long for it.

    Left out is what has no use for a reason or must not be written for it: nodes that confirm the end, pods
    that are ending, force deletion, dry runs, and preconditions that a write would break.
    """
    evicts = "request.?subResource.orValue('') == 'eviction'"
    options = f"({evicts} ? object.?deleteOptions.orValue({{}}) : request.?options.orValue({{}}))"
    return {
        **_hook(
            f"reasons.annotate.{_SUFFIX}",
            objectnames.ANNOTATE_REASONS,
            _rule("", "v1", "pods", "DELETE"),
            FailurePolicy.IGNORE,
            settings,
            conditions=[
                ("not-of-a-node", "!('system:nodes' in request.userInfo.?groups.orValue([]))"),
                (
                    "no-dry-run",
                    f"!request.?dryRun.orValue(false) && dyn({options}).?dryRun.orValue([]) == []",
                ),
                ("with-grace", f"dyn({options}).?gracePeriodSeconds.orValue(-1) != 0"),
                ("any-version", f"!dyn({options}).?preconditions.?resourceVersion.hasValue()"),
                (
                    "not-ending",
                    f"{evicts} || (oldObject != null && !has(oldObject.metadata.deletionTimestamp))",
                ),
            ],
            timeout=2,
        ),
        "rules": [_rule("", "v1", "pods", "DELETE"), _rule("", "v1", "pods/eviction", "CREATE")],
        "namespaceSelector": _own_namespaces_aside(settings),
        "sideEffects": "NoneOnDryRun",
    }


def _own_namespaces_aside(settings: Settings) -> Obj:
    values = [*SYSTEM_NAMESPACES, settings.namespace]
    return {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": values}]
    }


def _rule(group: str, version: str, resource: str, *operations: str) -> Obj:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "operations": list(operations),
        "resources": [resource],
        "scope": "Namespaced",
    }


def _hook(
    name: str,
    path: str,
    rule: Obj,
    policy: FailurePolicy,
    settings: Settings,
    *,
    conditions: Sequence[tuple[str, str]],
    timeout: int,
) -> Obj:
    return {
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": _client(settings, path),
        "rules": [rule],
        "matchPolicy": "Equivalent",
        "matchConditions": [{"name": key, "expression": text} for key, text in conditions],
        "failurePolicy": str(policy),
        "sideEffects": "None",
        "timeoutSeconds": timeout,
    }


def _client(settings: Settings, path: str) -> Obj:
    found: Obj = {}
    if settings.webhook_url:
        found["url"] = settings.webhook_url.rstrip("/") + path
    else:
        found["service"] = {
            "namespace": settings.namespace,
            "name": objectnames.WEBHOOK,
            "path": path,
            "port": 443,
        }
    if settings.ca_bundle:
        found["caBundle"] = base64.b64encode(settings.ca_bundle).decode()
    return found
