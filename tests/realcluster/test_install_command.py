"""`vacate install` and `vacate uninstall` as processes, on a real cluster whose nodes simulate pods.

Waiting, and whatever can come between: Ctrl-C, kill -9, two at once, a terminating namespace, missing
rights.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from support.arms.clusters import NODE_COUNT, open_lab
from support.https import Https, Obj
from support.processes.cluster import environment, vacate
from support.realcluster.users import until_granted
from support.waiting import until
from vacate.install import Monitoring, Settings, objects
from vacate.install.apply.inventory import line_of
from vacate.install.objectkinds import path_of

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("install"), pytest.mark.timeout(900)]

HOME = "vacate-system"
NAMESPACE = f"/api/v1/namespaces/{HOME}"
NOTES = f"{NAMESPACE}/configmaps/vacate-installation"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
CONFIGURATIONS = (
    f"{HOOKS}/mutatingwebhookconfigurations/vacate-mutating",
    f"{HOOKS}/validatingwebhookconfigurations/vacate-validating",
)


IMAGE = ("--image", Settings().image)


class Lab:
    """The cluster, and the commands in it."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.admin = Https.from_kubeconfig(kubeconfig)

    def run(self, command: str, *options: str) -> subprocess.CompletedProcess[str]:
        return vacate(*self._words(command, *options))

    def begin(self, command: str, *options: str) -> subprocess.Popen[str]:
        arguments = [sys.executable, "-m", "vacate", *self._words(command, *options)]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            arguments, stdout=pipe, stderr=pipe, text=True,
            env=environment() | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip

    def _words(self, command: str, *options: str) -> list[str]:
        image = IMAGE if command == "install" else ()
        return [command, "--kubeconfig", str(self.kubeconfig), *image, *options]

    def there(self, settings: Settings) -> set[str]:
        return {path_of(obj) for obj in objects(settings) if self.admin.get(path_of(obj)).code == 200}

    def trust(self) -> None:
        """What the webhook would do, if the pods were real."""
        for path in CONFIGURATIONS:
            hooks = self.admin.get(path).ok()["webhooks"]
            for hook in hooks:
                hook["clientConfig"]["caBundle"] = "LS0tCg=="
            self.admin.patch(path, {"webhooks": hooks})

    def nodes(self) -> list[str]:
        return [node["metadata"]["name"] for node in self.admin.get("/api/v1/nodes").ok()["items"]]

    @contextmanager
    def cordoned(self) -> Iterator[None]:
        names = self.nodes()
        try:
            for name in names:
                self.admin.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
            yield
        finally:
            for name in names:
                self.admin.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})

    def user(self, name: str, rules: list[Obj], folder: Path) -> Path:
        """A kubeconfig of somebody with these rights everywhere."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        self.admin.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        self.admin.create(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        binding = {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}
        self.admin.create(f"{rbac}/clusterrolebindings", binding)
        until_granted(self.admin, f"system:serviceaccount:default:{name}", rules)
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        token = self.admin.create(path, {"spec": {}})["status"]["token"]
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        file = folder / f"{name}.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with open_lab("real", tmp_path_factory.mktemp("installs")) as kubeconfig:
        lab = Lab(kubeconfig)
        until(lambda: len(lab.nodes()) == NODE_COUNT)
        yield lab


@pytest.fixture
def lab(whole: Lab) -> Iterator[Lab]:
    """Without Vacate, before and after."""
    yield whole
    done = whole.run("uninstall", "--crds")
    assert done.returncode == 0, done.stderr
    until(lambda: whole.admin.get(NAMESPACE).code == 404)
    assert whole.there(Settings(monitoring=Monitoring(dashboard=True))) == set()


def test_waiting(lab: Lab) -> None:
    """In vain, until Ctrl-C, and until all is ready."""
    with lab.cordoned():
        not_ready_in_time(lab)
    interrupted(lab)
    command = lab.begin("install", "--wait")
    until(lambda: _available(lab, "vacate-webhook") and _available(lab, "vacate-manager"))
    assert command.poll() is None  # there is no authority yet
    lab.trust()
    out, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (0, "")
    assert out.splitlines()[-1] == "Installed, and ready."
    assert out.count(" ready\n") == 5
    pods_that_may_not_be_made(lab)


def not_ready_in_time(lab: Lab) -> None:
    """Controllers and scheduler have looked at it before: how soon they do is not the command's affair."""
    assert lab.run("install").returncode == 0
    until(lambda: len(_unschedulable(lab)) == 5)
    done = lab.run("install", "--wait=4s")
    assert done.returncode == 4
    errors = done.stderr.splitlines()
    (manager,) = [line for line in errors if line.startswith("error: deployment.apps/vacate-manager: ")]
    assert "vacate-manager: 0 of 2 copies are available: pod " in manager
    assert "Unschedulable: 0/3 nodes are available: 3 node(s) were unschedulable" in manager
    assert any(line.endswith("vacate-mutating: 5 of 5 webhooks have no authority yet") for line in errors)
    assert errors[-1] == (
        "Installed, but not ready after 4s. See why with vacate check; "
        "run the same command again to go on waiting."
    )


def interrupted(lab: Lab) -> None:
    command = lab.begin("install", "--wait=5m")
    assert command.stdout is not None
    while not command.stdout.readline().startswith("deployment.apps/vacate-manager ready"):
        assert command.poll() is None
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (130, "Interrupted. Run the same command again to continue.\n")


def pods_that_may_not_be_made(lab: Lab) -> None:
    none = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    lab.admin.create(f"{NAMESPACE}/resourcequotas", none)
    until(lambda: "hard" in lab.admin.get(f"{NAMESPACE}/resourcequotas/none").ok().get("status", {}))
    lab.admin.delete(f"/apis/apps/v1/namespaces/{HOME}/deployments/vacate-webhook")
    assert lab.run("install").returncode == 0
    until(lambda: _fails_to_make_pods(lab, "vacate-webhook"))
    done = lab.run("install", "--wait=4s")
    assert done.returncode == 4
    assert "exceeded quota: none" in done.stderr.splitlines()[0]


def _available(lab: Lab, name: str) -> bool:
    found = lab.admin.get(f"/apis/apps/v1/namespaces/{HOME}/deployments/{name}")
    return found.code == 200 and found.obj.get("status", {}).get("availableReplicas") == 2


def _fails_to_make_pods(lab: Lab, name: str) -> bool:
    found = lab.admin.get(f"/apis/apps/v1/namespaces/{HOME}/deployments/{name}").ok()
    return "ReplicaFailure" in [one["type"] for one in found.get("status", {}).get("conditions", [])]


def _unschedulable(lab: Lab) -> list[Obj]:
    pods = lab.admin.get(f"{NAMESPACE}/pods").ok()["items"]
    conditions = [one for pod in pods for one in pod.get("status", {}).get("conditions", [])]
    return [one for one in conditions if one.get("reason") == "Unschedulable"]


def test_killed_in_the_middle(lab: Lab) -> None:
    manager = f"/apis/apps/v1/namespaces/{HOME}/deployments/vacate-manager"
    killed(lab.begin("install"), lambda: lab.admin.get(manager).code == 200)
    done = lab.run("install", "--no-network-policy")
    assert done.returncode == 0, done.stderr
    wanted = Settings(network_policy=False)
    assert lab.there(Settings()) == {path_of(obj) for obj in objects(wanted)}
    noted = lab.admin.get(NOTES).ok()["data"]["objects"].splitlines()
    assert sorted(noted) == sorted(line_of(obj) for obj in objects(wanted))

    killed(lab.begin("uninstall", "--crds"), lambda: lab.admin.get(CONFIGURATIONS[0]).code == 404)
    done = lab.run("uninstall", "--crds")
    assert done.returncode == 0, done.stderr
    until(lambda: lab.there(Settings()) == set())


def killed(command: subprocess.Popen[str], when: Callable[[], bool]) -> None:
    until(when)
    assert command.poll() is None
    command.kill()
    command.communicate(timeout=60)


def test_two_at_once_take_turns(lab: Lab) -> None:
    """Each keeps the options of the other, whichever came first."""
    first = lab.begin("install", "--no-network-policy")
    second = lab.begin("install", "--webhook-url", "https://127.0.0.1:1")
    for one in (first, second):
        out, err = one.communicate(timeout=100)
        assert one.returncode == 0, (out, err)
    wanted = objects(Settings(network_policy=False, webhook_url="https://127.0.0.1:1"))
    assert lab.there(Settings()) == {path_of(obj) for obj in wanted}
    noted = lab.admin.get(NOTES).ok()["data"]["objects"].splitlines()
    assert sorted(noted) == sorted(line_of(obj) for obj in wanted)
    an_upgrade_keeps_them_until_they_are_forgotten(lab)
    one_way_and_the_other(lab)


def an_upgrade_keeps_them_until_they_are_forgotten(lab: Lab) -> None:
    done = lab.run("install", "--dry-run")
    kept = "--no-network-policy --webhook-url=https://127.0.0.1:1"
    assert done.stdout.splitlines()[0] == f"Kept from the installation: {kept}"
    assert "created" not in done.stdout
    assert "configured" not in done.stdout
    assert "networkpolicy" in lab.run("install", "--reset", "network-policy").stdout
    with_url = Settings(webhook_url="https://127.0.0.1:1")
    assert lab.there(Settings()) == {path_of(obj) for obj in objects(with_url)}
    assert lab.run("install", "--reset").returncode == 0
    assert lab.there(Settings()) == {path_of(obj) for obj in objects(Settings())}
    assert json.loads(lab.admin.get(NOTES).ok()["data"]["options"]) == {"image": Settings().image}


def one_way_and_the_other(lab: Lab) -> None:
    """A user who reads that the namespace is terminating can try again."""
    away, back = lab.begin("uninstall"), lab.begin("install")
    _, err = away.communicate(timeout=100)
    assert (away.returncode, err) == (0, "")
    _, err = back.communicate(timeout=100)
    assert back.returncode == 0 or len(err.splitlines()) == 1, err
    done = lab.run("install")
    assert done.returncode == 0, done.stderr
    assert lab.there(Settings()) == {path_of(obj) for obj in objects(Settings())}


def test_a_namespace_on_its_way_out_is_waited_for(lab: Lab) -> None:
    lab.admin.create("/api/v1/namespaces", {"metadata": {"name": HOME}})
    held = {"metadata": {"name": "held", "finalizers": ["example.com/stays"]}}
    lab.admin.create(f"{NAMESPACE}/configmaps", held)
    lab.admin.delete(NAMESPACE)
    command = lab.begin("install")
    until(lambda: "deletionTimestamp" in lab.admin.get(NAMESPACE).ok()["metadata"])
    assert command.poll() is None
    lab.admin.patch(f"{NAMESPACE}/configmaps/held", {"metadata": {"finalizers": None}})
    out, err = command.communicate(timeout=60)
    assert (command.returncode, err) == (0, "")
    assert f"namespace/{HOME} created" in out


def test_rights(lab: Lab, tmp_path: Path) -> None:
    lacking_nearly_all(lab, lab.user("reader", READ, tmp_path))
    unable_to_hand_on(lab.user("controller", WRITE, tmp_path))
    assert lab.run("install").returncode == 0
    assert lab.there(Settings()) == {path_of(obj) for obj in objects(Settings())}


READ = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
WRITE = [
    {
        "apiGroups": [
            "", "apps", "policy", "networking.k8s.io", "admissionregistration.k8s.io",
            "apiextensions.k8s.io", "rbac.authorization.k8s.io", "coordination.k8s.io",
        ],
        "resources": ["*"],
        "verbs": ["get", "create", "patch", "delete"],
    },
    {
        "apiGroups": ["evictionrequest.coordination.k8s.io", "vacate.dev", "evacuation.coordination.k8s.io"],
        "resources": ["*"], "verbs": ["list"],
    },
]  # fmt: skip


def lacking_nearly_all(lab: Lab, kubeconfig: Path) -> None:
    """All that is missing is named, and nothing is begun."""
    done = vacate("install", *IMAGE, "--kubeconfig", str(kubeconfig))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: you may not install Vacate into this cluster; you lack: ")
    assert "create, patch clusterroles.rbac.authorization.k8s.io; " in line
    assert f"create, patch deployments.apps in {HOME}" in line
    assert "list evictionrequests" not in line
    assert lab.there(Settings()) == set()


def unable_to_hand_on(kubeconfig: Path) -> None:
    """Who may write roles and lacks what is in them is stopped by the server; an administrator goes on."""
    done = vacate("install", *IMAGE, "--kubeconfig", str(kubeconfig))
    assert done.returncode == 1
    assert done.stderr.startswith("error: clusterroles.rbac.authorization.k8s.io")
    assert "attempting to grant RBAC permissions not currently held" in done.stderr
