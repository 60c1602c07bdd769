"""Admission policies: what the API server itself holds about requests beyond their schema, webhook or not."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.objectnames import RIGHT_TO_DELETE, STATUS_AUTHORITY, STEPS
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import ADMITTED_STAMP, ALLOW, FORBID
from vacate.install import policy_authority
from vacate.install.manifests import forcedeletion
from vacate.install.settings import Settings

_API = "admissionregistration.k8s.io/v1"
_POLICY = "status.?evictionRequestCancellationPolicy"


def policies(settings: Settings | None = None) -> list[Obj]:
    """Each policy with its binding."""
    chosen = settings or Settings()
    guards = [
        {**_head(one["metadata"]["name"]), "spec": one["spec"]}
        for one in forcedeletion.guard(unlabelled=chosen.guard_unlabelled)
    ]
    made = [_right_to_delete(), _steps(), _authority(chosen), *guards]
    return [obj for policy in made for obj in _bound(policy)]


def _right_to_delete() -> Obj:
    """Whoever touches a request must be allowed to delete its pod."""
    may = (
        "authorizer.group('').resource('pods').namespace(request.namespace)"
        ".name(variables.pod).check('delete').allowed()"
    )
    told = (
        '\'User "\' + request.userInfo.username + \'" cannot delete resource "pods" in API group ""'
        " in the namespace \"' + request.namespace + '\"'"
    )
    return {
        **_head(RIGHT_TO_DELETE),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about([KIND.plural], ["CREATE", "UPDATE", "DELETE"]),
            "variables": [
                # An update is judged by the pod that was asked for; the target never changes anyway.
                {
                    "name": "request",
                    "expression": "request.operation == 'CREATE' ? object : oldObject",
                },
                {"name": "pod", "expression": "variables.request.spec.target.podRef.name"},
            ],
            "validations": [
                {
                    "expression": may,
                    "message": "a requester of a pod's eviction must be allowed to delete the pod",
                    "messageExpression": told,
                    "reason": "Forbidden",
                }
            ],
        },
    }


def _steps() -> Obj:
    """What a definition cannot hold, because it does not see annotations and times of deletion."""
    stamp = f"metadata.?annotations[?'{ADMITTED_STAMP}'].orValue('')"
    forbids = f"object.?{_POLICY}.orValue('{ALLOW}') == '{FORBID}'"
    forbade = f"oldObject.?{_POLICY}.orValue('{ALLOW}') == '{FORBID}'"
    deleted = "has(oldObject.metadata.deletionTimestamp)"
    return {
        **_head(STEPS),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about([KIND.plural, f"{KIND.plural}/status"], ["UPDATE"]),
            "validations": [
                {
                    "expression": f"object.{stamp} == oldObject.{stamp}",
                    "message": f"metadata.annotations[{ADMITTED_STAMP}]: field is immutable",
                    "reason": "Invalid",
                },
                {
                    "expression": f"!({deleted} && {forbids} && !({forbade}))",
                    "message": "status.evictionRequestCancellationPolicy: may not become Forbid while the "
                    "request is being deleted",
                    "reason": "Forbidden",
                },
            ],
        },
    }


def _authority(settings: Settings) -> Obj:
    """The controller's fields are the controller's, and reports those of bound accounts."""
    accounts = settings.interceptor_accounts
    return {
        **_head(STATUS_AUTHORITY),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": _about([f"{KIND.plural}/status"], ["UPDATE"]),
            "matchConditions": policy_authority.others_only(settings.controllers),
            "variables": policy_authority.variables(accounts),
            "validations": policy_authority.validations(accounts),
        },
    }


def _head(name: str) -> Obj:
    return {"apiVersion": _API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}}


def _about(resources: Sequence[str], operations: Sequence[str]) -> Obj:
    rule = {
        "apiGroups": [KIND.group],
        "apiVersions": [KIND.version],
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
