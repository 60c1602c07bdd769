"""`kubectl create`, `run` and `apply`."""

from __future__ import annotations

import json

import pytest

from support.kubectl import Kubectl
from support.manifests import config_map, deployment

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]


def test_deployment(k: Kubectl) -> None:
    k("create deployment web --image=web:1 --replicas=2").printed("deployment.apps/web created")
    made = k("get deployment web -o json").json()
    assert made["spec"]["replicas"] == 2
    assert made["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": "25%", "maxUnavailable": "25%"}
    k("create deployment web --image=web:1").failed('deployments.apps "web" already exists')


def test_namespace_has_a_service_account_of_its_own(k: Kubectl) -> None:
    name = f"{k.namespace}-more"
    k(f"create namespace {name}").printed(f"namespace/{name} created")
    more = k.within(name)
    more("run early --image=x:1").ok()  # at once: nothing must be waited for
    more.until("get sa default").row("default")
    assert k("get ns").row(name)["STATUS"] == "Active"
    k(f"delete namespace {name} --timeout=60s").printed(f'namespace "{name}" deleted')
    k(f"get namespace {name}").failed("NotFound")
    assert more("get all,cm,sa --ignore-not-found").ok() == ""


def test_config_map_and_service_account(k: Kubectl) -> None:
    k("create configmap a --from-literal=x=1 --from-literal=y=2").printed("configmap/a created")
    assert k("get cm a -o json").json()["data"] == {"x": "1", "y": "2"}
    assert k("get cm a").row("a")["DATA"] == "2"
    k("create sa robot").printed("serviceaccount/robot created")
    k("get sa robot").row("robot")


def test_roles_and_bindings(k: Kubectl) -> None:
    k("create role reader --verb=get,list --resource=pods,deployments.apps").printed("reader created")
    rules = k("get role reader -o json").json()["rules"]
    assert {(rule["apiGroups"][0], rule["resources"][0]) for rule in rules} == {
        ("", "pods"),
        ("apps", "deployments"),
    }
    k("create rolebinding readers --role=reader --user=jane --group=crew").printed("readers created")
    bound = k("get rolebinding readers -o wide").row("readers")
    assert (bound["ROLE"], bound["USERS"], bound["GROUPS"]) == ("Role/reader", "jane", "crew")
    name = k.namespace
    k(f"create clusterrole {name} --verb=get --resource=nodes").ok()
    k(f"create clusterrolebinding {name} --clusterrole={name} --user=jane").ok()
    assert k(f"get clusterrolebinding {name} -o wide").row(name)["ROLE"] == f"ClusterRole/{name}"
    k(f"delete clusterrole,clusterrolebinding {name}").ok()


def test_budget(k: Kubectl) -> None:
    k("create pdb web --selector=app=web --min-available=50%").printed("budget.policy/web created")
    shown = k("get pdb")
    assert shown.columns() == ["NAME", "MIN AVAILABLE", "MAX UNAVAILABLE", "ALLOWED DISRUPTIONS", "AGE"]
    row = shown.row("web")
    assert (row["MIN AVAILABLE"], row["MAX UNAVAILABLE"], row["ALLOWED DISRUPTIONS"]) == ("50%", "N/A", "0")


def test_priority_class(k: Kubectl) -> None:
    name = k.namespace
    k(f"create priorityclass {name} --value=7 --description=seven").printed(f"{name} created")
    assert k("get pc").row(name)["VALUE"] == "7"
    k(f'run one --image=x:1 --overrides=\'{{"spec":{{"priorityClassName":"{name}"}}}}\'').ok()
    assert k("get pod one -o jsonpath={.spec.priority}").ok() == "7"
    k(f"delete priorityclass {name}").ok()


def test_run(k: Kubectl) -> None:
    k("run one --image=one:1 --labels=a=b --env=X=1").printed("pod/one created")
    k("wait --for=condition=Ready pod/one --timeout=60s").printed("pod/one condition met")
    made = k("get pod one -o json").json()
    assert made["metadata"]["labels"]["a"] == "b"
    assert made["spec"]["containers"][0]["env"] == [{"name": "X", "value": "1"}]
    k("run two --image=two:1 --dry-run=server").printed("pod/two created (server dry run)")
    k("get pod two").failed("NotFound")


def test_dry_runs_write_nothing(k: Kubectl) -> None:
    k("create configmap a --dry-run=server").printed("configmap/a created (server dry run)")
    k("create --validate=false --dry-run=server -f -", deployment("web")).ok()
    assert k("get cm,deployment -o name").lines() == []


def test_refusals_name_the_field(k: Kubectl) -> None:
    bad = deployment("web")
    bad["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    stderr = k("create --validate=false -f -", bad).failed('The Deployment "web" is invalid')
    assert "`selector` does not match template `labels`" in stderr
    k("create configmap No").failed("a lowercase RFC 1123 subdomain must consist of")


def test_apply_creates_changes_and_removes(k: Kubectl) -> None:
    apply = "apply --validate=false -f -"
    k(apply, config_map("a", {"x": "1", "y": "2"})).printed("configmap/a created")
    k(apply, config_map("a", {"x": "1", "y": "2"})).printed("configmap/a unchanged")
    k('patch cm a -p \'{"data":{"theirs":"3"}}\'').ok()
    k(apply, config_map("a", {"x": "9"})).printed("configmap/a configured")
    assert k("get cm a -o json").json()["data"] == {"x": "9", "theirs": "3"}


def test_apply_merges_lists_by_their_keys(k: Kubectl) -> None:
    apply = "apply --validate=false -f -"
    first = deployment("web", 0)
    first["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
    ]
    k(apply, first).printed("deployment.apps/web created")
    sidecar = {"spec": {"containers": [{"name": "side", "image": "side:1"}]}}
    k(f'patch deployment web -p \'{{"spec":{{"template":{json.dumps(sidecar)}}}}}\'').ok()
    second = deployment("web", 0)
    second["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "B", "value": "3"}]
    k(apply, second).printed("deployment.apps/web configured")
    containers = k("get deployment web -o json").json()["spec"]["template"]["spec"]["containers"]
    by_name = {one["name"]: one for one in containers}
    assert set(by_name) == {"web", "side"}
    assert by_name["web"]["env"] == [{"name": "B", "value": "3"}]


def test_apply_remembers_what_was_applied(k: Kubectl) -> None:
    k("apply --validate=false -f -", config_map("a", {"x": "1"})).ok()
    k("apply view-last-applied cm/a").printed('x: "1"')


def test_apply_leaves_checks_to_the_server(k: Kubectl) -> None:
    k("apply -f -", config_map("a", {})).printed("configmap/a created")
