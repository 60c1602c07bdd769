"""An upgrade from an earlier version and back, with evictions in flight: no turn begins anew, none is lost.

The earlier one is the wheel of a commit before this one. Each time the objects change first and the programs
after that, as Deployments roll: for a while programs of one version work with the objects of the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from hack.kubelab.control_plane import ControlPlane, running
from hack.kubelab.obtain import ASSETS

from support.https import Https, Obj
from support.manifests import pod
from support.processes.cluster import environment, vacate
from support.realcluster.audit import confined
from support.realcluster.evictions import RealCluster
from support.waiting import until
from vacate.api.kinds import EVICTIONREQUESTS as KIND

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[4]
EARLIER = "06848b5e"
"""The oldest commits of which the cluster keeps the options are not much older."""
PODS = "/api/v1/namespaces/default/pods"
REQUESTS = KIND.collection_path("default")
INTERCEPTOR = "backup.example.com"
REGISTERED = {f"interceptor.{KIND.group}/priority_{INTERCEPTOR}": "100"}


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with running(Path(os.environ[ASSETS]), tmp_path_factory.mktemp("upgrade"), audit=True) as plane:
        yield plane


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel of the earlier commit."""
    folder = tmp_path_factory.mktemp("earlier")
    archived = subprocess.run(["git", "archive", EARLIER], cwd=ROOT, capture_output=True, check=False)
    if archived.returncode:
        pytest.skip(f"commit {EARLIER} is not in this clone")
    with tarfile.open(fileobj=BytesIO(archived.stdout)) as sources:
        sources.extractall(folder / "sources", filter="data")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=folder / "sources", check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


class Upgrade:
    """The cluster, whose commands and programs are of one version or the other."""

    def __init__(self, plane: ControlPlane, earlier: Path, patches: pytest.MonkeyPatch) -> None:
        self._earlier, self._patches = earlier, patches
        self._kubeconfig = plane.kubeconfig
        self.use(earlier=True)
        self.admin = Https.from_kubeconfig(plane.kubeconfig)
        self.cluster = RealCluster(plane)

    def use(self, *, earlier: bool) -> None:
        """From now on what is started is of this version."""
        if earlier:
            self._patches.setenv("PYTHONPATH", str(self._earlier))
        else:
            self._patches.delenv("PYTHONPATH")
        where = [sys.executable, "-c", "import vacate; print(vacate.__file__)"]
        found = subprocess.run(where, env=environment(), capture_output=True, text=True, check=True).stdout
        assert found.startswith(str(self._earlier)) is earlier

    def change_objects(self) -> None:
        """By the options that the cluster has kept."""
        done = vacate("install", "--kubeconfig", str(self._kubeconfig))
        assert done.returncode == 0, done.stderr
        assert "Kept from the installation" in done.stdout

    def change_programs(self) -> None:
        for one in (*self.cluster.managers, self.cluster.webhook, self.cluster.certificates):
            assert one.stop() == 0, one.output
        self.cluster.start()

    def begin(self, name: str) -> str:
        """The eviction of a new pod, whose interceptor is at work; the name of the request."""
        body = pod(name, schedulerName="nobody")
        body["metadata"]["annotations"] = REGISTERED
        made = self.admin.create(PODS, body)
        uid = str(made["metadata"]["uid"])
        spec = {"target": {"podRef": {"name": name, "uid": uid}}, "requesters": [{"name": "a.example.com"}]}
        body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": uid}, "spec": spec}
        self.admin.create(REQUESTS, body)
        until(lambda: self.status(uid).get("activeInterceptorName") == INTERCEPTOR)
        self.admin.patch(f"{REQUESTS}/{uid}/status", {"status": {"message": "a half is saved"}})
        return uid

    def status(self, uid: str) -> Obj:
        found: Obj = self.admin.get(f"{REQUESTS}/{uid}").ok().get("status", {})
        return found

    def assigned(self, uid: str) -> tuple[str, str, str]:
        """Whose turn it is, since when, and what it has said."""
        status = self.status(uid)
        (turn,) = [one for one in status["conditions"] if one["type"] == "InterceptorAssigned"]
        return status["activeInterceptorName"], turn["lastTransitionTime"], status["message"]

    def complete(self, uid: str, name: str) -> None:
        """The turn ends, and the pod goes."""
        self.admin.patch(f"{REQUESTS}/{uid}/status", {"status": {"activeInterceptorCompleted": True}})
        until(lambda: self.admin.get(f"{PODS}/{name}").code == 404)


def test_an_upgrade_and_the_way_back_keep_evictions_in_flight(
    plane: ControlPlane, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Upgrade(plane, earlier, monkeypatch)
    try:
        lab.cluster.start()
        going = {name: lab.begin(name) for name in ("between-up", "after-up", "between-down", "after-down")}
        turns = {name: lab.assigned(uid) for name, uid in going.items()}

        for way, is_earlier in (("up", False), ("down", True)):
            lab.use(earlier=is_earlier)
            lab.change_objects()
            lab.complete(going[f"between-{way}"], f"between-{way}")  # by programs of the other version
            lab.change_programs()
            assert lab.assigned(going[f"after-{way}"]) == turns[f"after-{way}"]
            lab.complete(going[f"after-{way}"], f"after-{way}")
            fresh = lab.begin(f"fresh-{way}")
            lab.complete(fresh, f"fresh-{way}")
    finally:
        lab.cluster.close()
    assert confined(plane.layout.audit_log) == set()
