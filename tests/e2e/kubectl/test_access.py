"""`kubectl auth`: who am I, and what may I do."""

from __future__ import annotations

import pytest

from support.kubectl import Kubectl

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=1)]
Version = tuple[int, int]


def test_the_administrator_may_do_everything(k: Kubectl) -> None:
    assert k("auth can-i create pods").lines() == ["yes"]
    assert k("auth can-i '*' '*' -A").lines() == ["yes"]
    assert k("auth can-i get /metrics").lines() == ["yes"]


def test_others_may_do_what_their_roles_say(k: Kubectl) -> None:
    jane = "--as=jane"
    refused = k(f"auth can-i list pods {jane}")
    assert (refused.code, refused.out.strip()) == (1, "no")
    k(f"get pods {jane}").failed(
        'Error from server (Forbidden): pods is forbidden: User "jane" cannot list resource "pods" '
        f'in API group "" in the namespace "{k.namespace}"'
    )
    k("create role reader --verb=get,list,watch --resource=pods").ok()
    k("create rolebinding jane --role=reader --user=jane").ok()
    assert k.until(f"auth can-i list pods {jane}").lines() == ["yes"]
    assert k(f"auth can-i delete pods {jane}").out.strip() == "no"
    assert k(f"auth can-i list pods {jane} -n default").out.strip() == "no"
    k(f"get pods {jane}").ok()
    k(f"run one --image=x:1 {jane}").failed('User "jane" cannot create resource "pods"')


def test_groups_and_subresources(k: Kubectl) -> None:
    k("create role movers --verb=create --resource=pods/eviction").ok()
    k("create rolebinding movers --role=movers --group=crew").ok()
    asked = "auth can-i create pods --subresource=eviction --as=joe --as-group=crew"
    assert k.until(asked).lines() == ["yes"]
    assert k("auth can-i create pods --as=joe --as-group=crew").out.strip() == "no"


def test_nobody_gives_away_what_they_do_not_have(k: Kubectl) -> None:
    k("create role manager --verb=get,create,update --resource=roles,rolebindings").ok()
    k("create rolebinding manager --role=manager --user=mo").ok()
    k.until("auth can-i create roles --as=mo")
    stderr = k("create role big --verb=get --resource=pods --as=mo").failed("is forbidden")
    assert "attempting to grant RBAC permissions not currently held" in stderr


def test_whoami(k: Kubectl, version: Version) -> None:
    if version < (1, 28):  # speaks only earlier versions of the API, or does not know the command
        assert k("auth whoami").code == 1
        return
    shown = k("auth whoami -o json").json()["status"]["userInfo"]
    assert shown["groups"] == ["system:masters", "system:authenticated"]
    asked = k("auth whoami -o json --as=jane --as-group=crew").json()["status"]["userInfo"]
    assert (asked["username"], asked["groups"]) == ("jane", ["crew", "system:authenticated"])


def test_reconcile(k: Kubectl) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": k.namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    k("auth reconcile -f -", role).printed("role.rbac.authorization.k8s.io/r reconciled")
    assert k("get role r -o json").json()["rules"] == role["rules"]
