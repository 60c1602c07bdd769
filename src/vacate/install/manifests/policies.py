"""Admission policies: what the API server itself holds about requests beyond their schema, webhook or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.objectnames import (
    EVACUATION_RIGHT_TO_DELETE,
    EVACUATION_STATUS_AUTHORITY,
    EVACUATION_STEPS,
    FINALIZERS,
    RIGHT_TO_DELETE,
    STATUS_AUTHORITY,
    STEPS,
)
from vacate.api.objects import Obj
from vacate.api.types.evacuation import INSTIGATOR
from vacate.api.types.evictionrequest import ADMITTED_STAMP, ALLOW, FORBID
from vacate.crds.celfields import EVACUATION_FIELDS, EVICTION_REQUEST_FIELDS, CelFields
from vacate.install import policy_authority
from vacate.install.manifests import forcedeletion
from vacate.install.settings import Settings

_API = "admissionregistration.k8s.io/v1"
_INSTIGATORS = f"metadata.?finalizers.orValue([]).filter(f, f.startsWith('{INSTIGATOR}'))"
_COMPLETE = "oldObject.?status.?conditions.orValue([]).exists(c, c.type == 'Complete' && c.status == 'True')"


@dataclass(frozen=True, slots=True)
class _Api:
    """One API for evictions, and what its policies are called."""

    kind: Kind
    fields: CelFields
    pod: str  # where its objects name the pod
    asks: str  # who asks for the eviction, and what for
    right_to_delete: str
    steps: str
    authority: str


_APIS = (
    _Api(
        EVICTIONREQUESTS,
        EVICTION_REQUEST_FIELDS,
        "spec.target.podRef.name",
        "a requester of a pod's eviction",
        RIGHT_TO_DELETE,
        STEPS,
        STATUS_AUTHORITY,
    ),
    _Api(
        EVACUATIONS,
        EVACUATION_FIELDS,
        "spec.podRef.name",
        "an instigator of a pod's evacuation",
        EVACUATION_RIGHT_TO_DELETE,
        EVACUATION_STEPS,
        EVACUATION_STATUS_AUTHORITY,
    ),
)


def policies(settings: Settings | None = None) -> list[Obj]:
    """Each policy with its binding."""
    chosen = settings or Settings()
    guards = [
        {**_head(one["metadata"]["name"]), "spec": one["spec"]}
        for one in forcedeletion.guard(unlabelled=chosen.guard_unlabelled)
    ]
    of_apis = [one for api in _APIS for one in (_right_to_delete(api), _steps(api), _authority(api, chosen))]
    return [obj for policy in [*of_apis, _finalizers(), *guards] for obj in _bound(policy)]


def former_policies() -> list[Obj]:
    """What earlier versions had: the webhook's annotations of pods were a policy of their own."""
    return [
        {"apiVersion": _API, "kind": kind, "metadata": {"name": "vacate-webhook-annotations"}}
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    ]


def _right_to_delete(api: _Api) -> Obj:
    """The user of every write of a request must be allowed to delete its pod."""
    may = (
        "authorizer.group('').resource('pods').namespace(request.namespace)"
        ".name(variables.pod).check('delete').allowed()"
    )
    message_expression = (
        '\'User "\' + request.userInfo.username + \'" cannot delete resource "pods" in API group ""'
        " in the namespace \"' + request.namespace + '\"'"
    )
    return {
        **_head(api.right_to_delete),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about(api.kind, [api.kind.plural], ["CREATE", "UPDATE", "DELETE"]),
            "variables": [
                # An update is checked against the pod that was asked for; the target never changes anyway.
                {
                    "name": "request",
                    "expression": "request.operation == 'CREATE' ? object : oldObject",
                },
                {"name": "pod", "expression": f"variables.request.{api.pod}"},
            ],
            "validations": [
                {
                    "expression": may,
                    "message": f"{api.asks} must be allowed to delete the pod",
                    "messageExpression": message_expression,
                    "reason": "Forbidden",
                }
            ],
        },
    }


def _steps(api: _Api) -> Obj:
    """What a definition cannot hold, as it sees no annotations, finalizers and times of deletion."""
    policy, kind = api.fields.policy, api.kind
    stamp = f"metadata.?annotations[?'{ADMITTED_STAMP}'].orValue('')"
    forbids, forbade = (
        f"{owner}.?status.?{policy}.orValue('{ALLOW}') == '{FORBID}'" for owner in ("object", "oldObject")
    )
    deleted = "has(oldObject.metadata.deletionTimestamp)"
    return {
        **_head(api.steps),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about(kind, [kind.plural, f"{kind.plural}/status"], ["UPDATE"]),
            "validations": [
                {
                    "expression": f"object.{stamp} == oldObject.{stamp}",
                    "message": f"metadata.annotations[{ADMITTED_STAMP}]: field is immutable",
                    "reason": "Invalid",
                },
                {
                    "expression": f"!({deleted} && {forbids} && !({forbade}))",
                    "message": f"status.{policy}: may not become Forbid while the "
                    f"{api.fields.request} is being deleted",
                    "reason": "Forbidden",
                },
                *(_of_instigators(forbids, forbade) if kind == EVACUATIONS else ()),
            ],
        },
    }


def _of_instigators(forbids: str, forbade: str) -> list[Obj]:
    """Instigators are finalizers: what the definition of EvictionRequests holds about requesters."""
    joined = f"object.{_INSTIGATORS}.exists(f, !(f in oldObject.?metadata.?finalizers.orValue([])))"
    return [
        {
            "expression": f"!({_COMPLETE}) || !({joined})",
            "message": "metadata.finalizers: no instigator may be added once the evacuation is complete",
            "reason": "Forbidden",
        },
        {
            "expression": f"!({forbids}) || {forbade} || size(oldObject.{_INSTIGATORS}) > 0",
            "message": f"status.{EVACUATION_FIELDS.policy}: may not become Forbid without instigators",
            "reason": "Forbidden",
        },
    ]


def _finalizers() -> Obj:
    """What can keep an EvictionRequest needs the right that Kubernetes has for it.

    Its name is the UID of its pod: while one is kept there, no other can be made. So who adds a finalizer
    needs the right to update `evictionrequests/finalizers`, and so does who deletes a request in a way by
    which objects that it owns keep it. The finalizers that the API server adds for a deletion do not come by
    here. Finalizers of Evacuations are part of that API.
    """
    kind = EVICTIONREQUESTS
    may = (
        f"authorizer.group('{kind.group}').resource('{kind.plural}').subresource('finalizers')"
        ".namespace(request.namespace).name(variables.name).check('update').allowed()"
    )
    options = "dyn(request.?options.orValue({}))"
    kept = (
        f"{options}.?propagationPolicy.orValue('Background') != 'Background'"
        f" || {options}.?orphanDependents.hasValue()"
    )
    right = f"needs the right to update {kind.plural}/finalizers"
    return {
        **_head(FINALIZERS),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about(kind, [kind.plural], ["CREATE", "DELETE", "UPDATE"]),
            "variables": [
                {
                    "name": "name",
                    "expression": "(oldObject == null ? object : oldObject).metadata.?name.orValue('')",
                },
                {
                    "name": "old",
                    "expression": "oldObject == null ? [] : oldObject.metadata.?finalizers.orValue([])",
                },
                {
                    "name": "new",
                    "expression": "object == null ? [] : object.metadata.?finalizers.orValue([])",
                },
            ],
            "validations": [
                {
                    "expression": f"variables.new.all(f, f in variables.old) || {may}",
                    "message": f"metadata.finalizers: adding one {right}",
                    "reason": "Forbidden",
                },
                {
                    "expression": f"request.operation != 'DELETE' || !({kept}) || {may}",
                    "message": f"a deletion with another propagationPolicy than Background {right}",
                    "reason": "Forbidden",
                },
            ],
        },
    }


def _authority(api: _Api, settings: Settings) -> Obj:
    """The controller's fields are the controller's, and reports those of bound accounts."""
    accounts = settings.interceptor_accounts
    return {
        **_head(api.authority),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about(api.kind, [f"{api.kind.plural}/status"], ["UPDATE"]),
            "matchConditions": policy_authority.others_only(settings.controllers),
            "variables": policy_authority.variables(accounts, api.fields),
            "validations": policy_authority.validations(accounts, api.fields),
        },
    }


def _head(name: str) -> Obj:
    return {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}}


def _about(kind: Kind, resources: Sequence[str], operations: Sequence[str]) -> Obj:
    rule = {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": list(operations),
        "resources": list(resources),
    }
    return {"resourceRules": [rule]}


def _bound(policy: Obj) -> list[Obj]:
    name = policy["metadata"]["name"]
    binding = {
        "apiVersion": _API,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [policy, binding]
