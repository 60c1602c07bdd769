"""Kubernetes' own API for evictions, in which a request for a pod needs no right to delete it.

Whoever may create EvictionRequests there has any pod evicted. So the tokens that have that right, and the
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
    lifecycle_request,
    permitted,
    refused,
)
from vacate.api.installednames import NODE_PODS, OWN_PODS
from vacate.api.kinds import LIFECYCLE_REQUESTS

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
