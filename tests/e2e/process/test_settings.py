"""Feature gates and token files of `vacate up`."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.https import Obj
from support.manifests import config_map, pod
from support.processes.cluster import FAST_PODS, running_cluster

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"


def with_interceptors(name: str) -> Obj:
    return pod(name, evictionInterceptors=[{"name": "backup.example.com"}])


@pytest.mark.thorough
def test_a_closed_gate_drops_the_field_of_new_pods_and_keeps_it_on_old_ones(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "dir", *FAST_PODS) as cluster:
        old = cluster.https().create(PODS, with_interceptors("old"))
        assert old["spec"]["evictionInterceptors"] == [{"name": "backup.example.com"}]
        assert cluster.stop() == 0
    gate = "--feature-gates=EvictionRequestAPI=false"
    with running_cluster(tmp_path / "dir", *FAST_PODS, gate) as cluster:
        admin = cluster.https()
        assert "evictionInterceptors" not in admin.create(PODS, with_interceptors("new"))["spec"]
        kept = admin.patch(f"{PODS}/old", {"metadata": {"labels": {"a": "b"}}})
        assert kept["metadata"]["labels"]["a"] == "b"
        assert kept["spec"]["evictionInterceptors"] == old["spec"]["evictionInterceptors"]


def test_users_with_tokens_may_do_what_their_roles_say(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text(
        'jane-secret,jane,1001,"crew,night"\nroot-secret,root,0,system:masters\n'
    )
    with running_cluster(tmp_path, "--nodes", "0") as cluster:
        admin = cluster.https()
        jane = admin.with_token("jane-secret")
        refused = jane.get(MAPS)
        assert refused.code == 403
        assert 'User "jane" cannot list resource "configmaps"' in refused.obj["message"]
        admin.create(f"{RBAC}/roles", _reader())
        admin.create(f"{RBAC}/rolebindings", _binding("night"))
        assert jane.get(MAPS).code == 200
        assert jane.call("POST", MAPS, config_map("a", {})).code == 403
        assert admin.with_token("root-secret").create(MAPS, config_map("a", {}))
        assert admin.with_token("guess").get(MAPS).code == 401
        assert admin.anonymous().get(MAPS).code == 403


def _reader() -> Obj:
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]
    return {"metadata": {"name": "reader"}, "rules": rules}


def _binding(group: str) -> Obj:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
    return {"metadata": {"name": "readers"}, "roleRef": role, "subjects": [subject]}
