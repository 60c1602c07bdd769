"""The stolen token of `vacate hooks`: it reports for its own interceptor, and runs nothing of its own."""

from __future__ import annotations

import pytest

from support.realcluster.adversary import (
    PREPARE,
    ROLES,
    ROWS,
    TENANTS,
    Site,
    held_by,
    permitted,
    refused,
)
from support.realcluster.evictions import HOME
from vacate.api.installednames import HOOKS, MANAGER, OWN_LEASES, STATUS_AUTHORITY
from vacate.api.kinds import EVICTIONREQUESTS, JOBS, LEASES, PODS
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.registry import OWN_DIALECTS

pytestmark = ROWS
RUN = {"spec": {"containers": [{"name": "main", "image": "mine:1"}], "restartPolicy": "Never"}}


class TestHooksToken:
    @held_by(ROLES)
    def test_runs_no_job_where_the_administrator_has_not_allowed_it(self, site: Site) -> None:
        for namespace in (TENANTS, HOME):
            body = {"metadata": {"name": "mine"}, "spec": {"template": RUN}}
            refused(site.hooks.create(JOBS, body, namespace))
            refused(site.hooks.create(PODS, {"metadata": {"name": "mine"}, **RUN}, namespace))

    @held_by(ROLES)
    def test_reads_no_secret_and_gets_no_token(self, site: Site) -> None:
        home = f"/api/v1/namespaces/{HOME}"
        refused(site.hooks.call("GET", f"{home}/secrets"))
        refused(site.hooks.call("POST", f"{home}/serviceaccounts/{MANAGER}/token", {"spec": {}}))

    @held_by(ROLES)
    @pytest.mark.parametrize("dialect", OWN_DIALECTS, ids=[one.name for one in OWN_DIALECTS])
    def test_ends_and_changes_no_request(self, site: Site, dialect: Dialect) -> None:
        request = site.active(PREPARE, dialect)
        name = request["metadata"]["name"]
        refused(site.hooks.change(dialect.kind, name, {"metadata": {"annotations": {"a.b/c": "d"}}}))
        refused(site.hooks.delete(dialect.kind, name))
        refused(site.hooks.delete(PODS, site.shared["metadata"]["name"]))

    @held_by(STATUS_AUTHORITY, alone=True)
    def test_reports_no_refused_evictions(self, site: Site) -> None:
        change = {"status": {"podEvictionStatus": {"failedAPIEvictionCounter": 7}}}
        name = site.active(PREPARE)["metadata"]["name"]
        refused(site.hooks.change(EVICTIONREQUESTS, name, change, sub="status"))

    @held_by(OWN_LEASES[HOOKS], OWN_LEASES[MANAGER])
    @pytest.mark.parametrize("account", ["hooks", "manager"])
    def test_takes_no_lease_of_others(self, site: Site, account: str) -> None:
        """By which a program of another installation in its namespace would wait for ever."""
        for meta in ({"name": "mine"}, {"generateName": f"vacate-{account}-"}):
            body = {"metadata": meta, "spec": {"holderIdentity": "mine"}}
            refused(getattr(site, account).create(LEASES, body, HOME, "?dryRun=All"), f"vacate-{account}")

    @permitted
    def test_takes_its_own_lease(self, site: Site) -> None:
        body = {"metadata": {"name": HOOKS}, "spec": {"holderIdentity": "mine"}}
        site.hooks.create(LEASES, body, HOME, "?dryRun=All").ok()
