"""What API servers hold by themselves, read off the objects: that it works, a real server shows."""

from __future__ import annotations

import pytest

from support.realcluster.crd_steps import CREATIONS, SPECS, STATUSES
from vacate.api.installednames import EVACUATION_RIGHT_TO_DELETE, RIGHT_TO_DELETE
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.objects import Obj
from vacate.crds.definition import definition
from vacate.install.manifests.policies import policies

pytestmark = pytest.mark.unit

KINDS = {
    "FieldValueInvalid": "Invalid value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
}
NO_STEP = {
    # The schema knows one type only, so that no step can choose another.
    "spec.type: Invalid value: field is immutable",
}


def version() -> Obj:
    (found,) = definition()["spec"]["versions"]
    assert isinstance(found, dict)
    return found


def schema() -> Obj:
    found = version()["schema"]["openAPIV3Schema"]
    assert isinstance(found, dict)
    return found


def rule_errors(part: Obj, path: str = "") -> set[str]:
    """What each rule says and where, those about the items of lists aside."""
    found = {
        f"{(path + rule.get('fieldPath', '')).removeprefix('.')}: {KINDS[rule['reason']]}: {rule['message']}"
        for rule in part.get("x-kubernetes-validations", ())
    }
    for name, inner in part.get("properties", {}).items():
        found |= rule_errors(inner, f"{path}.{name}")
    return found


def expected() -> set[str]:
    """The errors that are shown on a real server and come from no rule about items of lists."""
    field_errors = {
        field_error for case in (*CREATIONS, *SPECS, *STATUSES) for field_error in case.field_errors
    }
    return {one for one in field_errors if "[" not in one.partition(": ")[0]}


def test_every_rule_is_tried_on_a_real_server_and_every_refusal_there_has_its_rule() -> None:
    """What the clock decides is not among them: rules have none."""
    rules = rule_errors(schema())
    tried = {one.replace('"b.example.com"', "the active interceptor") for one in expected()}
    assert rules - NO_STEP == tried
    assert not [rule for rule in rules if "future" in rule]


def test_the_status_has_its_defaults_from_the_schema() -> None:
    """A mutating webhook cannot write the status of a new object."""
    status = schema()["properties"]["status"]
    assert status["default"] == {}
    defaults = {name: one["default"] for name, one in status["properties"].items() if "default" in one}
    assert defaults == {"message": "", "evictionRequestCancellationPolicy": "Allow"}


def test_a_time_to_come_is_shown_as_text() -> None:
    columns = {one["name"]: one["type"] for one in version()["additionalPrinterColumns"]}
    assert columns["Expected Finish"] == "string"
    assert columns["Age"] == "date"


@pytest.mark.parametrize(
    ("name", "kind"), [(RIGHT_TO_DELETE, EVICTIONREQUESTS), (EVACUATION_RIGHT_TO_DELETE, EVACUATIONS)]
)
def test_the_right_to_delete_the_pod_is_asked_for_without_the_webhook(name: str, kind: Kind) -> None:
    (policy,) = [one for one in policies() if one["metadata"]["name"] == name and
                 one["kind"] == "ValidatingAdmissionPolicy"]  # fmt: skip
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert (rule["apiGroups"], rule["resources"]) == ([kind.group], [kind.plural])
    assert rule["operations"] == ["CREATE", "UPDATE", "DELETE"]
    assert policy["spec"]["failurePolicy"] == "Fail"
    (validation,) = policy["spec"]["validations"]
    assert validation["expression"].endswith(".name(variables.pod).check('delete').allowed()")
    (binding,) = [one for one in policies() if one["metadata"] == policy["metadata"] and one is not policy
                  and one["kind"] == "ValidatingAdmissionPolicyBinding"]  # fmt: skip
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
