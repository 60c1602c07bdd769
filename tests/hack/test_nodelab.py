"""The parts of a node with containers that are plain values: the settings of programs, and what is packed."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest
from hack.kubelab.flags import Layout, Ports, api_server, controller_manager
from hack.kubelab.release import KubeError
from hack.nodelab import preconditions
from hack.nodelab.archive import Image, write_archive
from hack.nodelab.cgroups import Hierarchy, hierarchies
from hack.nodelab.kept import kept
from hack.nodelab.packages import Apt
from hack.nodelab.settings import NodeCredentials, kubelet, proxy
from hack.nodelab.supervisor import PLACE, in_groups

pytestmark = pytest.mark.unit

OLD_TREES = """\
30 24 0:26 / /sys/fs/cgroup rw shared:9 - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
32 30 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
34 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
35 30 0:30 / /elsewhere rw - cgroup cgroup rw,memory
"""
ONE_TREE = "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
PORTS = Ports(1, 2, 3, 4, 5)


def test_control_groups_of_both_kinds() -> None:
    control = Path("/sys/fs/cgroup")
    assert hierarchies(OLD_TREES) == [
        Hierarchy(control / "cpu", "cgroup", "cpu"),
        Hierarchy(control / "systemd", "cgroup", "none,name=systemd"),
    ]
    assert hierarchies(ONE_TREE) == [Hierarchy(control, "cgroup2", "")]
    assert hierarchies("30 24 0:26 / / rw - ext4 /dev/vda rw\n") == []


def test_a_command_in_groups_and_namespaces() -> None:
    words = in_groups([Path("/a"), Path("/b")], "/tmp/x", ["program", PLACE, "rest"])
    assert words[:2] == ["sh", "-ec"]
    assert words[3:7] == ["sh", "/a", "/b", "--"]
    assert {"--net", "--mount", "--pid", "--cgroup", "--kill-child"} <= set(words)
    assert words[-3:] == ["program", "/tmp/x", "rest"]


def test_pods_find_the_api_server_and_their_tokens(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    alone, with_pods = api_server(layout, PORTS), api_server(layout, PORTS, address="192.0.2.1")
    assert "--disable-admission-plugins=ServiceAccount" in alone
    assert "--bind-address=127.0.0.1" in alone
    assert not any(one.startswith("--disable-admission-plugins") for one in with_pods)
    assert {"--advertise-address=192.0.2.1", "--authorization-mode=Node,RBAC"} <= set(with_pods)
    publisher = "-root-ca-certificate-publisher-controller"
    assert publisher in " ".join(controller_manager(layout, PORTS))
    assert publisher not in " ".join(controller_manager(layout, PORTS, containers=True))


def test_the_machine_is_left_as_it_is(tmp_path: Path) -> None:
    credentials = NodeCredentials(
        tmp_path / "ca", tmp_path / "server", tmp_path / "kubelet", tmp_path / "proxy"
    )
    assert set(proxy(credentials)["conntrack"].values()) == {0, "0s"}
    assert kubelet(credentials)["enforceNodeAllocatable"] == []
    assert kubelet(credentials)["authentication"]["anonymous"] == {"enabled": False}


def test_an_image_can_be_checked_by_its_digests(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin/tool").write_text("#!/bin/sh\n")
    (root / "bin/link").symlink_to("tool")
    write_archive(Image("localhost/x:1", ["/bin/tool"], {"PATH": "/bin"}), root, tmp_path / "x.tar")
    with tarfile.open(tmp_path / "x.tar") as archive:
        content = {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]
    blobs = {name.rpartition("/")[2]: blob for name, blob in content.items() if name.startswith("blobs/")}
    assert all(hashlib.sha256(blob).hexdigest() == name for name, blob in blobs.items())
    (listed,) = json.loads(content["index.json"])["manifests"]
    assert listed["annotations"] == {"org.opencontainers.image.ref.name": "localhost/x:1"}
    manifest = json.loads(blobs[listed["digest"].removeprefix("sha256:")])
    config = json.loads(blobs[manifest["config"]["digest"].removeprefix("sha256:")])
    assert config["config"] == {"Env": ["PATH=/bin"], "Cmd": ["/bin/tool"]}
    assert config["rootfs"]["diff_ids"] == [layer["digest"] for layer in manifest["layers"]]
    assert len(config["history"]) == len(manifest["layers"])


def test_what_is_kept_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VACATE_KUBE_CACHE", str(tmp_path))
    made: list[str] = []

    def make(folder: Path) -> None:
        made.append(folder.name)
        (folder / "half").touch()
        if len(made) == 1:
            raise KubeError("no")

    with pytest.raises(KubeError):
        kept("image", "a", make)
    assert sorted(one.name for one in (tmp_path / "node").iterdir()) == ["lock"]
    assert kept("image", "a", make) == kept("image", "a", make) == tmp_path / "node/image-a"
    assert len(made) == 2
    kept("other", "a", make)
    kept("image", "b", make)
    assert sorted(one.name for one in (tmp_path / "node").glob("*-*")) == ["image-b", "other-a"]


def test_lists_of_packages_that_are_missing_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "apt-get"
    fake.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        "*Dir::State::lists=*update) exit 0;;\n"
        "*Dir::State::lists=*a) echo \"'http://x.example/a.deb' a_1.deb 17 SHA256:abc\"; exit 0;;\n"
        "esac\n"
        "echo Unable to locate package >&2; exit 100\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "scratch").mkdir()
    apt = Apt(tmp_path / "scratch", tmp_path / "lists")
    assert apt.choose(["a"]) == ["a_1.deb SHA256:abc"]
    with pytest.raises(KubeError, match="cannot get b:\nUnable to locate"):
        apt.choose(["b"])


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert preconditions.missing() == "a node with containers needs root"
    with pytest.raises(KubeError, match="root"):
        preconditions.check()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "apt-get" in preconditions.missing()
