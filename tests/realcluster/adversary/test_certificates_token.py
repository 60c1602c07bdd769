"""The token of `vacate certificates`, which keeps the certificate of the webhook."""

from __future__ import annotations

import pytest

from support.https import Obj
from support.realcluster.adversary import (
    MERGE,
    ROLES,
    ROWS,
    Site,
    held_by,
    permitted,
    refused,
)
from support.realcluster.evictions import HOME
from vacate.api.installednames import CERTIFICATE_SECRET, MANAGER, TLS_SECRET
from vacate.api.kinds import SECRETS

pytestmark = ROWS
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
TOKEN: Obj = {"type": "kubernetes.io/service-account-token"}
OTHERS: dict[str, Obj] = {
    "a token of the manager": {"metadata": {"name": "mine"}, **TOKEN},
    "a token in place of the certificate": {"metadata": {"name": TLS_SECRET}, **TOKEN},
    "a token by a name that the server makes": {"metadata": {"generateName": f"{TLS_SECRET}-"}, **TOKEN},
    "what its owner reads": {"metadata": {"name": "bmc"}, "stringData": {"passwd": "mine"}},
}


class TestCertificatesToken:
    @held_by(CERTIFICATE_SECRET)
    @pytest.mark.parametrize("what", OTHERS)
    def test_makes_no_secret_but_its_own(self, site: Site, what: str) -> None:
        meta = {**OTHERS[what]["metadata"], "annotations": {"kubernetes.io/service-account.name": MANAGER}}
        body = {**OTHERS[what], "metadata": meta}
        refused(site.certificates.create(SECRETS, body, HOME, "?dryRun=All"), CERTIFICATE_SECRET)

    @permitted
    def test_keeps_its_own(self, site: Site) -> None:
        change = {"metadata": {"annotations": {"example.com/note": "kept"}}}
        site.certificates.change(SECRETS, TLS_SECRET, change, HOME).ok()

    @held_by(ROLES)
    def test_reads_no_other_secret_and_gets_no_token(self, site: Site) -> None:
        home = f"/api/v1/namespaces/{HOME}"
        refused(site.certificates.call("GET", f"{home}/secrets"))
        refused(site.certificates.call("POST", f"{home}/serviceaccounts/{MANAGER}/token", {"spec": {}}))

    @held_by(ROLES)
    def test_changes_no_admission_of_others(self, site: Site) -> None:
        path = f"{ADMISSION}/validatingwebhookconfigurations/company"
        refused(site.certificates.call("PATCH", path, {"webhooks": []}, MERGE))
        refused(site.certificates.call("DELETE", f"{ADMISSION}/validatingadmissionpolicybindings"))
