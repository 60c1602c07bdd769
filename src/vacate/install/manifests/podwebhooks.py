"""Which writes of pods, evictions and deletions reach the webhook."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.admission.pods.forcedeletion import ENABLED, GUARD_LABEL
from vacate.admission.pods.workloads import WORKLOADS
from vacate.api import installednames
from vacate.api.objects import Obj
from vacate.api.selectors.labels import match_expressions
from vacate.api.terminationreason import WRAP
from vacate.api.workloads import OPT_IN
from vacate.crds.cel import listed
from vacate.eviction.registration import PREFIXES
from vacate.install.manifests.webhookentries import (
    WEBHOOK_SUFFIX,
    own_namespaces_aside,
    rule_of,
    webhook_entry,
)
from vacate.install.settings import FailurePolicy, Settings

_REGISTERS = "(" + " || ".join(f"k.startsWith('{prefix}/')" for prefix in PREFIXES) + ")"
_EVICTS = "request.?subResource.orValue('') == 'eviction'"
_OPTIONS = f"({_EVICTS} ? object.?deleteOptions.orValue({{}}) : request.?options.orValue({{}}))"
_NO_DRY_RUN = f"!request.?dryRun.orValue(false) && dyn({_OPTIONS}).?dryRun.orValue([]) == []"


def new_pods(settings: Settings) -> Obj:
    """New pods that name no interceptors, to be annotated by rule; without those of the nodes themselves."""
    annotations = "object.metadata.?annotations.orValue({})"
    hook = webhook_entry(
        f"pods.mutate.{WEBHOOK_SUFFIX}",
        installednames.MUTATE_PODS,
        rule_of("", "v1", "pods", "CREATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[
            ("not-of-a-node", f"!('kubernetes.io/config.mirror' in {annotations})"),
            ("registers-no-interceptor", f"!{annotations}.exists(k, {_REGISTERS})"),
        ],
        timeout=3,
    )
    return {**hook, "namespaceSelector": own_namespaces_aside(settings)}


def workload_pods(settings: Settings) -> Obj:
    """New pods of workloads, in namespaces that say whether their workloads move before eviction.

    Elsewhere no pod waits for the webhook: there the registration controller annotates workloads that have
    opted in by themselves. That cannot be done with responders, which stay as a pod is created: where Vacate
    is the controller of Kubernetes' own API, all new pods of workloads come here.
    """
    creators = listed([next(iter(one.owners)).kind for one in WORKLOADS])
    owned = (
        "object.metadata.?ownerReferences.orValue([])"
        f".exists(r, r.kind in {creators} && r.?controller.orValue(false))"
    )
    hook = webhook_entry(
        f"workloadpods.mutate.{WEBHOOK_SUFFIX}",
        installednames.MUTATE_WORKLOAD_PODS,
        rule_of("", "v1", "pods", "CREATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[("of-a-workload", owned)],
        timeout=3,
    )
    apart = own_namespaces_aside(settings)["matchExpressions"]
    chosen = [] if settings.lifecycle else [{"key": OPT_IN, "operator": "Exists"}]
    selector = {"matchExpressions": [*apart, *chosen]}
    return {**hook, "namespaceSelector": selector}


def prestop_hooks(settings: Settings) -> Obj:
    """New pods with preStop hooks, in namespaces that want them wrapped."""
    restartable = (
        "object.spec.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue('') == 'Always')"
    )
    wrappable = (
        "has(c.lifecycle) && has(c.lifecycle.preStop)"
        " && (has(c.lifecycle.preStop.exec) || has(c.lifecycle.preStop.httpGet))"
    )
    hooks = f"object.spec.containers.exists(c, {wrappable}) || {restartable}.exists(c, {wrappable})"
    hook = webhook_entry(
        f"prestophooks.mutate.{WEBHOOK_SUFFIX}",
        installednames.MUTATE_HOOKS,
        rule_of("", "v1", "pods", "CREATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[("has-prestop-hooks", hooks)],
        timeout=3,
    )
    apart = own_namespaces_aside(settings)["matchExpressions"]
    chosen = {"key": WRAP, "operator": "In", "values": ["true"]}
    return {**hook, "namespaceSelector": {"matchExpressions": [*apart, chosen]}}


def registering_pods(settings: Settings) -> Obj:
    """Pods whose annotations register interceptors, when these are new or change."""
    new = "object.metadata.?annotations.orValue({})"
    old = "(oldObject == null ? {} : oldObject.metadata.?annotations.orValue({}))"
    changes = (
        f"{new}.exists(k, {_REGISTERS} && !(k in {old} && {old}[k] == {new}[k]))"
        f" || {old}.exists(k, {_REGISTERS} && !(k in {new}))"
    )
    hook = webhook_entry(
        f"pods.validate.{WEBHOOK_SUFFIX}",
        installednames.VALIDATE_PODS,
        rule_of("", "v1", "pods", "CREATE", "UPDATE"),
        settings.pod_failure_policy,
        settings,
        conditions=[("registers-interceptors", changes)],
        timeout=3,
    )
    return {**hook, "namespaceSelector": own_namespaces_aside(settings)}


def evictions(settings: Settings) -> Obj:
    """Direct evictions, where those of the manager and dry runs have nothing to wait for.

    It always fails open, and soon: a drain is more important than those who want to prepare it. Not so soon
    that a busy webhook counts as one that is away: a drain evicts all pods of a node at once. The pod is not
    in the review, so that whether it has interceptors is looked up by the webhook.
    """
    by_others = f"!(request.userInfo.username in {listed(settings.controllers)})"
    real = "!request.?dryRun.orValue(false) && object.?deleteOptions.?dryRun.orValue([]).size() == 0"
    hook = webhook_entry(
        f"evictions.validate.{WEBHOOK_SUFFIX}",
        installednames.VALIDATE_EVICTIONS,
        rule_of("", "v1", "pods/eviction", "CREATE"),
        FailurePolicy.IGNORE,
        settings,
        conditions=[("not-of-the-manager", by_others), ("no-dry-run", real)],
        timeout=2,
    )
    chosen = match_expressions(settings.bridge_namespaces)
    apart = own_namespaces_aside(settings)
    selector = {"matchExpressions": [*apart["matchExpressions"], *chosen]}
    # It makes requests, though never for a dry run.
    return {**hook, "namespaceSelector": selector, "sideEffects": "NoneOnDryRun"}


def deletions(settings: Settings) -> Obj:
    """Deletions and evictions of pods, to note why. It refuses none, and none waits long for it.

    Left out is what has no use for a reason or must not be written for it: nodes that confirm the end, pods
    that are terminating, force deletion, dry runs, and preconditions that a write would break.
    """
    return _removals(
        f"reasons.annotate.{WEBHOOK_SUFFIX}",
        installednames.ANNOTATE_REASONS,
        settings,
        conditions=[
            ("not-of-a-node", "!('system:nodes' in request.userInfo.?groups.orValue([]))"),
            ("no-dry-run", _NO_DRY_RUN),
            ("with-grace", f"dyn({_OPTIONS}).?gracePeriodSeconds.orValue(-1) != 0"),
            ("any-version", f"!dyn({_OPTIONS}).?preconditions.?resourceVersion.hasValue()"),
            (
                "not-terminating",
                f"{_EVICTS} || (oldObject != null && !has(oldObject.metadata.deletionTimestamp))",
            ),
        ],
    )


def force_deletions(settings: Settings) -> Obj:
    """Force deletions where the guard holds, to record who made them. It refuses none.

    Left out are the pod's own node, which removes each pod so when its processes have ended, and dry runs.
    """
    own = f"{_EVICTS} || oldObject == null ? -1 : oldObject.?spec.?terminationGracePeriodSeconds.orValue(-1)"
    its_node = "'system:node:' + oldObject.?spec.?nodeName.orValue('')"
    labelled = {"key": GUARD_LABEL, "operator": "In", "values": [ENABLED]}
    guarded = [] if settings.guard_unlabelled else [labelled]
    return _removals(
        f"forcedeletions.record.{WEBHOOK_SUFFIX}",
        installednames.RECORD_FORCE_DELETIONS,
        settings,
        conditions=[
            ("forced", f"dyn({_OPTIONS}).?gracePeriodSeconds.orValue({own}) == 0"),
            ("no-dry-run", _NO_DRY_RUN),
            (
                "not-of-its-node",
                f"{_EVICTS} || (oldObject != null && request.userInfo.username != {its_node})",
            ),
        ],
        namespaces=guarded,
    )


def _removals(
    name: str,
    path: str,
    settings: Settings,
    *,
    conditions: Sequence[tuple[str, str]],
    namespaces: Sequence[Obj] = (),
) -> Obj:
    """Deletions and evictions of pods that match, in such namespaces. They wait two seconds at most."""
    rule = rule_of("", "v1", "pods", "DELETE")
    hook = webhook_entry(name, path, rule, FailurePolicy.IGNORE, settings, conditions=conditions, timeout=2)
    apart = own_namespaces_aside(settings)
    return {
        **hook,
        "rules": [rule, rule_of("", "v1", "pods/eviction", "CREATE")],
        "namespaceSelector": {"matchExpressions": [*apart["matchExpressions"], *namespaces]},
        "sideEffects": "NoneOnDryRun",  # the webhook writes
    }
