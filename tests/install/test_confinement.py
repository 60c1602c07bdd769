"""The policies about Vacate's own accounts: each right to change objects has one, and the page lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from vacate.api.objectnames import (
    CERTIFICATE_SECRET,
    CERTIFICATES,
    FENCE_MARKS,
    HOOKS,
    MANAGER,
    OWN_NODE,
    OWN_PODS,
    SHUTDOWN_AGENT,
    WEBHOOK,
    WEBHOOK_REQUESTS,
)
from vacate.api.objects import Obj
from vacate.install import Settings, objects
from vacate.install.manifests.confinement import WRITES
from vacate.install.settings import Confinement, ShutdownAgent

pytestmark = pytest.mark.unit

PAGE = Path(__file__).parents[2] / "docs/reference/confinement.md"
EVERYTHING = {
    "eviction_bridge": True,
    "termination_reasons": True,
    "prestop_wrapper": True,
    "shutdown_agent": ShutdownAgent(),
}
OTHERWISE_HELD = {
    "events": "what happened, of any object",
    "leases": "its own by name",
    "evictionrequests": "the manager is the one that works on requests; its webhook and policies judge each",
    "evictionrequests/status": "the same",
    "evacuations": "the same",
    "evacuations/status": "the same",
    "nodemaintenances/status": "written by the manager alone",
    "deschedulingpolicies/status": "written by the manager alone",
    "fencingpolicies/status": "written by the manager alone",
    "evictions": "only the manager takes part in their labels and owners; the target is immutable",
    "evictions/status": "the API server itself checks each step",
}
"""What accounts may change without a policy of the set, and why."""


_COMMANDS = "tests/e2e/eviction/real/test_rights.py::test_every_command_runs_with_the_role_for_its_users"
_AT_WORK = {
    MANAGER: _COMMANDS,
    WEBHOOK: _COMMANDS,
    CERTIFICATES: _COMMANDS,
    SHUTDOWN_AGENT: "tests/realcluster/adversary/test_node.py"
    "::test_shuts_its_node_down_and_writes_nothing_that_a_policy_refuses",
    HOOKS: "tests/realcluster/adversary/test_services.py::test_is_no_success_and_shows_nothing_but_a_line",
}
"""Where the program of each account works on a real API server, with its own token, under the policies."""


def test_the_program_of_every_account_works_under_the_policies() -> None:
    found = made(hooks="targets: []")
    assert {name for kind, name in found if kind == "ServiceAccount"} == _AT_WORK.keys()
    for test in _AT_WORK.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (PAGE.parents[2] / file).read_text()


def made(**chosen: object) -> dict[tuple[str, str], Obj]:
    found = objects(Settings(**{**EVERYTHING, **chosen}))  # type: ignore[arg-type]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


@pytest.mark.parametrize("account", [MANAGER, WEBHOOK, SHUTDOWN_AGENT])
def test_every_right_to_change_objects_is_confined(account: str) -> None:
    rules = made()["ClusterRole", account]["rules"]
    changed = {
        resource
        for rule in rules
        for resource in rule["resources"]
        if {"patch", "update", "*"} & set(rule["verbs"])
    }
    assert changed - {one.resource for one in WRITES if one.account == account} <= OTHERWISE_HELD.keys()


def test_the_page_lists_every_write() -> None:
    page = PAGE.read_text()
    for one in WRITES:
        assert f"| `{one.account}` | `{one.resource}` | {one.described} | `{one.name}` |" in page
    assert page.count("| `vacate-confine-") == len(WRITES)


@pytest.mark.parametrize("choice", Confinement)
def test_where_fields_are_not_enforced_identities_still_are(choice: Confinement) -> None:
    found = made(confine=choice)
    actions = {
        name: one["spec"]["validationActions"]
        for (kind, name), one in found.items()
        if kind == "ValidatingAdmissionPolicyBinding"
    }
    wanted = {Confinement.ENFORCE: ["Deny"], Confinement.AUDIT: ["Warn", "Audit"], Confinement.OFF: None}
    assert {one.name: actions.pop(one.name, None) for one in WRITES} == {
        one.name: ["Deny"] if one.enforced else wanted[choice] for one in WRITES
    }
    assert {OWN_NODE, OWN_PODS, WEBHOOK_REQUESTS, CERTIFICATE_SECRET, FENCE_MARKS} <= actions.keys()
    assert set(map(tuple, actions.values())) == {("Deny",)}
