"""Requests of Vacate's own accounts: what a new one has, and in whose name it is.

In Kubernetes' own API a request for a pod needs no right to delete it: whoever may create EvictionRequests
there has any pod evicted. So the tokens that have that right, and the
identities of nodes, are held to requests in their own name, and nodes to pods of their own.
"""

from __future__ import annotations

from typing import Any

import pytest

from support.https import Obj, Reply
from support.realcluster.adversary import (
    APPLY,
    MERGE,
    OTHER_NODE,
    OWN_NODE,
    REVIEWS,
    ROWS,
    Account,
    Site,
    held_by,
    held_in_code,
    lifecycle_request,
    new_request,
    permitted,
    refused,
)
from vacate.api.installednames import MANAGER_REQUESTS, NODE_PODS, NODE_REQUESTS, OWN_PODS, WEBHOOK_REQUESTS
from vacate.api.installednames import OWN_NODE as OWN_NODE_POLICY
from vacate.api.kinds import LIFECYCLE_REQUESTS
from vacate.api.types.evacuation import INSTIGATOR
from vacate.api.types.evictionrequest import SKIP, SUPERSEDES
from vacate.eviction.callers import POD_LABEL
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evacuation.dialect import EVACUATION
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST, REASON
from vacate.eviction.dialects.registry import OWN_DIALECTS

pytestmark = ROWS
OF_NODE = f"shutdown.vacate.dev/{OWN_NODE}"
NAMES = {
    "manager": "nodemaintenance.vacate.dev/kernel",
    "webhook": "bridge.vacate.dev/jane",
    "agent": OF_NODE,
    "node": OF_NODE,
}
"""A name of each account."""
NODES = ["agent", "node"]
FOREIGN = "acme.io/drain"
HOLDING: dict[str, Obj] = {
    "a finalizer": {"finalizers": ["example.com/pin"]},
    "a label": {"labels": {"app": "other"}},
    "another owner": {
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "no-such-uid"}]
    },
}


def _account(site: Site, name: str) -> Account:
    found: Account = getattr(site, name)
    return found


def _create(site: Site, account: str, pod: Obj, requester: str, **metadata: Any) -> Reply:
    body = lifecycle_request(pod, requester, **metadata)
    return _account(site, account).create(LIFECYCLE_REQUESTS, body, query="?dryRun=All")


OWN_NAMES = {
    "manager": "kernel.nodemaintenance.vacate.dev",
    "webhook": "jane.bridge.vacate.dev",
    "agent": f"{OWN_NODE}.shutdown.vacate.dev",
    "node": f"{OWN_NODE}.shutdown.vacate.dev",
}
"""A name of each account in Vacate's own APIs."""
METADATA: dict[str, Obj] = {
    "another owner": HOLDING["another owner"],
    "an annotation of Vacate's": {"annotations": {"vacate.dev/mine": "yes"}},
    "an annotation without a prefix": {"annotations": {"mine": "yes"}},
}

CHANGES: dict[str, Obj] = {
    "a finalizer": HOLDING["a finalizer"],
    "an owner": HOLDING["another owner"],
    "who skips": {"annotations": {SKIP: "prepare.example.com"}},
}
"""What the manager changes of no request, by their metadata."""


def _own(site: Site, account: str, dialect: Dialect, **metadata: Any) -> Reply:
    body = new_request(site.own, dialect, OWN_NAMES[account])
    for key, value in metadata.items():
        body["metadata"][key] = (
            {**body["metadata"].get(key, {}), **value} if isinstance(value, dict) else value
        )
    return _account(site, account).create(dialect.kind, body, query="?dryRun=All")


class TestNewRequests:
    """In Vacate's own APIs."""

    @permitted
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", OWN_NAMES)
    def test_an_account_makes_them_with_a_reason_where_others_add_to_them(
        self, site: Site, account: str, dialect: Dialect
    ) -> None:
        annotations = {REASON: "why", "example.com/cost-center": "7"}
        _own(site, account, dialect, annotations=annotations, labels={"example.com/team": "a"}).ok()

    @held_in_code("row-account-labels")
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", OWN_NAMES)
    def test_labels_none_of_them(self, site: Site, account: str, dialect: Dialect) -> None:
        labels = {"app": "mine", "mine": "x", "vacate.dev/mine": "x"}
        made = _own(site, account, dialect, labels=labels).ok()["metadata"]
        assert made.get("labels", {}) == site.own["metadata"].get("labels", {})

    @held_by(MANAGER_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("name", ["mine.example.com", *list(OWN_NAMES.values())[1:]])
    def test_the_manager_takes_no_other_name(self, site: Site, name: str, dialect: Dialect) -> None:
        """But where it says that a request takes over from another, whose requesters it has."""
        body = new_request(site.own, dialect, name)
        refused(site.manager.create(dialect.kind, body, query="?dryRun=All"), MANAGER_REQUESTS)
        body["metadata"]["annotations"] = {SUPERSEDES: "another"}
        site.manager.create(dialect.kind, body, query="?dryRun=All").ok()
        body["metadata"]["finalizers"] = ["example.com/pin"]
        refused(site.manager.create(dialect.kind, body, query="?dryRun=All"))

    @held_by(MANAGER_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("how", [MERGE, APPLY])
    def test_the_manager_joins_in_no_other_name(self, site: Site, how: str, dialect: Dialect) -> None:
        request = site.own_requests[dialect.kind.kind]
        name, asked = request["metadata"]["name"], request["metadata"].get("finalizers", [])
        for requester in ("mine.example.com", OWN_NAMES["webhook"], OWN_NAMES["manager"]):
            new = new_request(site.own, dialect, requester)
            joined: Obj = {
                "spec": {
                    "requesters": [*request["spec"].get("requesters", []), *new["spec"].get("requesters", [])]
                }
            }
            if dialect is EVACUATION:
                joined = {"metadata": {"finalizers": [*asked, *new["metadata"]["finalizers"]]}}
            if how == APPLY and dialect is EVICTION_REQUEST:
                joined["spec"]["target"] = request["spec"]["target"]
            reply = site.manager.change(dialect.kind, name, joined, how=how, query="?dryRun=All")
            if requester == OWN_NAMES["manager"]:
                reply.ok()
            else:
                refused(reply, MANAGER_REQUESTS)

    @held_by(MANAGER_REQUESTS)
    def test_the_manager_has_the_eviction_bridge_find_no_other_request(self, site: Site) -> None:
        name = site.own_requests[EVICTION_REQUEST.kind.kind]["metadata"]["name"]
        change = {"metadata": {"labels": {POD_LABEL: "other"}}}
        refused(site.manager.change(EVICTION_REQUEST.kind, name, change), MANAGER_REQUESTS)

    @held_by("vacate-confine-manager-ev*")
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("how", [MERGE, APPLY])
    @pytest.mark.parametrize("what", CHANGES)
    def test_the_manager_changes_nothing_of_one_but_who_asks(
        self, site: Site, what: str, how: str, dialect: Dialect
    ) -> None:
        name = site.own_requests[dialect.kind.kind]["metadata"]["name"]
        refused(site.manager.change(dialect.kind, name, {"metadata": CHANGES[what]}, how=how))

    @held_by(WEBHOOK_REQUESTS, OWN_NODE_POLICY, NODE_REQUESTS, MANAGER_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", OWN_NAMES)
    @pytest.mark.parametrize("what", METADATA)
    def test_puts_nothing_into_them_by_which_others_act(
        self, site: Site, what: str, account: str, dialect: Dialect
    ) -> None:
        refused(_own(site, account, dialect, **METADATA[what]), "ValidatingAdmissionPolicy 'vacate-")

    @held_by(OWN_NODE_POLICY, NODE_REQUESTS, MANAGER_REQUESTS)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    @pytest.mark.parametrize("account", [*NODES, "manager"])
    def test_has_the_eviction_bridge_take_none_for_that_of_a_pod(
        self, site: Site, account: str, dialect: Dialect
    ) -> None:
        refused(
            _own(site, account, dialect, labels={POD_LABEL: "other"}), "ValidatingAdmissionPolicy 'vacate-"
        )

    @held_by(WEBHOOK_REQUESTS, OWN_NODE_POLICY, NODE_REQUESTS, MANAGER_REQUESTS)
    @pytest.mark.parametrize("account", OWN_NAMES)
    def test_holds_no_evacuation_but_as_a_requester(self, site: Site, account: str) -> None:
        finalizers = [f"{INSTIGATOR}{OWN_NAMES[account]}", "example.com/pin"]
        refused(_own(site, account, EVACUATION, finalizers=finalizers), "ValidatingAdmissionPolicy 'vacate-")


class TestLifecycleRequests:
    @permitted
    @pytest.mark.parametrize("account", NAMES)
    def test_an_account_requests_evictions_in_its_own_name(self, site: Site, account: str) -> None:
        _create(site, account, site.own, NAMES[account]).ok()

    @held_by("vacate-*-own-lifecycle-requests")
    @pytest.mark.parametrize("account", NAMES)
    def test_it_takes_no_other_name(self, site: Site, account: str) -> None:
        refused(_create(site, account, site.own, FOREIGN), "ValidatingAdmissionPolicy 'vacate-")
        name, withdrawn = site.lifecycle_request(FOREIGN), {"spec": {"intent": "Withdrawn"}}
        refused(_account(site, account).change(LIFECYCLE_REQUESTS, name, withdrawn))
        refused(_account(site, account).delete(LIFECYCLE_REQUESTS, name))

    @held_by("vacate-*-own-lifecycle-requests")
    @pytest.mark.parametrize("account", NAMES)
    @pytest.mark.parametrize("what", HOLDING)
    def test_it_holds_no_new_request(self, site: Site, what: str, account: str) -> None:
        refused(_create(site, account, site.own, NAMES[account], **HOLDING[what]))

    @held_by("vacate-confine-*-lifecycle-evictionrequests")
    @pytest.mark.parametrize("account", NAMES)
    @pytest.mark.parametrize("how", [MERGE, APPLY])
    def test_it_changes_nothing_of_its_request_but_its_intent(
        self, site: Site, how: str, account: str
    ) -> None:
        name, who = site.lifecycle_request(NAMES[account]), _account(site, account)
        refused(who.change(LIFECYCLE_REQUESTS, name, {"metadata": HOLDING["a finalizer"]}, how=how))
        withdrawn = {"spec": {"intent": "Withdrawn"}}
        who.change(LIFECYCLE_REQUESTS, name, withdrawn, query="?dryRun=All").ok()

    @held_by(OWN_PODS, NODE_PODS, alone=True)
    @pytest.mark.parametrize("account", NODES)
    def test_a_node_has_no_pod_of_another_evicted(self, site: Site, account: str) -> None:
        refused(_create(site, account, site.shared, OF_NODE), OTHER_NODE)

    @held_by(REVIEWS)
    @pytest.mark.parametrize("account", NODES)
    def test_a_node_requests_nothing_for_a_pod_that_is_not_there(self, site: Site, account: str) -> None:
        """It may be there already, and be none that the API server's cache has: only the webhook knows."""
        meta = {**site.own["metadata"], "uid": "7f3d9c52-8f6e-4b0f-9d35-0c1f0f6f2a11"}
        refused(_create(site, account, {"metadata": meta}, OF_NODE), "of its own pods only")
