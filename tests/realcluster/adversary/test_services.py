"""A service that a hook or a fence agent calls: it answers as it likes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from support.certificates import Authority
from support.https import Obj
from support.processes.program import Program
from support.realcluster.adversary import (
    ROWS,
    TENANTS,
    Site,
    held_in_code,
    new_request,
)
from support.realcluster.evictions import HOME
from support.tlsserver import JsonHandler, TlsServer, serving
from support.waiting import until
from vacate.api.installednames import HOOKS, MANAGER
from vacate.api.kinds import EVENTS, EVICTIONREQUESTS, FENCINGPOLICIES, NODES, ROLEBINDINGS, ROLES, SECRETS
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.fencing.annotations import FENCED, REQUESTED
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, ON_FAILURE, TARGET, TIMEOUT
from vacate.kube.nodes import OUT_OF_SERVICE

pytestmark = ROWS
TOKEN = "s3cret-t0ken"
MACHINE = "machine-"
"""Before what a service does: the name of a node whose fence agent it is."""
ESCAPES = "\x1b]0;owned\x07\x1b[2J done\nEVERYTHING is drained"
BY_ANSWER = ("redirect", "metadata", "huge", "secret", "escapes", "drip", "another-node")
HOSTILE = (*BY_ANSWER, "another-authority")


class _Handler(JsonHandler):
    server: HostileService

    def do_POST(self) -> None:  # noqa: N802  as the base class calls it
        path, sent = self.path.strip("/"), self.sent()
        self.server.called.append(path)
        what = path.removeprefix(MACHINE)
        off = {"node": sent.get("node"), "uid": sent.get("uid"), "state": "off"}
        # To a hook any 200 is a success; of a fence agent the answer has to be read.
        code = 200 if what != path else 400
        if what == "redirect":
            self.answer(off, 307, Location=f"{self.server.url}/elsewhere")
        elif what == "metadata":
            self.answer(off, 302, Location="http://169.254.169.254/latest/meta-data")
        elif what == "huge":
            self.answer({**off, "message": "x" * 5_000_000})
        elif what == "secret":
            self.answer({**off, "state": "on", "message": f"you sent {self.headers['Authorization']}"}, code)
        elif what == "escapes":
            self.answer({**off, "state": "on", "message": ESCAPES}, code)
        elif what == "another-node":
            self.answer({**off, "uid": "u-2"}, code)
        elif what == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(120):  # it is what the service does, not a wait of a test
                self.wfile.write(b" ")
                time.sleep(0.5)
        else:
            self.answer(off)


class HostileService(TlsServer):
    """Each path is another answer."""

    def __init__(self) -> None:
        self.called: list[str] = []
        super().__init__(_Handler)

    def calls(self, what: str) -> str:
        return f"{self.url}/{what}"

    def elsewhere(self) -> list[str]:
        return [one for one in self.called if one.removeprefix(MACHINE) not in BY_ANSWER]


@pytest.fixture(scope="module")
def service() -> Iterator[HostileService]:
    with serving(HostileService()) as made:
        yield made


def harmless(text: str) -> None:
    """What others read of it shows no secret, and is one short line."""
    assert TOKEN not in text
    assert not set(text) & set("\x1b\x07\n"), text
    assert len(text) < 2_000


@pytest.fixture(scope="module")
def shown(
    site: Site, service: HostileService, fencing: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Obj]]:
    """`vacate hooks` with its own account calls all of it, for a pod each; their requests in the end.

    Meanwhile the manager watches which nodes report.
    """
    folder = tmp_path_factory.mktemp("hooks")
    files = {"token": TOKEN.encode(), "ca": service.authority.pem, "other-ca": Authority().pem}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    config = _listed(folder, service)
    site.cluster.install("--hooks", str(config))
    account = site.cluster.account(HOME, HOOKS)
    options = ("--kubeconfig", str(account), "--lease-namespace", HOME, "--metrics-port", "0", "-v")
    program = Program(folder / "hooks.log", "hooks", "--config", str(config), *options)
    program.start()
    try:
        program.wait_for("health and metrics on")
        yield _turns(site)
    finally:
        program.kill()


class TestHookService:
    @held_in_code("row-hook-answers", "a-token-is-no-part-of-an-answer")
    @pytest.mark.parametrize("what", HOSTILE)
    def test_is_no_success_and_shows_nothing_but_a_line(
        self, site: Site, service: HostileService, shown: dict[str, Obj], what: str
    ) -> None:
        status = shown[what]["status"]
        types = {one["type"]: one for one in status["conditions"]}
        assert f"{HOOKS_INTERCEPTOR}/Failed" in types
        assert f"{HOOKS_INTERCEPTOR}/Succeeded" not in types
        for text in (status["message"], *(one.get("message", "") for one in types.values())):
            harmless(text)
        assert not service.elsewhere()


def _listed(folder: Path, service: HostileService) -> Path:
    """The administrator's list: a target for each answer."""
    targets = [
        {
            "name": what,
            "url": service.calls(what),
            "namespaces": [TENANTS],
            "caFile": str(folder / ("other-ca" if what == "another-authority" else "ca")),
            "tokenFile": str(folder / "token"),
        }
        for what in HOSTILE
    ]
    config = folder / "hooks.yaml"
    config.write_text(yaml.safe_dump({"targets": targets}))
    return config


def _turns(site: Site) -> dict[str, Obj]:
    """Requests for pods with each of the hooks, when all of these have failed."""
    made = {}
    for what in HOSTILE:
        chosen = {TARGET: what, TIMEOUT: "5s", ON_FAILURE: "Hold"}
        pod = site.pod(HOOKS_INTERCEPTOR, annotations=chosen)
        made[what] = site.admin.create(EVICTIONREQUESTS, new_request(pod, EVICTION_REQUEST)).ok()

    def ended() -> dict[str, Obj] | None:
        now = {what: site.now(one) for what, one in made.items()}
        conditions = [json.dumps(one.get("status", {}).get("conditions")) for one in now.values()]
        return now if all(f"{HOOKS_INTERCEPTOR}/" in one for one in conditions) else None

    found = until(ended)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def fencing(site: Site, service: HostileService) -> Iterator[None]:
    """Lost machines that the manager has to fence, each by a policy and another answer of the service."""
    machines = [f"{MACHINE}{what}" for what in HOSTILE]
    rules = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": machines}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "machines"}
    manager = {"kind": "ServiceAccount", "name": MANAGER, "namespace": HOME}
    named = {"metadata": {"name": "machines"}}
    site.admin.create(ROLES, {**named, "rules": rules}, HOME).ok()
    site.admin.create(ROLEBINDINGS, {**named, "roleRef": role, "subjects": [manager]}, HOME).ok()
    since = dict.fromkeys(("lastHeartbeatTime", "lastTransitionTime"), "2020-01-01T00:00:00Z")
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", **since}
    for name in machines:
        trusted = Authority() if name.endswith("another-authority") else service.authority
        data = {"token": TOKEN, "ca.crt": trusted.pem.decode()}
        site.admin.create(SECRETS, {"metadata": {"name": name}, "stringData": data}, HOME).ok()
        marks = {"labels": {"machine": name}, "annotations": {REQUESTED: "a test"}}
        site.admin.create(NODES, {"metadata": {"name": name, **marks}}).ok()
        site.admin.change(NODES, name, {"status": {"conditions": [lost]}}, sub="status").ok()
        http = {"url": service.calls(name), "secretRef": {"namespace": HOME, "name": name}}
        spec = {
            "nodeSelector": {"matchLabels": {"machine": name}},
            "minHealthy": 2,
            "maxFenced": 2 * len(machines),  # other rows have lost nodes too, and a policy for them
            "agent": {"http": http, "timeoutSeconds": 2},
        }
        site.admin.create(FENCINGPOLICIES, {"metadata": {"name": name}, "spec": spec}).ok()
    yield
    for kind in (FENCINGPOLICIES, NODES):
        for name in machines:
            site.admin.delete(kind, name).ok()


@pytest.fixture(scope="module")
def ended(site: Site, fencing: None) -> dict[str, Obj]:
    """What the policies say of their machines, when all of them were tried."""

    def tried() -> dict[str, Obj] | None:
        found = {what: _row(site, f"{MACHINE}{what}") for what in HOSTILE}
        return found if {one.get("phase") for one in found.values()} <= {"Failed", "Fenced"} else None

    found = until(tried, 180.0)
    assert found is not None
    return found


def _row(site: Site, name: str) -> Obj:
    status = site.admin.get(FENCINGPOLICIES, name).ok().get("status", {})
    rows: list[Obj] = status.get("nodes", [])
    return next((one for one in rows if one["name"] == name), {})


class TestFenceService:
    @held_in_code("a-fence-answer-names-the-node", "a-redirect-is-not-followed")
    @pytest.mark.parametrize("what", HOSTILE)
    def test_is_never_taken_for_a_machine_that_is_off(
        self, site: Site, service: HostileService, ended: dict[str, Obj], what: str
    ) -> None:
        """The manager calls it, by its own account, and releases no pod of the node."""
        name = f"{MACHINE}{what}"
        node = site.admin.get(NODES, name).ok()
        assert ended[what]["phase"] == "Failed"
        assert OUT_OF_SERVICE not in [one["key"] for one in node["spec"].get("taints", [])]
        assert FENCED not in node["metadata"].get("annotations", {})
        assert (name in service.called) is (what != "another-authority")
        events = site.admin.call("GET", EVENTS.collection_path("default")).ok()["items"]
        about = [one["message"] for one in events if one["involvedObject"]["name"] == name]
        for text in (ended[what]["message"], *about):
            harmless(text)
        assert not service.elsewhere()
