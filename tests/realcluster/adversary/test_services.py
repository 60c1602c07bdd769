"""A service that a hook or a fence agent calls: it answers as it likes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.certificates import Authority
from support.https import Obj
from support.processes.program import Program
from support.realcluster.adversary import ROWS, TENANTS, Site, new_request
from support.realcluster.evictions import HOME
from support.tlsserver import JsonHandler, TlsServer, serving
from support.waiting import until
from vacate.api.kinds import EVICTIONREQUESTS
from vacate.api.objectnames import HOOKS
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.fenceagents.httphook import HttpHook
from vacate.fencing.agentprotocol import PowerState
from vacate.httpclient.addresses import read_networks
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR, ON_FAILURE, TARGET, TIMEOUT

pytestmark = ROWS
TOKEN = "s3cret-t0ken"
NODE = {"node": "node-1", "uid": "u-1", "state": "off"}
ESCAPES = "\x1b]0;owned\x07\x1b[2J done\nEVERYTHING is drained"
BY_ANSWER = ("redirect", "metadata", "huge", "secret", "escapes", "drip", "another-node")
HOSTILE = (*BY_ANSWER, "another-authority")


class _Handler(JsonHandler):
    server: HostileService

    def do_POST(self) -> None:  # noqa: N802  as the base class calls it
        what, _ = self.path.strip("/"), self.sent()
        self.server.called.append(what)
        if what == "redirect":
            self.answer(NODE, 307, Location=f"{self.server.url}/elsewhere")
        elif what == "metadata":
            self.answer(NODE, 302, Location="http://169.254.169.254/latest/meta-data")
        elif what == "huge":
            self.answer({**NODE, "message": "x" * 5_000_000})
        elif what == "secret":
            self.answer({"message": f"you sent {self.headers['Authorization']}"}, 409)
        elif what == "escapes":
            self.answer({**NODE, "state": "on", "message": ESCAPES}, 400)
        elif what == "another-node":
            self.answer({**NODE, "uid": "u-2"}, 400)
        elif what == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(120):  # it is what the service does, not a wait of a test
                self.wfile.write(b" ")
                time.sleep(0.5)
        else:
            self.answer(NODE)


class HostileService(TlsServer):
    """Each path is another answer."""

    def __init__(self) -> None:
        self.called: list[str] = []
        super().__init__(_Handler)

    def calls(self, what: str) -> str:
        return f"{self.url}/{what}"

    def elsewhere(self) -> list[str]:
        return [one for one in self.called if one not in BY_ANSWER]


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
    site: Site, service: HostileService, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Obj]]:
    """`vacate hooks` with its own account calls all of it, for a pod each; their requests in the end."""
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


class TestFenceService:
    @pytest.mark.parametrize("what", HOSTILE)
    async def test_is_never_taken_for_a_machine_that_is_off(self, service: HostileService, what: str) -> None:
        authority = Authority().pem if what == "another-authority" else service.authority.pem
        listed = read_networks(["127.0.0.1"], "")
        agent = HttpHook(service.calls(what), "node-1", "u-1", 2.0, TOKEN, authority.decode(), listed)
        for asked in (agent.off, agent.status):
            found: Any = await asked()
            assert (found.ok, found.state) == (False, PowerState.UNKNOWN)
            harmless(found.message)
        assert not service.elsewhere()
