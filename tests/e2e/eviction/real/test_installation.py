"""An installation comes over an older one, changes nothing when it comes again, and goes without a trace.

On a control plane of its own, since whatever it leaves behind would be in the way of others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hack.kubelab.control_plane import ControlPlane, running
from hack.kubelab.obtain import ASSETS

from support.https import Https, Obj
from support.manifests import pod
from support.processes.cluster import vacate
from support.realcluster.evictions import RealCluster
from support.waiting import until
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.types.evictionrequest import ADMITTED_STAMP

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

OLD = Path(__file__).parents[3] / "install/schemas-0.1.0/evictionrequests.yaml"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"
REQUESTS = KIND.collection_path("default")
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
CLUSTER_WIDE = (
    f"{ADMISSION}/mutatingwebhookconfigurations",
    f"{ADMISSION}/validatingwebhookconfigurations",
    f"{ADMISSION}/validatingadmissionpolicies",
    f"{ADMISSION}/validatingadmissionpolicybindings",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/api/v1/namespaces",
)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with running(Path(os.environ[ASSETS]), tmp_path_factory.mktemp("installation"), audit=True) as plane:
        yield plane


def test_upgrade_and_removal(plane: ControlPlane) -> None:
    admin = Https.from_kubeconfig(plane.kubeconfig)
    before = with_old_requests(admin)
    cluster = RealCluster(plane, as_installed=True)  # which installs over what is there
    try:
        assert requests(admin) == before
        the_old_ones_are_attended_to(admin, cluster)
        settled = requests(admin)
        again = cluster.install().splitlines()[:-1]
        assert [line for line in again if not line.endswith(" unchanged")] == []
    finally:
        cluster.close()
    uninstalled(admin, plane, settled)
    cluster.install()
    assert requests(admin) == settled
    assert "goes, with 3 EvictionRequests" in removed(plane, "--crds")
    assert admin.get(f"{DEFINITIONS}/{KIND.resource}").code == 404


def with_old_requests(admin: Https) -> dict[str, Obj]:
    """Requests under the old definition: one to go on with, one that nobody admitted, one that is over."""
    admin.create(DEFINITIONS, yaml.safe_load(OLD.read_text()))
    until(lambda: admin.get(REQUESTS).code == 200)
    for name, stamp in (("goes-on", "true"), ("unadmitted", ""), ("over", "true")):
        made = admin.create(PODS, pod(name, schedulerName="nobody"))
        meta: Obj = {"name": made["metadata"]["uid"], "labels": {"app": name}}
        meta["annotations"] = {ADMITTED_STAMP: stamp} if stamp else {}
        spec = {
            "target": {"podRef": {"name": name, "uid": meta["name"]}},
            "requesters": [{"name": "a.example.com"}],
        }
        body = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": meta, "spec": spec}
        admin.create(REQUESTS, body)
        if name == "over":
            admin.patch(f"{REQUESTS}/{meta['name']}/status", {"status": cancelled()})
    return requests(admin)


def cancelled() -> Obj:
    one = {"type": "Complete", "status": "True", "reason": "Cancelled", "message": "Nobody wants it."}
    return {
        "message": "Nobody wants it.",
        "conditions": [{**one, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
    }


def requests(admin: Https) -> dict[str, Obj]:
    """All requests by the names of their pods, but for who wrote which field."""
    until(lambda: admin.get(REQUESTS).code != 429)  # while it takes over a new definition
    found = {one["metadata"]["labels"]["app"]: one for one in admin.get(REQUESTS).ok()["items"]}
    for one in found.values():
        one["metadata"].pop("managedFields", None)
    return found


def the_old_ones_are_attended_to(admin: Https, cluster: RealCluster) -> None:
    cluster.start()
    until(lambda: condition(requests(admin)["goes-on"], "Complete") == "True")
    until(lambda: condition(requests(admin)["unadmitted"], "Admitted") == "False")
    assert admin.get(f"{PODS}/goes-on").code == 404
    for spared in ("unadmitted", "over"):
        assert "deletionTimestamp" not in admin.get(f"{PODS}/{spared}").ok()["metadata"]
    for one in (*cluster.managers, cluster.webhook):
        assert one.stop() == 0


def condition(request: Obj, kind: str) -> str:
    found = request.get("status", {}).get("conditions", [])
    return str(next((one["status"] for one in found if one["type"] == kind), ""))


def uninstalled(admin: Https, plane: ControlPlane, expected: dict[str, Obj]) -> None:
    """No object is lost, nothing of Vacate is left, and nothing is refused for its absence."""
    assert "kept, with 3 EvictionRequests" in removed(plane)
    until(lambda: left_behind(admin) == [])
    assert requests(admin) == expected
    name = expected["over"]["metadata"]["name"]
    admin.patch(f"{REQUESTS}/{name}", {"metadata": {"annotations": {"seen": "yes"}}})
    admin.patch(f"{REQUESTS}/{name}", {"metadata": {"annotations": {"seen": None}}})
    admin.create(PODS, pod("afterwards", schedulerName="nobody"))
    expected |= requests(admin)


def removed(plane: ControlPlane, *options: str) -> str:
    done = vacate("uninstall", "--kubeconfig", str(plane.kubeconfig), *options, seconds=110)
    assert done.returncode == 0, done.stderr
    return done.stdout


def left_behind(admin: Https) -> list[str]:
    """Whatever has the name of Vacate."""
    found = [(path, one) for path in CLUSTER_WIDE for one in admin.get(path).ok()["items"]]
    return [f"{path}/{one['metadata']['name']}" for path, one in found if "vacate" in one["metadata"]["name"]]
