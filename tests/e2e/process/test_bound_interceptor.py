"""An interceptor's name that is bound to an account, and how an administrator ends its turn all the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import REQUESTS, Lab
from support.waiting import until

pytestmark = pytest.mark.process

BACKUP, NOTIFY = "backup.example.com", "notify.example.com"
BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "vacate-interceptor"}
ACCOUNT = {"kind": "ServiceAccount", "name": "backup", "namespace": "default"}
DONE = {"status": {"activeInterceptorCompleted": True}}
MERGE = "application/merge-patch+json"


@pytest.mark.thorough
def test_an_administrator_ends_a_turn_as_the_account_that_the_refusal_names(tmp_path: Path) -> None:
    bound = ("--interceptor", f"{BACKUP}=default/backup")
    with running_cluster(tmp_path / "dir", *bound, *FAST_PODS) as cluster:
        lab = Lab(cluster)
        lab.https.create(BINDINGS, {"metadata": {"name": "b"}, "roleRef": ROLE, "subjects": [ACCOUNT]})
        lab.pod("web", BACKUP, NOTIFY)
        assert lab.vacate("evict", "web").code == 0
        name = lab.until_active("web")["metadata"]["name"]
        status = f"{REQUESTS}/{name}/status"
        refused = lab.https.call("PATCH", status, DONE, content_type=MERGE)
        assert refused.code == 422
        found = re.search(r"kubectl --as=(\S+)", refused.obj["message"])
        assert found is not None, refused.text
        account = {"Impersonate-User": found[1].rstrip(",]")}
        lab.https.call("PATCH", status, DONE, content_type=MERGE, headers=account).ok()
        until(lambda: lab.request("web")["status"]["activeInterceptorName"] == NOTIFY)
        # Of the next one, which is bound to no account, all who may write statuses report.
        lab.https.call("PATCH", status, DONE, content_type=MERGE).ok()
