"""Events by stolen tokens: what people read of others is theirs, and stays as it was written."""

from __future__ import annotations

from typing import Any

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    APPLY,
    JSON_PATCH,
    MERGE,
    OTHER_NODE,
    OWN_NODE,
    ROLES,
    ROWS,
    STRATEGIC,
    Account,
    Site,
    held_by,
    permitted,
    refused,
)
from support.waiting import until
from vacate.api.installednames import HOOKS, MANAGER, OWN_EVENTS, SHUTDOWN_AGENT, WEBHOOK
from vacate.api.kinds import EVENTS
from vacate.install.manifests.ownevents import COMPONENTS

pytestmark = ROWS
ACCOUNTS = {"manager": MANAGER, "webhook": WEBHOOK, "agent": SHUTDOWN_AGENT, "hooks": HOOKS}
COUNTING = [one for one in ACCOUNTS if one != "webhook"]
"""The accounts that may patch Events."""
WHERE, OTHER_API = "default", "/apis/events.k8s.io/v1/namespaces/default/events"
ANOTHER: Obj = {"component": "kubelet"}
POLICY = "ValidatingAdmissionPolicy 'vacate-"


def _event(site: Site, account: str, **changes: Any) -> Obj:
    """One that the account may write."""
    name = COMPONENTS[ACCOUNTS[account]][0]
    node = {"apiVersion": "v1", "kind": "Node", "name": OWN_NODE, "uid": OWN_NODE}
    text = {"reason": "Shutdown", "message": "as it was", "type": "Normal", "count": 1}
    body = {"metadata": {"generateName": f"{OWN_NODE}."}, "involvedObject": node, **text}
    return {**body, "source": {"component": name}, **changes}


def _given(site: Site, account: str, name: str, **changes: Any) -> str:
    return site.given(EVENTS, _event(site, account, metadata={"name": name}, **changes), WHERE)


def _who(site: Site, account: str) -> Account:
    found: Account = getattr(site, account)
    return found


FORGED: dict[str, Obj] = {
    "its source": {"source": ANOTHER},
    "no source": {"source": {}},
    "its reporter": {"reportingComponent": "kubelet", "reportingInstance": "x"},
    "a name of its own": {"source": ANOTHER, "metadata": {"name": "mine"}},
    "a finalizer": {"metadata": {"name": "mine", "finalizers": ["example.com/pin"]}},
    "a label": {"metadata": {"name": "mine", "labels": {"app": "other"}}},
    "an annotation": {"metadata": {"name": "mine", "annotations": {"vacate.dev/mine": "x"}}},
}
OF_OTHER_NODES: dict[str, Obj] = {
    "another node": {"kind": "Node", "name": OTHER_NODE, "uid": OTHER_NODE},
    "a pod": {"kind": "Pod", "name": "dns", "namespace": WHERE},
    "a namesake": {"kind": "ConfigMap", "name": OWN_NODE, "namespace": WHERE},
}


class TestEvents:
    @permitted
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_an_account_writes_its_own(self, site: Site, account: str) -> None:
        who = _who(site, account)
        who.create(EVENTS, _event(site, account), WHERE, "?dryRun=All").ok()
        if account in COUNTING:
            again = {"count": 2, "lastTimestamp": "2026-01-01T00:00:00Z"}
            who.change(EVENTS, _given(site, account, f"own-{account}"), again, WHERE).ok()

    @held_by(*OWN_EVENTS.values())
    @pytest.mark.parametrize("account", ACCOUNTS)
    @pytest.mark.parametrize("what", FORGED)
    def test_it_reports_nothing_in_the_name_of_another(self, site: Site, what: str, account: str) -> None:
        body = _event(site, account, **FORGED[what])
        refused(_who(site, account).create(EVENTS, body, WHERE, "?dryRun=All"), POLICY)

    @held_by(OWN_EVENTS[MANAGER], OWN_EVENTS[SHUTDOWN_AGENT], OWN_EVENTS[HOOKS])
    @pytest.mark.parametrize("account", COUNTING)
    @pytest.mark.parametrize("how", [MERGE, STRATEGIC, APPLY, JSON_PATCH])
    def test_it_counts_none_of_others(self, site: Site, how: str, account: str) -> None:
        change: Any = {"count": 9}
        if how == JSON_PATCH:
            change = [{"op": "replace", "path": "/count", "value": 9}]
        name = _given(site, account, "of-another", source=ANOTHER)
        refused(_who(site, account).change(EVENTS, name, change, WHERE, how=how), POLICY)

    @held_by("vacate-confine-*-events")
    @pytest.mark.parametrize("account", COUNTING)
    @pytest.mark.parametrize("how", [MERGE, APPLY])
    def test_it_rewrites_not_even_its_own(self, site: Site, how: str, account: str) -> None:
        name = _given(site, account, f"own-{account}")
        refused(_who(site, account).change(EVENTS, name, {"message": "mine"}, WHERE, how=how), POLICY)

    @held_by(OWN_EVENTS[SHUTDOWN_AGENT])
    @pytest.mark.parametrize("about", OF_OTHER_NODES)
    def test_a_node_reports_of_itself_only(self, site: Site, about: str) -> None:
        body = _event(site, "agent", involvedObject=OF_OTHER_NODES[about])
        refused(site.agent.create(EVENTS, body, WHERE, "?dryRun=All"), POLICY)
        refused(site.agent_without_node.create(EVENTS, _event(site, "agent"), WHERE, "?dryRun=All"), POLICY)

    @held_by(ROLES)
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_it_removes_none(self, site: Site, account: str) -> None:
        who, name = _who(site, account), _given(site, account, "of-another", source=ANOTHER)
        refused(who.delete(EVENTS, name, WHERE))
        refused(who.call("DELETE", EVENTS.collection_path(WHERE)))

    @held_by(*OWN_EVENTS.values())
    @pytest.mark.parametrize("account", ACCOUNTS)
    def test_the_other_api_of_events_is_no_way_round(self, site: Site, account: str) -> None:
        """The accounts have no right to it; a role of somebody else's may give them one."""
        body = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "mine"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "regarding": {"kind": "Node", "name": OWN_NODE},
            "reportingController": "kubelet",
            "reportingInstance": "x",
            "action": "Mine",
            "reason": "Mine",
            "type": "Normal",
        }
        name = _given(site, account, "of-another", source=ANOTHER)
        changed = {"metadata": {"annotations": {"example.com/a": "b"}}}
        tried = (("POST", OTHER_API, body), ("PATCH", f"{OTHER_API}/{name}", changed))
        with site.with_every_right():
            for method, path, sent in tried:

                def answer(method: str = method, path: str = path, sent: Obj = sent) -> Any:
                    content_type = MERGE if method == "PATCH" else "application/json"
                    reply = _who(site, account).call(method, path, sent, content_type)
                    return reply if "cannot" not in reply.text else None

                refused(until(answer), POLICY)
