"""Which writes reach the webhook, and what becomes of them while it does not answer.

Nothing here can lock a cluster out. Pods are created without the webhook when it is away; nodes are drained
and namespaces deleted without it; it never sees the pods of its own namespace; and what fails closed are
EvictionRequests and Evacuations alone; of those of lifecycle.k8s.io, what nodes write.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api import installednames
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_REQUESTS, Kind
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import FORBID
from vacate.crds.catalogue import declaration_of
from vacate.crds.cel import listed, text
from vacate.crds.celfields import EVACUATION_FIELDS, EVICTION_REQUEST_FIELDS
from vacate.install.manifests.podwebhooks import (
    deletions,
    evictions,
    force_deletions,
    new_pods,
    prestop_hooks,
    registering_pods,
    workload_pods,
)
from vacate.install.manifests.webhookentries import WEBHOOK_SUFFIX, rule_of, webhook_entry
from vacate.install.settings import Certificates, Settings

NAMESPACE_CONTROLLERS = (
    "system:serviceaccount:kube-system:namespace-controller",
    "system:kube-controller-manager",  # where its controllers share one identity
)
_API = "admissionregistration.k8s.io/v1"

# A finalizer's owner may always update a terminating request: a namespace must be able to go. Annotations are
# what admission vouches for.
_TERMINATING = (
    "request.operation == 'UPDATE' && has(object.metadata.deletionTimestamp) && object.spec == oldObject.spec"
    " && object.metadata.?annotations == oldObject.metadata.?annotations"
)
_POLICIES = {EVICTIONREQUESTS: EVICTION_REQUEST_FIELDS.policy, EVACUATIONS: EVACUATION_FIELDS.policy}
_PATHS = {
    EVICTIONREQUESTS: (installednames.MUTATE_REQUESTS, installednames.VALIDATE_REQUESTS),
    EVACUATIONS: (installednames.MUTATE_EVACUATIONS, installednames.VALIDATE_EVACUATIONS),
}
"""For each API: where its objects are completed, and where they are checked."""


def webhook_configurations(settings: Settings) -> list[Obj]:
    """Both configurations."""
    mutating = [make(settings, kind) for kind in _PATHS for make in (_completed, _status)]
    validating = [make(settings, kind) for kind in _PATHS for make in (_checked, _checked_status, _deletion)]
    validating += [_requests_of_nodes(settings), force_deletions(settings)]
    if settings.pod_rules:
        mutating.append(new_pods(settings))
    if settings.pod_webhooks:
        mutating.append(workload_pods(settings))  # after the rules, which are for pods without any
        validating.append(registering_pods(settings))
    if settings.prestop_wrapper:
        mutating.append(prestop_hooks(settings))
    if settings.eviction_bridge:
        validating.append(evictions(settings))
    if settings.termination_reasons:
        validating.append(deletions(settings))
    for one in mutating:
        one["reinvocationPolicy"] = "IfNeeded"
    return [
        _configuration("MutatingWebhookConfiguration", installednames.MUTATING, mutating, settings),
        _configuration("ValidatingWebhookConfiguration", installednames.VALIDATING, validating, settings),
    ]


def _configuration(kind: str, name: str, hooks: list[Obj], settings: Settings) -> Obj:
    meta: Obj = {"name": name}
    if settings.certificates is Certificates.CERT_MANAGER and settings.deploys_webhook:
        meta["annotations"] = {
            "cert-manager.io/inject-ca-from": f"{settings.namespace}/{installednames.WEBHOOK}"
        }
    return {"apiVersion": _API, "kind": kind, "metadata": meta, "webhooks": hooks}


def _completed(settings: Settings, kind: Kind) -> Obj:
    """What has more items than it may have is kept away: it costs less to refuse it later.

    It gets no mark of admission and is refused: by the schema, or by the validating side, which has no such
    condition and the same limits.
    """
    sizes = [
        f"size(object.?{part}.?{field}.orValue({'{}' if maps else '[]'})) <= {most}"
        for part, field, most, maps in declaration_of(kind).structure.sizes.limits
        if part != "status"  # which this resource does not change
    ]
    return _requests(settings, kind, _PATHS[kind][0], [("not-oversized", " && ".join(sizes))])


def _checked(settings: Settings, kind: Kind) -> Obj:
    return _requests(settings, kind, _PATHS[kind][1])


def _requests(settings: Settings, kind: Kind, path: str, conditions: Sequence[tuple[str, str]] = ()) -> Obj:
    """Creating and changing requests: always reviewed, and refused while no webhook answers."""
    verb = path.split("/")[1]
    return webhook_entry(
        f"{kind.plural}.{verb}.{WEBHOOK_SUFFIX}",
        path,
        rule_of(kind.group, kind.version, kind.plural, "CREATE", "UPDATE"),
        settings.request_failure_policy,
        settings,
        conditions=[("not-on-its-way-out", f"!({_TERMINATING})"), *conditions],
        timeout=10,
    )


def _requests_of_nodes(settings: Settings) -> Obj:
    """What nodes request by Kubernetes' own API. What others do is none of this webhook's."""
    kind = LIFECYCLE_REQUESTS
    node = f"^system:(node:.*|serviceaccount:[^:]+:{installednames.SHUTDOWN_AGENT})$"
    return webhook_entry(
        f"lifecyclerequests.validate.{WEBHOOK_SUFFIX}",
        installednames.VALIDATE_LIFECYCLE,
        rule_of(kind.group, kind.version, kind.plural, "CREATE", "UPDATE"),
        settings.request_failure_policy,
        settings,
        conditions=[("by-a-node", f"request.userInfo.username.matches({text(node)})")],
        timeout=10,
    )


def _status(settings: Settings, kind: Kind) -> Obj:
    """Progress of requests. The first to look, so that all errors come at once."""
    return _progress(settings, kind, _PATHS[kind][0])


def _checked_status(settings: Settings, kind: Kind) -> Obj:
    """The same again for what others write, as it is stored.

    The mutating side is shown all that the writer has sent. The API server drops metadata and spec from it,
    which were perhaps more than a webhook reads.
    """
    by_others = f"!(request.userInfo.username in {listed(settings.controllers)})"
    return _progress(settings, kind, _PATHS[kind][1], [("not-of-the-manager", by_others)])


def _progress(settings: Settings, kind: Kind, path: str, conditions: Sequence[tuple[str, str]] = ()) -> Obj:
    """Changes of the status: they pass while nobody answers, or heartbeats would be missed."""
    return webhook_entry(
        f"status.{kind.plural}.{path.split('/')[1]}.{WEBHOOK_SUFFIX}",
        path,
        rule_of(kind.group, kind.version, f"{kind.plural}/status", "UPDATE"),
        settings.status_failure_policy,
        settings,
        conditions=[("status-changes", "object.?status != oldObject.?status"), *conditions],
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
    return webhook_entry(
        f"deletion.{kind.plural}.validate.{WEBHOOK_SUFFIX}",
        _PATHS[kind][1],
        rule_of(kind.group, kind.version, kind.plural, "DELETE"),
        settings.request_failure_policy,
        settings,
        conditions=[("guarded", guarded), ("namespace-stays", by_others)],
        timeout=10,
    )
