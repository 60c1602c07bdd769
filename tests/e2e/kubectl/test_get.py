"""`kubectl get` in all its output forms."""

from __future__ import annotations

import pytest
import yaml

from support.kubectl import Kubectl
from support.manifests import config_map, deployment, pod

pytestmark = [pytest.mark.kubectl, pytest.mark.thorough(beyond=2)]


@pytest.fixture
def web(k: Kubectl) -> Kubectl:
    """A namespace with a Deployment of two ready replicas."""
    k("create --validate=false -f -", deployment("web", 2)).printed("deployment.apps/web created")
    k("rollout status deployment/web --timeout=60s").ok()
    return k


def test_tables_have_the_columns_that_users_know(web: Kubectl) -> None:
    pods = web("get pods")
    assert pods.columns() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [(row["READY"], row["STATUS"], row["RESTARTS"]) for row in pods.rows()] == [
        ("1/1", "Running", "0"),
        ("1/1", "Running", "0"),
    ]
    deployments = web("get deployments")
    assert deployments.columns() == ["NAME", "READY", "UP-TO-DATE", "AVAILABLE", "AGE"]
    row = deployments.row("web")
    assert (row["READY"], row["UP-TO-DATE"], row["AVAILABLE"]) == ("2/2", "2", "2")
    sets = web("get rs")
    assert sets.columns() == ["NAME", "DESIRED", "CURRENT", "READY", "AGE"]
    assert [row["READY"] for row in sets.rows()] == ["2"]


def test_wide_tables_say_where_and_what(web: Kubectl) -> None:
    pods = web("get pods -o wide")
    assert pods.columns()[5:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert {row["NODE"] for row in pods.rows()} < {"node-1", "node-2", "node-3"}
    row = web("get deployment web -o wide").row("web")
    assert (row["CONTAINERS"], row["IMAGES"], row["SELECTOR"]) == ("web", "web:1", "app=web")
    nodes = web("get nodes -o wide")
    assert {row["STATUS"] for row in nodes.rows()} == {"Ready"}
    assert {"INTERNAL-IP", "OS-IMAGE", "CONTAINER-RUNTIME"} <= set(nodes.columns())


def test_whole_objects_as_json_and_yaml(web: Kubectl) -> None:
    as_json = web("get deployment web -o json").json()
    assert (as_json["kind"], as_json["apiVersion"]) == ("Deployment", "apps/v1")
    assert as_json["status"]["readyReplicas"] == 2
    assert yaml.safe_load(web("get deployment web -o yaml").ok())["spec"] == as_json["spec"]
    listed = web("get pods -o json").json()
    assert (listed["kind"], len(listed["items"])) == ("List", 2)
    assert {item["kind"] for item in listed["items"]} == {"Pod"}


def test_names_paths_and_templates(web: Kubectl) -> None:
    assert web("get deployment -o name").lines() == ["deployment.apps/web"]
    assert web("get deployment web -o jsonpath={.spec.replicas}").ok() == "2"
    assert web("get pods -o jsonpath='{.items[*].status.phase}'").ok() == "Running Running"
    template = "{{range .items}}{{.status.phase}};{{end}}"
    assert web(f"get pods -o go-template='{template}'").ok() == "Running;Running;"
    columns = web("get deployment -o custom-columns=WHO:.metadata.name,HOWMANY:.spec.replicas")
    assert columns.rows() == [{"WHO": "web", "HOWMANY": "2"}]


def test_several_kinds_and_all_namespaces(web: Kubectl) -> None:
    found = web("get deployment,rs,pods -o name").lines()
    assert [name.split("/")[0] for name in found] == ["deployment.apps", "replicaset.apps", "pod", "pod"]
    everywhere = web("get deployments -A")
    assert everywhere.columns()[0] == "NAMESPACE"
    assert (web.namespace, "web") in [(row["NAMESPACE"], row["NAME"]) for row in everywhere.rows()]
    assert len([line for line in web("get all").lines() if line.startswith("pod/")]) == 2


def test_without_headings_and_with_labels(k: Kubectl) -> None:
    k("create --validate=false -f -", config_map("a", {}, labels={"tier": "x"})).ok()
    assert len(k("get configmap a --no-headers").lines()) == 1
    shown = k("get configmap a --show-labels").row("a")
    assert shown["LABELS"] == "tier=x"
    assert k("get configmap a -L tier").row("a")["TIER"] == "x"


def test_selectors_choose(k: Kubectl) -> None:
    maps = [config_map(name, {}, labels={"tier": tier}) for name, tier in (("a", "x"), ("b", "y"))]
    k("create --validate=false -f -", maps).ok()
    for selector, names in (
        ("tier=x", ["a"]),
        ("tier!=x", ["b"]),
        ("tier in (x,y)", ["a", "b"]),
        ("tier notin (x,y),tier", []),
        ("!tier", []),
    ):
        found = k(f"get configmap -l '{selector}' -o name").lines()
        assert found == [f"configmap/{name}" for name in names], selector
    assert k("get configmap --field-selector metadata.name=b -o name").lines() == ["configmap/b"]


def test_field_selectors_of_pods(k: Kubectl) -> None:
    nowhere = pod("nowhere", nodeSelector={"no": "such"})
    k("create --validate=false -f -", [pod("here"), nowhere]).ok()
    k("wait --for=condition=Ready pod/here --timeout=60s").ok()
    running = "get pods --field-selector status.phase=Running -o name"
    assert k(running).lines() == ["pod/here"]
    assert k("get pods --field-selector spec.nodeName= -o name").lines() == ["pod/nowhere"]
    k("get pods --field-selector spec.color=red").failed("field label not supported: spec.color")


def test_order(k: Kubectl) -> None:
    maps = [config_map(name, {"rank": rank}) for name, rank in (("a", "2"), ("b", "1"), ("c", "3"))]
    k("create --validate=false -f -", maps).ok()
    assert [row["NAME"] for row in k("get cm --sort-by=.data.rank").rows()] == ["b", "a", "c"]
    assert [row["NAME"] for row in k("get cm").rows()] == ["a", "b", "c"]


def test_a_list_in_chunks_is_whole(k: Kubectl) -> None:
    k("create --validate=false -f -", [config_map(f"m{n}", {}) for n in range(7)]).ok()
    assert len(k("get cm --chunk-size=3").rows()) == 7


def test_what_is_not_there(k: Kubectl) -> None:
    k("get pods").ok()
    assert "No resources found" in k("get pods").err
    k("get pod nobody").failed('Error from server (NotFound): pods "nobody" not found')
    assert k("get pod nobody --ignore-not-found").ok() == ""
    k("get flowers").failed('the server doesn\'t have a resource type "flowers"')


def test_events_show_the_life_of_a_pod(k: Kubectl) -> None:
    k("run one --image=one:1").ok()
    k("wait --for=condition=Ready pod/one --timeout=60s").ok()
    events = k.until(
        "get events --field-selector involvedObject.name=one", lambda ran: "Scheduled" in ran.out
    )
    assert events.columns() == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "Scheduled" in [row["REASON"] for row in events.rows()]
    assert {row["OBJECT"] for row in events.rows()} == {"pod/one"}
