"""The policies about Vacate's own accounts: each right to change objects has one, and the page lists them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.realcluster.audit import confined
from vacate.api.identity import service_account_user
from vacate.api.installednames import (
    CERTIFICATE_SECRET,
    CERTIFICATES,
    FENCE_MARKS,
    HOOKS,
    MANAGER,
    MANAGER_LEASE,
    MANAGER_REQUESTS,
    NODE_PODS,
    NODE_REQUESTS,
    NODE_USERS,
    OWN_EVENTS,
    OWN_LIFECYCLE,
    OWN_NODE,
    OWN_PODS,
    SHUTDOWN_AGENT,
    SHUTDOWN_REQUESTER,
    STEPS,
    WEBHOOK,
    WEBHOOK_REQUESTS,
)
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.install import Settings, objects
from vacate.install.manifests.confinement import WRITES
from vacate.install.manifests.creations import CREATIONS
from vacate.install.manifests.policyobjects import BY_NODES, by_user
from vacate.install.settings import Confinement, ShutdownAgent

pytestmark = pytest.mark.unit

PAGE = Path(__file__).parents[2] / "docs/reference/confinement.md"
EVERYTHING = {
    "eviction_bridge": True,
    "termination_reasons": True,
    "prestop_wrapper": True,
    "shutdown_agent": ShutdownAgent(),
    "fencing_jobs": True,
    "hooks": "targets: []",
}
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
    found = made()
    assert {name for kind, name in found if kind == "ServiceAccount"} == _AT_WORK.keys()
    for test in _AT_WORK.values():
        file, _, name = test.partition("::")
        assert f"def {name}(" in (PAGE.parents[2] / file).read_text()


def test_a_refusal_of_what_a_program_writes_is_noticed_whichever_policy_refuses(tmp_path: Path) -> None:
    """By the check at the end of each test that has an installation on a real API server."""
    ours = {"username": service_account_user("vacate-system", WEBHOOK)}
    events: list[Obj] = [
        {"user": ours, "by": WEBHOOK_REQUESTS},
        {"user": ours, "by": STEPS},  # where another writer was faster
        {"user": ours, "by": FENCE_MARKS, "userAgent": "a-test/1"},
        {"user": ours, "by": FENCE_MARKS, "impersonatedUser": {"username": "jane"}},
        {"user": {"username": "jane"}, "by": FENCE_MARKS},
    ]
    log = tmp_path / "audit.log"
    with log.open("w") as file:
        for event in events:
            message = f"pods is forbidden: ValidatingAdmissionPolicy '{event.pop('by')}' with binding '…'"
            found = {"userAgent": "vacate/webhook", "responseStatus": {"message": message}, **event}
            file.write(json.dumps(found) + "\n")
    (noticed,) = confined(log)
    assert WEBHOOK_REQUESTS in noticed


def made(**chosen: object) -> dict[tuple[str, str], Obj]:
    found = objects(Settings(**{**EVERYTHING, **chosen}))  # type: ignore[arg-type]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


ROLES = {one: one for one in (MANAGER, WEBHOOK, CERTIFICATES, SHUTDOWN_AGENT, HOOKS)}
ROLES[NODE_USERS] = SHUTDOWN_REQUESTER
"""The roles of all accounts that an installation gives rights to write, of identities of nodes too."""

_WRITES = {"create", "patch", "update", "delete", "deletecollection"}
_OPERATIONS = {"create": "CREATE", "patch": "UPDATE", "update": "UPDATE"}  # all others delete


def _rights(account: str) -> set[tuple[str, str]]:
    """To write objects: resource with its group, and verb."""
    found = made()
    roles = [role for kind in ("ClusterRole", "Role") if (role := found.get((kind, ROLES[account])))]
    return {
        (_with_group(resource, group), verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in (_WRITES if "*" in rule["verbs"] else _WRITES & set(rule["verbs"]))
    }


def _with_group(resource: str, group: str) -> str:
    plural, slash, subresource = resource.partition("/")
    return ".".join(filter(None, (plural, group))) + slash + subresource


def _confined(account: str) -> set[tuple[str, str]]:
    """What of this some policy is asked about that knows the account, by resource and operation."""
    return {
        (_with_group(resource, group), operation)
        for policy in _policies_about(account)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for operation in rule["operations"]
    }


def _policies_about(account: str) -> list[Obj]:
    home = {SHUTDOWN_AGENT: ShutdownAgent().namespace}.get(account, "vacate-system")
    by = BY_NODES if account == NODE_USERS else by_user(service_account_user(home, account))
    return [
        policy
        for (kind, _), policy in made().items()
        if kind == "ValidatingAdmissionPolicy" and by in policy["spec"].get("matchConditions", ())
    ]


def _documented(account: str) -> set[tuple[str, str]]:
    """What the page says that no policy about the account restricts."""
    section = PAGE.read_text().partition("## What is not confined")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in section.splitlines() if "| `" in line]
    return {
        (resource, verb)
        for accounts, resources, verbs in rows
        if f"`{account}`" in accounts
        for resource in re.findall("`([^`]+)`", resources)
        for verb in verbs.split(", ")
    }


def test_all_accounts_with_rights_are_looked_at() -> None:
    found = {name for kind, name in made() if kind == "ServiceAccount"}
    assert found == ROLES.keys() - {NODE_USERS}


@pytest.mark.parametrize("account", ROLES)
def test_every_right_to_write_objects_has_a_policy_or_is_documented(account: str) -> None:
    confined = _confined(account)
    free = {
        (resource, verb)
        for resource, verb in _rights(account)
        if (resource, _OPERATIONS.get(verb, "DELETE")) not in confined
    }
    assert free == _documented(account)


def test_the_page_lists_every_write() -> None:
    page = PAGE.read_text()
    for one in WRITES:
        assert f"| `{one.account}` | `{one.shown}` | {one.described} | `{one.name}` |" in page
    assert page.count("| `vacate-confine-") == len(WRITES)


def test_the_page_lists_every_creation() -> None:
    """Those that a role permits and a policy restricts, with all that the policy names."""
    section = PAGE.read_text().partition("## What each account creates")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    assert rows == [one.row for one in CREATIONS]
    listed = [
        (account, _with_group(kind.plural, kind.group))
        for one in CREATIONS
        for account in one.accounts
        for kind in one.kinds
    ]
    held = {
        (account, resource)
        for account in ROLES
        for resource, verb in _rights(account)
        if verb == "create" and (resource, "CREATE") in _confined(account)
    }
    assert sorted(listed) == sorted(held)
    below = section.partition(rows[-1])[2]  # what admission adds
    for one in CREATIONS:
        named = [_named_on_creation(account, kind) for account in one.accounts for kind in one.kinds]
        assert all(named), one.row
        assert [name for names in named for name in names if name not in one.row + below] == []


def _named_on_creation(account: str, kind: Kind) -> set[str]:
    """What the policies about the account name, and do not refuse, where it creates such an object."""
    asked = [
        policy["spec"]
        for policy in _policies_about(account)
        for rule in policy["spec"]["matchConstraints"]["resourceRules"]
        if kind.plural in rule["resources"] and kind.group in rule["apiGroups"]
        if "CREATE" in rule["operations"]
    ]
    text = "\n".join(one["expression"] for spec in asked for one in spec["validations"])
    lists = ",".join(re.findall(r" in \[([^\]]*)\]", text))
    of_ours = re.findall(r"'[.]?([a-z0-9./-]*vacate[a-z0-9./-]+)'", text)
    named = {*re.findall("'([a-z][a-z0-9./-]+)'", lists), *of_ours} - {*re.findall(r"!\('([^']+)' in", text)}
    return {one.strip("/") for one in named}


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
    always = {OWN_NODE, OWN_PODS, NODE_PODS, NODE_REQUESTS, WEBHOOK_REQUESTS, CERTIFICATE_SECRET}
    always |= {MANAGER_LEASE, MANAGER_REQUESTS, FENCE_MARKS}
    assert {*always, *OWN_EVENTS.values(), *OWN_LIFECYCLE.values()} <= actions.keys()
    assert set(map(tuple, actions.values())) == {("Deny",)}
