"""`vacate check` on a real control plane: each part is broken and has its line; its remedy makes it green.

In the end the steps of `docs/how-to/adopt.md`, up and back, by the commands of that page.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.documents import Command, run_all
from support.kubectl import kubectl_or_reason
from support.processes.commands import Ended
from support.processes.commands import vacate as run
from support.realcluster.evictions import HOME, RealCluster, real_cluster
from support.waiting import until
from vacate.api.objects import Obj

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("check"), pytest.mark.timeout(900)]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = f"{HOOKS}/validatingwebhookconfigurations/vacate-validating"
MUTATING = f"{HOOKS}/mutatingwebhookconfigurations/vacate-mutating"
DOCUMENTS = Path(__file__).parents[4] / "docs"
STRATEGIC = "application/strategic-merge-patch+json"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealCluster]:
    """One of its own: all that other tests rely on is broken here."""
    with real_cluster(tmp_path_factory.mktemp("check"), 2) as cluster:
        yield cluster


def vacate(kubeconfig: Path, *arguments: str) -> Ended:
    return run({"KUBECONFIG": str(kubeconfig)}, *arguments)


def checked(kubeconfig: Path) -> dict[str, Obj]:
    """The findings, by part; the exit code says whether one of them has failed."""
    done = vacate(kubeconfig, "check", "-o", "json")
    found = json.loads(done.out)
    failed = [one for one in found["findings"] if one["state"] == "failed"]
    assert (done.code, found["ok"]) == ((1, False) if failed else (0, True)), done.err
    return {one["check"]: one for one in found["findings"]}


def becomes(real: RealCluster, part: str, state: str, text: str = "") -> Obj:
    """Roles, configurations and definitions take effect a while after they were written."""
    found: list[Obj] = []

    def reached() -> bool:
        found[:] = [checked(real.kubeconfig)[part]]
        return found[0]["state"] == state and text in found[0]["text"]

    until(reached)
    return found[0]


def command(finding: Obj) -> list[str]:
    return shlex.split(finding["remedies"][0]["command"])


def install_again(real: RealCluster, finding: Obj) -> None:
    """The command as it is printed; the options that the tests add for slow machines are put back."""
    program, *words = command(finding)
    assert (program, words[0]) == ("vacate", "install")
    done = vacate(real.kubeconfig, *words)
    assert done.code == 0, done.err


def test_all_is_well(real: RealCluster) -> None:
    found = checked(real.kubeconfig)
    wrong = {name: one for name, one in found.items() if one["state"] != "ok"}
    assert not wrong
    assert set(found) == {
        "versions", "definitions", "objects", "processes", "manager", "webhook", "webhook CA",
        "failure policies", "accounts", "you", "clocks", "interceptors", "leftovers",
    }  # fmt: skip


def test_helm_test_passes_with_the_rights_of_the_manager(real: RealCluster) -> None:
    """The chart runs the command as this account."""
    found = checked(real.account(HOME, "vacate-manager"))
    assert found["manager"]["state"] == "ok"
    assert "failed" not in {one["state"] for one in found.values()}


def test_a_manager_and_a_webhook_that_are_away(real: RealCluster) -> None:
    real.stop_part("manager")
    real.webhook.kill()
    assert f"kubectl -n {HOME} get pods" in becomes(real, "manager", "failed")["remedies"][0]["command"]
    assert "connection refused" in becomes(real, "webhook", "failed")["text"]
    done = vacate(real.kubeconfig, "drain", "node-1", "--force", "--timeout", "3s")
    assert done.code == 4
    assert "webhook: the API server cannot reach it" in done.err
    real.start_webhook()
    real.start_part("manager")
    becomes(real, "manager", "ok")
    becomes(real, "webhook", "ok")
    done = vacate(real.kubeconfig, "drain", "--cancel", "drain-node-1")
    assert done.code == 0, done.err
    becomes(real, "manager", "ok", "it last finished work on an object")


def without_binding(real: RealCluster) -> None:
    real.admin.delete(f"{RBAC}/clusterrolebindings/vacate-manager")


def without_definition(real: RealCluster) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fencingpolicies.vacate.dev"
    real.admin.delete(path)


def with_closed_pods(real: RealCluster) -> None:
    hooks = [{"name": "pods.validate.vacate.dev", "failurePolicy": "Fail"}]
    real.admin.call("PATCH", VALIDATING, {"webhooks": hooks}, content_type=STRATEGIC).ok()


def with_leftover(real: RealCluster) -> None:
    """An object of an installation, of which the notes know nothing."""
    path = f"/api/v1/namespaces/{HOME}/configmaps/vacate-installation"
    lines = real.admin.get(path).ok()["data"]["objects"].splitlines()
    kept = [one for one in lines if "vacate-confine-" not in one]
    assert len(kept) < len(lines)
    real.admin.patch(path, {"data": {"objects": "".join(f"{one}\n" for one in kept)}})


BROKEN = [
    (without_binding, "accounts", "failed", f"{HOME}/vacate-manager may not "),
    (without_binding, "objects", "failed", "clusterrolebinding.rbac.authorization.k8s.io/vacate-manager"),
    (without_definition, "definitions", "failed", "fencingpolicies.vacate.dev"),
    (with_closed_pods, "failure policies", "warning", "pods.validate.vacate.dev"),
    (with_leftover, "leftovers", "warning", "vacate-confine-"),
]


def test_parts_are_broken_and_the_remedy_repairs_them(real: RealCluster) -> None:
    for broken in dict.fromkeys(one[0] for one in BROKEN):
        broken(real)
    found = [becomes(real, part, state, text) for _, part, state, text in BROKEN]
    assert {one["remedies"][0]["command"].partition(" --pod-failure")[0] for one in found} == {
        "vacate install"
    }
    install_again(real, found[0])
    until(real.leader)  # whose definitions and rights are back
    for _, part, _, _ in BROKEN:
        becomes(real, part, "ok")


def test_a_configuration_is_gone(real: RealCluster) -> None:
    real.admin.delete(MUTATING)
    install_again(real, becomes(real, "webhook", "failed", "vacate-mutating is not there"))
    becomes(real, "webhook CA", "ok")
    becomes(real, "webhook", "ok")


def test_an_account_with_more_than_it_needs(real: RealCluster) -> None:
    binding = {
        "metadata": {"name": "helpful"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "vacate-webhook", "namespace": HOME}],
    }
    real.admin.create(f"{RBAC}/clusterrolebindings", binding)
    found = becomes(real, "accounts", "warning", "clusterrolebinding/helpful to view")
    assert command(found) == ["kubectl", "delete", "clusterrolebinding/helpful"]
    real.admin.delete(f"{RBAC}/clusterrolebindings/helpful")
    becomes(real, "accounts", "ok")


def test_a_webhook_whose_authority_is_gone(real: RealCluster) -> None:
    real.certificates.kill()
    hooks = real.admin.get(VALIDATING).ok()["webhooks"]
    emptied = [{"name": one["name"], "clientConfig": {"caBundle": None}} for one in hooks]
    real.admin.call("PATCH", VALIDATING, {"webhooks": emptied}, content_type=STRATEGIC).ok()
    found = becomes(real, "webhook CA", "failed", "have no authority yet")
    assert command(found)[-2:] == ["restart", "deployment/vacate-certificates"]
    real.certificates.start()  # which is what the command does
    becomes(real, "webhook CA", "ok")


def test_a_user_of_few_rights_learns_what_was_not_seen(real: RealCluster) -> None:
    real.admin.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "few"}})
    kubeconfig = real.account("default", "few")
    found = checked(kubeconfig)
    states = {name: one["state"] for name, one in found.items()}
    assert states["definitions"] == "ok"
    for part in ("objects", "manager", "webhook", "webhook CA", "accounts", "interceptors", "processes"):
        assert states[part] == "not seen", found[part]
        assert found[part]["text"]
    assert "may do nothing with Vacate" in found["you"]["text"]
    grants = [one["command"] for one in found["you"]["remedies"]]
    assert [one.count("NAME") for one in grants] == [1] * 4  # a name is put in once, and not taken yet
    grant = grants[0].replace("NAME", "few-views")
    assert "--clusterrole=vacate-viewer --serviceaccount=default:few" in grant
    _, *words = shlex.split(grant)
    assert words[:2] == ["create", "clusterrolebinding"]
    shown = vacate(kubeconfig, "check").out
    assert all(len(line) <= 100 or line.startswith(" " * 12) for line in shown.splitlines())


def step_commands(step: str) -> list[str]:
    """Each block of the step as a script; the last one leads back."""
    text = (DOCUMENTS / "how-to/adopt.md").read_text()
    (section,) = [one for one in text.split("\n## ")[1:] if one.startswith(step)]
    return [
        one.strip().replace("NODE", "node-2")
        for one in re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)
    ]


def test_the_steps_of_adoption_lead_up_and_back(real: RealCluster, tmp_path: Path) -> None:
    kubectl, reason = kubectl_or_reason()
    if kubectl is None:
        pytest.skip(reason)
    (tmp_path / "kubectl").symlink_to(kubectl)
    (tmp_path / "vacate").symlink_to(Path(sys.prefix) / "bin/vacate")
    around = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(real.kubeconfig)}

    def shell(script: str) -> str:
        """What it printed; every line of it has worked."""
        return run_all([Command(script)], tmp_path, around)[0]

    def bridged() -> bool:
        return "evictions.validate.vacate.dev" in [
            one["name"] for one in real.admin.get(VALIDATING).ok()["webhooks"]
        ]

    def node() -> Obj:
        found: Obj = real.admin.get("/api/v1/nodes/node-2").ok()["spec"]
        return found

    shell("kubectl create namespace shop && kubectl -n shop create deployment web --image=web:1 --replicas=2")
    shell("kubectl -n shop rollout status deployment/web --timeout=300s")
    (plan,) = step_commands("1. ")
    shell(plan)

    up, back = step_commands("2. ")
    shell("vacate install --reset eviction-bridge")
    assert not bridged()
    shell(up)
    assert bridged()
    shell(back)
    assert not bridged()
    becomes(real, "failure policies", "ok")

    up, back = step_commands("3. ")
    assert "node/node-2 drained" in shell(up)
    assert node()["unschedulable"]
    shell(back)
    until(lambda: not node().get("unschedulable"))

    up, back = step_commands("4. ")
    shell(up)
    shell(back)
    found = real.admin.get("/apis/apps/v1/namespaces/shop/deployments/web").ok()
    assert "vacate.dev/move-before-eviction" not in found["metadata"]["annotations"]

    up, try_it, back = step_commands("5. ")
    shell(up)
    until(lambda: "--force --confirm" in shell(f"{try_it} || true"))
    shell(back)
    until(lambda: "--force --confirm" not in shell(f"{try_it} || true"))
    shell("vacate uninstall --crds")
