"""Images and charts reach a real registry, and come back as they were.

The registry is that of Debian's package, which is only unpacked; where it cannot be had,
these tests are left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import io
import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hack.kubelab.children import end_child
from hack.kubelab.ports import reserve_port
from hack.nodelab import archive as ociarchive
from hack.registry import RegistryError
from hack.release import chart, push

from support.realcluster.helm import Helm, helm_or_reason
from support.waiting import until
from vacate import __version__

pytestmark = [pytest.mark.process, pytest.mark.thorough]

CONFIG = """
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
auth: {{htpasswd: {{realm: here, path: {folder}.users}}}}
"""
USER = {"REGISTRY_USER": "ann", "REGISTRY_PASSWORD": "U*U"}
# Of that password, from the test vectors of crypt_blowfish.
HASH = "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
BASIC = {"Authorization": "Basic YW5uOlUqVQ=="}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if found := shutil.which("docker-registry"):
        return found
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        pytest.skip("no docker-registry, and no Debian to take its package from")
    folder = tmp_path_factory.mktemp("package")
    quiet = ("-q", "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true")
    got = subprocess.run(["apt-get", *quiet, "download", "docker-registry"], cwd=folder, check=False)
    if got.returncode:
        pytest.skip("the package docker-registry cannot be downloaded")
    subprocess.run(["dpkg-deb", "--extract", *folder.glob("*.deb"), folder / "root"], check=True)
    return str(folder / "root/usr/bin/docker-registry")


@pytest.fixture
def registry(program: str, tmp_path: Path) -> Iterator[str]:
    """Its address. Who has no password is refused."""
    port, folder = reserve_port(), tmp_path / "registry"
    (tmp_path / "registry.users").write_text(f"ann:{HASH}\n")
    config = tmp_path / "registry.yaml"
    config.write_text(CONFIG.format(folder=folder, port=port))
    with (tmp_path / "registry.log").open("wb") as log:
        child = subprocess.Popen([program, "serve", str(config)], stdout=log, stderr=log)
        try:
            until(lambda: answers(f"127.0.0.1:{port}") or child.poll() is not None)
            yield f"127.0.0.1:{port}"
        finally:
            end_child(child, 10.0)


def answers(address: str) -> bool:
    try:
        return get(address, "/v2/")[0] == 200
    except OSError:
        return False


def get(address: str, path: str, accept: str = "*/*") -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection(address)) as connection:
        connection.request("GET", path, headers={**BASIC, "Accept": accept})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release of a chart, and of a small image for each architecture."""
    folder, root = tmp_path / "release", tmp_path / "root"
    folder.mkdir()
    root.mkdir()
    (folder / f"vacate-{__version__}.tgz").write_bytes(chart("here/vacate:1", 0))
    for name in ("arm64", "amd64"):
        (root / "file").write_text(name)
        monkeypatch.setattr(ociarchive, "architecture", lambda name=name: name)
        archive = folder / f"vacate-{__version__}-{name}.oci.tar"
        ociarchive.write_archive(ociarchive.Image("vacate"), root, archive)
    return folder


def test_they_can_be_pulled(registry: str, parts: Path, tmp_path: Path) -> None:
    place = f"{registry}/team"
    first = push(parts, place, USER)
    assert push(parts, place, USER) == first  # what is there already is sent again by nobody
    image, pushed_chart = first
    assert image.startswith(f"{place}/vacate:{__version__}@sha256:")
    assert pushed_chart.startswith(f"oci://{place}/charts/vacate:{__version__}@sha256:")

    path = "/v2/team/vacate"
    index = pulled(registry, f"{path}/manifests/{__version__}", image.partition("@")[2])
    assert [one["platform"]["architecture"] for one in index["manifests"]] == ["amd64", "arm64"]
    for one in index["manifests"]:
        manifest = pulled(registry, f"{path}/manifests/{one['digest']}", one["digest"])
        config = pulled(
            registry, f"{path}/blobs/{manifest['config']['digest']}", manifest["config"]["digest"]
        )
        assert config["architecture"] == one["platform"]["architecture"]
        code, layer = get(registry, f"{path}/blobs/{manifest['layers'][0]['digest']}")
        assert code == 200
        with tarfile.open(fileobj=io.BytesIO(layer)) as files:
            content = files.extractfile("./file")
            assert content is not None
            assert content.read().decode() == config["architecture"]
    helm_takes_the_chart(registry, parts, tmp_path)


def pulled(registry: str, path: str, digest: str) -> dict[str, Any]:
    index, manifest = (f"application/vnd.oci.image.{one}.v1+json" for one in ("index", "manifest"))
    code, content = get(registry, path, f"{index}, {manifest}")
    assert code == 200, content
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == digest
    found: dict[str, Any] = json.loads(content)
    return found


def helm_takes_the_chart(registry: str, parts: Path, tmp_path: Path) -> None:
    program, _ = helm_or_reason()
    if program is None:
        return  # what is in the registry has been compared above
    helm = Helm(program, tmp_path)
    helm.run("registry", "login", registry, "--plain-http", "-u", "ann", "-p", USER["REGISTRY_PASSWORD"])
    helm.run(
        "pull",
        f"oci://{registry}/team/charts/vacate",
        "--version",
        __version__,
        "--plain-http",
        "-d",
        str(tmp_path),
    )
    name = f"vacate-{__version__}.tgz"
    assert (tmp_path / name).read_bytes() == (parts / name).read_bytes()


def test_what_it_does_not_take_is_one_clear_error(registry: str, parts: Path, tmp_path: Path) -> None:
    with pytest.raises(RegistryError, match=r"401 .*set REGISTRY_USER and REGISTRY_PASSWORD"):
        push(parts, registry, {})
    with pytest.raises(RegistryError, match="Connection refused"):
        push(parts, f"127.0.0.1:{reserve_port()}", USER)
    (parts / "vacate-0-s390x.oci.tar").write_bytes((parts / f"vacate-{__version__}.tgz").read_bytes())
    with pytest.raises(RegistryError, match=r"is no OCI archive: it has no index\.json"):
        push(parts, registry, USER)
