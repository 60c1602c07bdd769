"""What stands in the way of the commands is one line: bad names, no cluster, no server, no rights, no API."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hack.kubelab.ports import reserve_port

from support.processes.cluster import FAST_PODS, environment, running_cluster
from support.processes.commands import PODS, Ended, Lab, vacate

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

COMMANDS = {
    "evict": ("evict", "web"),
    "status": ("status",),
    "status -w": ("status", "-w"),
    "cancel": ("cancel", "web"),
    "explain": ("explain", "web"),
    "drain": ("drain", "node-1"),
}
USAGE = [
    (("evict",), "name at least one pod"),
    (("evict", "web", "-l", "a=b"), "or use -l or --node, not both"),
    (("evict", ""), "it must not be empty"),
    (("evict", "Web"), "lower case"),
    (("evict", "service/web"), "write NAME or pod/NAME"),
    (("evict", "a/../b"), "write NAME or pod/NAME"),
    (("evict", "x" * 300), "must be no more than 253"),
    (("evict", "web", "--requester", "No Name"), "lower case"),
    (("evict", "web", "--deadline", "9m"), "is not between 10m and 24h"),
    (("evict", "web", "--deadline", "soon"), "is not a span of time"),
    (("evict", "web", "--timeout", "-1"), "is not a span of time"),
    (("evict", "web", "-n", "a.b"), "'a.b'"),
    (("evict", "web", "-o", "xml"), "'xml' is not one of"),
    (("evict", "web", "--nope"), "--nope"),
    (("status", "--sort-by", "colour"), "'colour' is not one of"),
    (("status", "-l", "a in b"), "write labels such as"),
    (("cancel", "-l", ""), "it is empty"),
    (("cancel", "web", "-l", "a=b"), "name pods or use -l"),
    (("status", "-A", "-n", "x"), "use -A or -n, not both"),
    (("status", "a b"), "lower case"),
    (("cancel",), "name at least one pod"),
    (("cancel", "\n"), "lower case"),
    (("explain",), "Missing argument"),
    (("explain", "a", "b"), "unexpected extra argument"),
]


def one_line(ended: Ended) -> str:
    """The only line of a refusal."""
    assert ended.code == 1, ended
    assert ended.out == ""
    (line,) = ended.err.splitlines()
    assert line.startswith("error: ")
    return line


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=lambda value: str(value)[:40])
def test_what_makes_no_sense_is_refused_before_anything_is_asked(
    arguments: tuple[str, ...], message: str
) -> None:
    ended = vacate({"KUBECONFIG": "/nowhere/at/all"}, *arguments)
    assert ended.code == 2, ended
    assert ended.out == ""
    assert message in " ".join(ended.err.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_no_kubeconfig(command: str, tmp_path: Path) -> None:
    line = one_line(vacate({"KUBECONFIG": str(tmp_path / "none")}, *COMMANDS[command]))
    assert line == f"error: {tmp_path / 'none'}: no such kubeconfig file; set KUBECONFIG or name another"


def test_a_kubeconfig_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("{")
    assert "is not YAML" in one_line(vacate({}, "status", "--kubeconfig", str(tmp_path / "config")))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_does_not_answer(command: str, tmp_path: Path) -> None:
    port = reserve_port()
    config = kubeconfig_of(f"https://127.0.0.1:{port}", tmp_path)
    line = one_line(vacate({"KUBECONFIG": str(config)}, *COMMANDS[command]))
    assert line.startswith(
        f"error: cannot reach the API server https://127.0.0.1:{port}: the connection is refused"
    )
    assert "--context" in line


def kubeconfig_of(server: str, folder: Path) -> Path:
    path = folder / "config"
    document = {
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("refusals") / "dir"
    folder.mkdir()
    users = ("nothing,nobody,1", 'looking,reader,2,"readers"', "draining,maintainer,3")
    (folder / "tokens.csv").write_text("\n".join([*users, ""]))
    with running_cluster(folder, *FAST_PODS) as running:
        lab = Lab(running)
        lab.pod("web", "backup.example.com", labels={"app": "web"})
        yield lab


def allow(lab: Lab, group: str, rules: list[dict[str, list[str]]]) -> None:
    roles, bindings = (
        f"/apis/rbac.authorization.k8s.io/v1/{kind}" for kind in ("clusterroles", "clusterrolebindings")
    )
    lab.https.create(roles, {"metadata": {"name": group}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": group}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}
    lab.https.create(bindings, {"metadata": {"name": group}, "roleRef": role, "subjects": [subject]})


@pytest.mark.parametrize("command", COMMANDS)
def test_a_user_without_rights(command: str, lab: Lab, tmp_path: Path) -> None:
    nobody = lab.kubeconfig(tmp_path, {"token": "nothing"})
    line = one_line(lab.vacate(*COMMANDS[command], kubeconfig=nobody))
    assert 'is forbidden: User "nobody" cannot ' in line


@pytest.mark.parametrize("command", ["evict", "cancel"])
def test_an_error_common_to_all_pods_is_printed_once(command: str, tmp_path: Path) -> None:
    port = reserve_port()
    config = kubeconfig_of(f"https://127.0.0.1:{port}", tmp_path)
    ended = vacate({"KUBECONFIG": str(config)}, command, *["web"] * 2, "other")
    assert "cannot reach the API server" in one_line(ended)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_user_whom_nobody_knows(command: str, lab: Lab, tmp_path: Path) -> None:
    stranger = lab.kubeconfig(tmp_path, {"token": "wrong"})
    assert "Unauthorized" in one_line(lab.vacate(*COMMANDS[command], kubeconfig=stranger))


def test_a_reader_may_look_and_not_ask(lab: Lab, tmp_path: Path) -> None:
    looking = {"verbs": ["get", "list", "watch"]}
    group = "evictionrequest.coordination.k8s.io"
    allow(
        lab,
        "readers",
        [
            {**looking, "apiGroups": [""], "resources": ["pods"]},
            {"verbs": ["get", "list", "create"], "apiGroups": [group], "resources": ["evictionrequests"]},
        ],
    )
    reader = lab.kubeconfig(tmp_path, {"token": "looking"})
    explained = lab.vacate("explain", "web", kubeconfig=reader)
    assert explained.out.startswith("No eviction of pod web is requested.")
    assert explained.err == "You may not read disruption budgets in this namespace; they are not explained.\n"
    assert lab.vacate("status", kubeconfig=reader).err == "No eviction requests in namespace default.\n"
    assert "is forbidden" in one_line(lab.vacate("evict", "web", kubeconfig=reader))


def test_a_drain_without_rights_names_the_role_and_works_with_it(lab: Lab, tmp_path: Path) -> None:
    maintainer = lab.kubeconfig(tmp_path, {"token": "draining"})
    drain = ("drain", "node-1", "--force", "--pod-selector", "app=none", "--detach")
    line = one_line(lab.vacate(*drain, kubeconfig=maintainer))
    assert 'User "maintainer" cannot get resource "nodes"' in line
    assert "an administrator grants it with: kubectl create clusterrolebinding" in line
    (role,) = set(re.findall(r"vacate-[a-z-]+", line))
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "maintainer"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "maintainer"}],
    }
    lab.https.create(f"/apis/{group}/v1/clusterrolebindings", binding)
    begun = lab.vacate(*drain, kubeconfig=maintainer)
    assert (begun.code, begun.err) == (0, "")
    assert lab.vacate("drain", "--cancel", "drain-node-1", kubeconfig=maintainer).code == 0
    # The role is for drains: it neither requests evictions nor deletes pods by itself.
    assert "cannot create resource" in one_line(lab.vacate("evict", "web", kubeconfig=maintainer))


def test_contexts_and_namespaces(lab: Lab, tmp_path: Path) -> None:
    config = str(lab.cluster.kubeconfig)
    assert lab.vacate("status", "--context", "vacate", "--kubeconfig", config).code == 0
    assert "there is no context 'other'" in one_line(lab.vacate("status", "--context", "other"))
    assert one_line(lab.vacate("evict", "web", "-n", "elsewhere")) == (
        'error: pods "web" not found in namespace elsewhere; choose another namespace with -n'
    )


def test_several_kubeconfigs_are_one(lab: Lab, tmp_path: Path) -> None:
    config = yaml.safe_load(lab.cluster.kubeconfig.read_text())
    parts = []
    for part in ("clusters", "users", "contexts"):
        (tmp_path / part).write_text(yaml.safe_dump({part: config[part]}))
        parts.append(str(tmp_path / part))
    (tmp_path / "current").write_text(yaml.safe_dump({"current-context": config["current-context"]}))
    several = os.pathsep.join([str(tmp_path / "missing"), *parts, str(tmp_path / "current")])
    shown = lab.vacate("status", kubeconfig=several).err.splitlines()
    assert shown[0] == "No eviction requests in namespace default."  # drains of other tests may follow


def test_credentials_from_a_program(lab: Lab, tmp_path: Path) -> None:
    plugin = tmp_path / "login"
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "nothing"}}
    plugin.write_text(f"#!{sys.executable}\nprint('''{json.dumps(credential)}''')\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    run = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}
    config = lab.kubeconfig(tmp_path, {"exec": run})
    assert 'User "nobody" cannot' in one_line(lab.vacate("status", kubeconfig=config))


def test_a_cluster_without_the_api(tmp_path: Path) -> None:
    with running_cluster(
        tmp_path / "dir", "--nodes", "0", "--feature-gates", "EvictionRequestAPI=false"
    ) as cluster:
        bare = Lab(cluster)
        containers = [{"name": "main", "image": "app:1"}]
        bare.https.create(PODS, {"metadata": {"name": "web"}, "spec": {"containers": containers}})
        about_requests = [words for words in COMMANDS.values() if words[0] not in ("drain", "explain")]
        for arguments in (*about_requests, ("evict", "web", "web"), ("cancel", "web", "--override")):
            assert "this cluster serves no EvictionRequests" in one_line(bare.vacate(*arguments))
        assert "Install Vacate." in bare.vacate("explain", "web").out


def test_a_drain_on_a_cluster_without_nodemaintenances_names_them(tmp_path: Path) -> None:
    gates = ("--feature-gates", "NodeMaintenance=false")
    with running_cluster(tmp_path / "dir", "--nodes", "1", *gates) as cluster:
        bare = Lab(cluster)
        error = one_line(bare.vacate("drain", "node-1"))
        assert "this cluster serves no NodeMaintenances (vacate.dev/v1alpha1)" in error
        assert error.rstrip().endswith(
            "open Vacate's feature gate NodeMaintenance"
        )  # no API of evictions helps
        tried = bare.vacate("drain", "node-1", "--dry-run")
        assert (tried.code, tried.err.startswith("This is a preview only: this cluster serves no Node")) == (
            0,
            True,
        )


@pytest.mark.parametrize("command", ["evict", "status", "cancel", "explain"])
@pytest.mark.thorough
def test_an_interrupt_while_the_server_is_silent(command: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = kubeconfig_of(f"http://127.0.0.1:{silent.getsockname()[1]}", tmp_path)
        process = subprocess.Popen(
            [sys.executable, "-m", "vacate", *COMMANDS[command]],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**environment(), "KUBECONFIG": str(config)},
        )
        silent.settimeout(110)
        accepted, _ = silent.accept()
        with accepted:
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out.startswith("Interrupted.")
    assert "Traceback" not in out
