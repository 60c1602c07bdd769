"""The policy that holds the controller's part of the status while the webhook is away."""

from __future__ import annotations

import pytest

from vacate.api.installednames import EVACUATION_STATUS_AUTHORITY, STATUS_AUTHORITY
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import OWN_CONDITIONS
from vacate.crds.evictionrequest.authority import CONTROLLER_FIELDS, REPORTED_FIELDS
from vacate.eviction.dialects.evacuation.translation import evacuation_path
from vacate.install.manifests.policies import policies
from vacate.install.policy_authority import bound_accounts
from vacate.install.settings import Settings

pytestmark = pytest.mark.unit


def spec(settings: Settings | None = None, name: str = STATUS_AUTHORITY) -> Obj:
    (policy,) = [
        one["spec"]
        for one in policies(settings)
        if one["kind"] == "ValidatingAdmissionPolicy" and one["metadata"]["name"] == name
    ]
    return dict(policy)


def test_it_speaks_of_every_field_and_condition_that_admission_speaks_of() -> None:
    messages = [one["message"] for one in spec()["validations"]]
    for field in CONTROLLER_FIELDS:
        assert any(one.startswith(f"status.{field}: ") for one in messages)
    assert any(all(sort in one for sort in OWN_CONDITIONS) for one in messages)
    assert spec()["matchConstraints"]["resourceRules"][0]["resources"] == ["evictionrequests/status"]
    assert spec()["failurePolicy"] == "Fail"


def test_the_settings_name_the_controller() -> None:
    (only,) = spec(Settings(namespace="here", manager_users=("ann",)))["matchConditions"]
    assert only["expression"] == (
        "!(request.userInfo.username in ['system:serviceaccount:here:vacate-manager', 'ann'])"
    )


def test_accounts_are_in_it_where_interceptors_are_bound() -> None:
    bound = spec(Settings(interceptor_accounts={"a.example.com": ("system:serviceaccount:shop:a",)}))
    accounts = {one["name"]: one["expression"] for one in bound["variables"]}["accounts"]
    assert accounts == "{'a.example.com': ['system:serviceaccount:shop:a']}"
    reports = bound["validations"][-2]["expression"]
    assert all(f"object.?status.?{field} == " in reports for field in REPORTED_FIELDS)
    assert len(spec()["validations"]) == len(bound["validations"]) - 2


def test_what_is_bound_can_be_read_from_it_again() -> None:
    accounts = {"a.example.com": ("system:serviceaccount:shop:a", "it's"), "b.example.com": ("b\\c",)}
    found = bound_accounts({"spec": spec(Settings(interceptor_accounts=accounts))})
    assert found is not None
    assert {name: tuple(users) for name, users in found.items()} == accounts
    assert bound_accounts({"spec": spec()}) == {}


@pytest.mark.parametrize("expression", ["", "{", "variables.x", "[1]", 7])
def test_a_policy_of_others_binds_nobody_that_can_be_read(expression: object) -> None:
    assert bound_accounts({"spec": {"variables": [{"name": "accounts", "expression": expression}]}}) is None
    assert bound_accounts({}) is None


def test_that_of_evacuations_speaks_of_the_same_in_its_own_names() -> None:
    accounts = {"a.example.com": ("system:serviceaccount:shop:a",)}
    bound = spec(Settings(interceptor_accounts=accounts), EVACUATION_STATUS_AUTHORITY)
    messages = [one["message"] for one in bound["validations"]]
    for field in CONTROLLER_FIELDS:
        assert any(one.startswith(f"{evacuation_path(f'status.{field}')}: ") for one in messages)
    reports = bound["validations"][-2]["expression"]
    for field in REPORTED_FIELDS:
        name = evacuation_path(f"status.{field}").removeprefix("status.")
        assert f"object.?status.?{name} == " in reports
    assert bound["matchConstraints"]["resourceRules"][0]["resources"] == ["evacuations/status"]
    assert not [one for one in messages if "nterceptor " in one or "request" in one]
