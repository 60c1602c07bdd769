"""The admission policies that apply whatever is confined: for what accounts may use a right, and who fences.

Those of the shutdown agent are in `ownnodepolicy.py`.
"""

from __future__ import annotations

from vacate.api.identity import service_account_user
from vacate.api.installednames import (
    CERTIFICATE_SECRET,
    CERTIFICATES,
    FENCE_MARKS,
    MANAGER,
    MANAGER_LEASE,
    MANAGER_REQUESTS,
    NODE_FENCER,
    OWN_LEASES,
    TLS_SECRET,
    WEBHOOK,
    WEBHOOK_REQUESTS,
)
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LEASES, NODES, PODS, SECRETS
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.crds.cel import listed, text
from vacate.descheduling.names import SUFFIX as DESCHEDULING
from vacate.eviction.callers import POD_LABEL, SUFFIX
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX
from vacate.fencing.annotations import APPROVED, FENCE_VERB, REQUESTED
from vacate.install.manifests.newrequests import OF_CALLERS, OF_NODES, metadata_of_new
from vacate.install.manifests.policyobjects import (
    bound,
    by_user,
    forbidding,
    matched,
    policy_of,
    rule_about,
    variables,
)
from vacate.install.settings import Settings
from vacate.webhook.certificates.secret import TYPE as TLS_TYPE


def account_policies(settings: Settings) -> list[Obj]:
    """Each with its binding."""
    made = (
        _webhook_requests(settings),
        _manager_requests(settings),
        _certificate_secret(settings),
        _manager_lease(settings),
        own_lease(MANAGER, settings),
        _fence_marks(),
    )
    return [one for policy in made for one in bound(policy)]


def _webhook_requests(settings: Settings) -> Obj:
    """The webhook may delete pods, or it could request no eviction; what it needs is the right alone."""
    over = "oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'Complete' && c.status == 'True')"
    who = "the webhook of Vacate"
    named, ours = "object.?spec.?requesters.orValue([]).all(r, r.name", f".endsWith({text('.' + SUFFIX)}))"
    held = f"object.?metadata.?finalizers.orValue([]).all(f, f.startsWith({text(INSTIGATOR)}) && f{ours}"
    validations = {
        f"{who} deletes no pods": "request.resource.resource != 'pods'",
        f"{who} requests evictions for callers of the eviction API only": (
            f"request.operation != 'CREATE' || ({named}{ours} && {held})"
        ),
        **metadata_of_new(who, OF_CALLERS),
        f"{who} removes only requests that are complete": (
            f"request.operation != 'DELETE' || (oldObject != null && {over})"
        ),
    }
    return policy_of(
        WEBHOOK_REQUESTS,
        {
            "matchConstraints": matched(
                rule_about(PODS, ["DELETE"]),
                *(rule_about(kind, ["CREATE", "DELETE"]) for kind in (EVICTIONREQUESTS, EVACUATIONS)),
            ),
            "matchConditions": [by_user(service_account_user(settings.namespace, WEBHOOK))],
            "validations": forbidding(validations),
        },
    )


def _manager_requests(settings: Settings) -> Obj:
    """It requests evictions for those that it acts for.

    A request that takes over from another has the requesters and the metadata of that one, whatever they are:
    it says so in an annotation, which no other account may write.
    """
    who, names = "the manager of Vacate", (f".{one}" for one in (MAINTENANCE_SUFFIX, DESCHEDULING))
    ends = " || ".join(f"n.endsWith({text(one)})" for one in names)
    named = {
        obj: f"dyn({obj}).?spec.?requesters.orValue([]).map(r, r.name)"
        f" + dyn({obj}).?metadata.?finalizers.orValue([])"
        for obj in ("object", "oldObject")
    }
    mark, label = (
        {obj: f"dyn({obj}).metadata.?{part}[?{text(key)}]" for obj in named}
        for part, key in (("annotations", SUPERSEDES), ("labels", POD_LABEL))
    )
    same_label = f"oldObject != null && {label['object']} == {label['oldObject']}"
    ours = {
        f"{who} requests evictions for NodeMaintenances and DeschedulingPolicies only": (
            f"variables.added.all(n, {ends})"
        ),
        f"{who} labels no request as the eviction bridge does": (
            f"!({text(POD_LABEL)} in object.metadata.?labels.orValue({{}})) || ({same_label})"
        ),
        **metadata_of_new(who, OF_NODES),
    }
    validations = {
        f"{who} puts no finalizers on a request but those of instigators": (
            "object.metadata.?finalizers.orValue([])"
            f".all(f, f in variables.before || f.startsWith({text(INSTIGATOR)}))"
        ),
        **{message: f"variables.takesOver || ({holds})" for message, holds in ours.items()},
    }
    return policy_of(
        MANAGER_REQUESTS,
        {
            "matchConstraints": matched(
                *(rule_about(kind, ["CREATE", "UPDATE"]) for kind in (EVICTIONREQUESTS, EVACUATIONS))
            ),
            "matchConditions": [by_user(service_account_user(settings.namespace, MANAGER))],
            "variables": variables(
                {
                    "before": f"oldObject == null ? [] : {named['oldObject']}",
                    "added": f"({named['object']}).filter(n, !(n in variables.before))",
                    "takesOver": f"{mark['object']}.hasValue()"
                    f" && (oldObject == null || {mark['object']} != {mark['oldObject']})",
                }
            ),
            "validations": forbidding(validations),
        },
    )


def _certificate_secret(settings: Settings) -> Obj:
    """A right to create cannot be narrowed to a name by roles; a Secret of another type would be a token."""
    named = f"object.metadata.?name.orValue('') == {text(TLS_SECRET)} && object.?type.orValue('')"
    return policy_of(
        CERTIFICATE_SECRET,
        {
            "matchConstraints": matched(rule_about(SECRETS, ["CREATE", "UPDATE"])),
            "matchConditions": [by_user(service_account_user(settings.namespace, CERTIFICATES))],
            "validations": forbidding(
                {f"vacate certificates writes the Secret {TLS_SECRET} only": f"{named} == {text(TLS_TYPE)}"}
            ),
        },
    )


def _manager_lease(settings: Settings) -> Obj:
    """Commands and the eviction bridge see by it, in whichever namespace it is, whether a manager works."""
    may = (
        f"authorizer.group('{LEASES.group}').resource('{LEASES.plural}').name({text(MANAGER)})"
        ".check('update').allowed()"
    )
    return policy_of(
        MANAGER_LEASE,
        {
            "matchConstraints": matched(
                {**rule_about(LEASES, ["CREATE", "UPDATE"]), "resourceNames": [MANAGER]}
            ),
            "validations": forbidding(
                {
                    f"a Lease named {MANAGER} is written by Vacate's manager, and by who may do that in all "
                    "namespaces": f"request.userInfo.username in {listed(settings.controllers)} || {may}"
                }
            ),
        },
    )


def own_lease(account: str, settings: Settings) -> Obj:
    """A right to create cannot be narrowed to a name by roles."""
    return policy_of(
        OWN_LEASES[account],
        {
            "matchConstraints": matched(rule_about(LEASES, ["CREATE"])),
            "matchConditions": [by_user(service_account_user(settings.namespace, account))],
            "validations": forbidding(
                {
                    f"{account} creates the Lease {account} only": (
                        f"object.metadata.?name.orValue('') == {text(account)}"
                    )
                }
            ),
        },
    )


def _fence_marks() -> Obj:
    """A fence powers a machine off: who may change a Node, as its kubelet may, may not yet ask for that."""
    marks = listed((REQUESTED, APPROVED))
    old = "(oldObject == null ? {} : dyn(oldObject).metadata.?annotations.orValue({}))"
    new = "dyn(object).metadata.?annotations.orValue({})"
    may = f"authorizer.group('').resource('nodes').name(object.metadata.name).check('{FENCE_VERB}').allowed()"
    message = (
        f'\'User "\' + request.userInfo.username + \'" cannot {FENCE_VERB} resource "nodes": a role with the '
        f"verb {FENCE_VERB} on nodes is needed to set the annotations {REQUESTED} and {APPROVED}, as the "
        f"ClusterRole {NODE_FENCER} has it'"
    )
    return policy_of(
        FENCE_MARKS,
        {
            "matchConstraints": matched(rule_about(NODES, ["CREATE", "UPDATE"], "", "status")),
            "matchConditions": [
                {
                    "name": "a-mark-is-set",
                    "expression": f"{marks}.exists(k, k in {new} && {old}[?k] != optional.of({new}[k]))",
                }
            ],
            "validations": [
                {
                    "expression": may,
                    "message": f"a fence is requested and approved by who has the verb {FENCE_VERB} on nodes",
                    "messageExpression": message,
                    "reason": "Forbidden",
                }
            ],
        },
    )
