"""`vacate evict` for the pods of a workload and of a node: tried without effect, confirmed, refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import PODS, REQUESTS, Lab
from support.processes.screens import run
from support.waiting import until
from vacate.cli.evict.selection import CONFIRM_ABOVE

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

BACKUP = "backup.example.com"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running_cluster(tmp_path_factory.mktemp("evict") / "dir", "--nodes", "2", *FAST_PODS) as running:
        yield Lab(running)


NUMBERS = itertools.count(1)


def fresh(name: str) -> str:
    """A name that no other test has."""
    return f"{name}-{next(NUMBERS)}"


def deployment(lab: Lab, name: str, replicas: int, **spec: Any) -> set[str]:
    """A Deployment whose pods run; their names."""
    labels = {"app": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {
            "containers": [{"name": "main", "image": "app:1"}],
            "evictionInterceptors": [{"name": BACKUP}],
            **spec,
        },
    }
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    lab.https.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": body})
    found = until(lambda: _running(lab, name, replicas))
    return {one["metadata"]["name"] for one in found}


def _running(lab: Lab, name: str, replicas: int) -> list[dict[str, Any]]:
    found = lab.https.get(f"{PODS}?labelSelector=app%3D{name}").ok()["items"]
    running = [one for one in found if one["status"].get("phase") == "Running"]
    return running if len(running) == replicas else []


def requested(lab: Lab) -> set[str]:
    """The pods whose eviction is requested."""
    found = lab.https.get(REQUESTS).ok()["items"]
    return {one["spec"]["target"]["podRef"]["name"] for one in found}


def test_the_pods_of_a_deployment_and_no_others_with_its_labels(lab: Lab) -> None:
    web = fresh("web")
    own = deployment(lab, web, 2)
    lab.pod(fresh("stranger"), labels={"app": web})
    before = requested(lab)
    tried = lab.vacate("evict", f"deploy/{web}", "--dry-run")
    assert (tried.code, tried.err) == (0, "")
    wanted = [f"pod/{pod} eviction would be requested (dry run); interceptors: {BACKUP}" for pod in own]
    assert sorted(tried.out.splitlines()) == sorted(wanted)
    assert requested(lab) == before
    done = lab.vacate("evict", f"deployment/{web}")
    assert (done.code, done.err) == (0, "")
    assert requested(lab) - before == own
    again = lab.vacate("evict", f"deployment/{web}", "--dry-run")
    assert all("by this requester; nothing would change" in line for line in again.out.splitlines())
    other = lab.vacate("evict", f"deployment/{web}", "--dry-run", "--requester", "jane.example.com")
    assert all("has an eviction request, which would be joined" in line for line in other.out.splitlines())


@pytest.mark.thorough
def test_the_dry_run_shows_what_becomes_of_a_request_that_was_cancelled(lab: Lab) -> None:
    pod = lab.pod(fresh("spared"), BACKUP)
    assert lab.vacate("evict", pod).code == 0
    before = lab.until_active(pod)["metadata"]["uid"]
    assert lab.vacate("cancel", pod).code == 0
    until(lambda: lab.request(pod)["status"].get("conditions"))
    until(lambda: "that is over; it would be replaced" in lab.vacate("evict", pod, "--dry-run").out)
    assert lab.request(pod)["metadata"]["uid"] == before  # changed by the real command only
    assert lab.vacate("evict", pod).code == 0
    assert lab.request(pod)["metadata"]["uid"] != before


def test_the_dry_run_shows_what_a_budget_would_refuse(lab: Lab) -> None:
    single = fresh("single")
    (pod,) = deployment(lab, single, 1, evictionInterceptors=[])
    lab.budget(single, 1)
    tried = lab.vacate("evict", pod, "--dry-run")
    assert tried.code == 0
    assert tried.out.splitlines()[0] == f"pod/{pod} eviction would be requested (dry run)"
    assert "would be refused now" in tried.out
    assert f"disruption budget {single} needs 1 healthy pod" in tried.out


def test_a_wide_selection_is_confirmed_refused_without_a_terminal_or_passed(lab: Lab) -> None:
    wide = fresh("wide")
    own = deployment(lab, wide, CONFIRM_ABOVE + 1, nodeName="node-2")
    config = {"KUBECONFIG": str(lab.cluster.kubeconfig)}
    question = f"This requests the eviction of {CONFIRM_ABOVE + 1} pods"
    refused = lab.vacate("evict", "--node", "node-2", "-l", f"app={wide}")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        f"error: {question}. Nothing was changed: pass --yes to do it without being asked\n"
    )
    arguments = ("evict", "--node", "node-2", "-l", f"app={wide}")
    no = run(*arguments, variables=config, terminal=(80, 24), typed=("[y/N]", "\n"))
    assert (no.code, f"{question}. Continue?" in no.plain) == (1, True), no.plain
    assert "Nothing was changed." in no.plain
    away = run(*arguments, variables=config, terminal=(80, 24), stop_when=lambda text: "[y/N]" in text,
               typed=("never", ""))  # fmt: skip
    assert (away.code, "remain" in away.plain) == (130, False), away.plain
    assert not requested(lab) & own
    yes = run(*arguments, variables=config, terminal=(80, 24), typed=("[y/N]", "yes\n"))
    assert yes.code == 0, yes.plain
    assert requested(lab) & own == own
    passed = lab.vacate(*arguments, "--yes")
    assert (passed.code, passed.err) == (0, "")


def test_a_node_names_those_that_cannot_be_evicted(lab: Lab) -> None:
    static = fresh("static")
    lab.pod(static, nodeName="node-1", annotations={"kubernetes.io/config.mirror": "x"})
    tried = lab.vacate("evict", "--node", "node-1", "--dry-run", "-n", "default")
    assert tried.code == 0
    assert f"pod/{static} skipped: only its node can terminate a static pod" in tried.err
    assert f"pod/{static}" not in tried.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--node", "nowhere"], 1, "there is no node nowhere; see: kubectl get nodes"),
        (["--node", "No/Such_Node"], 2, "Invalid value"),
        (["web-1", "--node", "node-1"], 2, "not both"),
        (["deployment/nowhere"], 1, 'deployments.apps "nowhere" not found in namespace default'),
        (["statefulset/nowhere"], 1, "statefulset"),
        (["daemonset/agent"], 2, "vacate drain NODE --evict-daemonsets"),
        (["deployment/"], 2, "is not a workload"),
        (["deployment/a/b"], 2, "is not a workload"),
        (["configmap/web"], 2, "'configmap/web' is neither a pod nor a workload whose pods can be evicted"),
        (["web-1", "--dry-run", "--wait"], 2, "--dry-run requests nothing"),
        ([], 2, "name at least one pod or workload"),
    ],
)
def test_bad_input_gets_one_clear_error(lab: Lab, arguments: list[str], code: int, message: str) -> None:
    done = lab.vacate("evict", *arguments)
    assert (done.code, message in done.err) == (code, True), done.err
    assert done.out == ""
