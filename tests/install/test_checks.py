"""What is asked before anything is applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
import yaml
from click.testing import CliRunner
from hack.kubelab.ports import reserve_port

from vacate.api.objects import Obj
from vacate.api.status import to_status
from vacate.cli.main import cli
from vacate.client.client import Client
from vacate.client.codec import loads
from vacate.clock import SystemClock
from vacate.embedded.apiserver.discovery import VERSION
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.entropy import system_entropy
from vacate.errors import (
    ApiError,
    ConfigError,
    Forbidden,
    NotFound,
    ServiceUnavailable,
    Timeout,
    TooManyRequests,
    TransportError,
)
from vacate.install import Monitoring, Settings, objects
from vacate.install.apply.installer import Installer
from vacate.install.apply.preflight import (
    needed_rights,
    require_not_embedded,
    require_release,
    require_rights,
    waiting_rights,
)
from vacate.install.apply.uninstaller import Uninstaller
from vacate.install.objectkinds import shown
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

Answer = Callable[[Request], Obj]


class Server:
    """Answers by a function, and notes what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.asked: list[Request] = []

    async def handle(self, request: Request) -> Response:
        self.asked.append(request)
        try:
            return Response(200, orjson.dumps(self._answer(request)))
        except ApiError as error:
            return Response(error.status_code, orjson.dumps(to_status(error)))


def client_of(answer: Answer) -> tuple[Client, Server]:
    server = Server(answer)
    return Client(InProcessTransport(server)), server


def version(minor: str, major: str = "1") -> Obj:
    return {"major": major, "minor": minor, "gitVersion": f"v{major}.{minor}.2"}


@pytest.mark.parametrize("minor", ["32", "32+", "9", "0"])
async def test_an_old_cluster_is_refused_before_anything_is_asked_of_it(minor: str) -> None:
    client, server = client_of(lambda _: version(minor))
    lines: list[str] = []
    installer = Installer(client, SystemClock(), system_entropy(), lines.append)
    with pytest.raises(ConfigError, match=r"Kubernetes v1\..*; Vacate needs 1.33 or newer"):
        await installer.install(Settings())
    assert [one.path for one in server.asked] == ["/version"]
    assert lines == []


@pytest.mark.parametrize(("major", "minor"), [("1", "33"), ("1", "36+"), ("1", ""), ("2", "0"), ("", "")])
async def test_new_and_unknown_releases_are_taken(major: str, minor: str) -> None:
    client, _ = client_of(lambda _: version(minor, major))
    await require_release(client)


def allowing(decide: Callable[[Obj], bool]) -> Answer:
    def answer(request: Request) -> Obj:
        return {"status": {"allowed": decide(orjson.loads(request.body)["spec"]["resourceAttributes"])}}

    return answer


async def test_every_missing_right_is_named_once() -> None:
    client, server = client_of(
        allowing(lambda asked: asked["resource"] not in ("clusterroles", "deployments"))
    )
    with pytest.raises(ConfigError) as caught:
        await require_rights(client, needed_rights(objects(Settings()), "vacate-system"))
    assert str(caught.value) == (
        "you may not install Vacate into this cluster; you lack: "
        "get, create, patch clusterroles.rbac.authorization.k8s.io; "
        "get, create, patch deployments.apps in vacate-system"
    )
    assert len(server.asked) == len(needed_rights(objects(Settings()), "vacate-system"))


async def test_missing_rights_to_watch_are_reported_at_once() -> None:
    client, _ = client_of(allowing(lambda asked: asked["verb"] != "watch"))
    with pytest.raises(
        ConfigError, match=r"you lack: watch deployments\.apps in x; watch pods in x; watch mut"
    ):
        await require_rights(client, waiting_rights("x"))


async def test_who_may_do_all_of_it_goes_on_and_who_may_not_even_ask_does_too() -> None:
    client, _ = client_of(allowing(lambda _: True))
    await require_rights(client, needed_rights(objects(Settings()), "x"))

    def refuse(_request: Request) -> Obj:
        raise Forbidden("may not ask")

    client, _ = client_of(refuse)
    await require_rights(client, needed_rights(objects(Settings()), "x"))


def test_rights_follow_what_is_installed() -> None:
    asked = {right.kind.resource for right in needed_rights(objects(Settings()), "x")}
    watched = Settings(monitoring=Monitoring.everything())
    more = {right.kind.resource for right in needed_rights(objects(watched), "x")}
    assert more - asked == {"servicemonitors.monitoring.coreos.com", "prometheusrules.monitoring.coreos.com"}
    assert {"configmaps", "leases.coordination.k8s.io"} <= asked


async def test_a_cluster_that_serves_too_little_is_refused() -> None:
    def answer(request: Request) -> Obj:
        if request.path == "/version":
            return version("36")
        if "admissionregistration" in request.path:
            raise NotFound("the server could not find the requested resource")
        return {"resources": [{"name": "any"}]}

    client, server = client_of(answer)
    installer = Installer(client, SystemClock(), system_entropy(), list[str]().append)
    with pytest.raises(ConfigError, match=r"does not serve admissionregistration.k8s.io/v1, so Vacate"):
        await installer.install(Settings())
    assert {one.method for one in server.asked} == {"GET"}


async def test_nothing_is_removed_from_an_embedded_cluster() -> None:
    client, server = client_of(lambda _: VERSION)
    lines: list[str] = []
    uninstaller = Uninstaller(client, SystemClock(), system_entropy(), lines.append)
    with pytest.raises(ConfigError, match=r"started by `vacate up`, .* nothing was removed"):
        await uninstaller.uninstall("vacate-system")
    assert ([one.path for one in server.asked], lines) == (["/version"], [])


async def test_other_releases_and_silent_servers_are_no_embedded_cluster() -> None:
    def refuse(_request: Request) -> Obj:
        raise Forbidden("may not ask")

    for answer in (lambda _: version("36"), lambda _: Obj(), refuse):
        await require_not_embedded(client_of(answer)[0], "nothing was changed")


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_server_that_is_not_there_is_one_clear_error(command: str, tmp_path: Path) -> None:
    port = reserve_port()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
        "users": [{"name": "x", "user": {}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    result = CliRunner().invoke(cli, [command, "--kubeconfig", str(file)])
    assert isinstance(result.exception, TransportError)
    assert f"127.0.0.1:{port}" in str(result.exception)
    assert result.output == ""


@pytest.mark.parametrize("error", [Timeout, ServiceUnavailable, TooManyRequests])
@pytest.mark.parametrize("times", [1, 1000])
def test_a_busy_server_is_asked_again_for_a_minute(error: type[ApiError], times: int) -> None:
    account = next(one for one in objects(Settings()) if one["kind"] == "ServiceAccount")
    refused = 0

    def answer(request: Request) -> Obj:
        nonlocal refused
        if refused < times and request.method == "PATCH":
            refused += 1
            raise error("busy")
        if request.method == "GET":
            raise NotFound("there is none")
        return loads(request.body)

    async def main(sim: Sim) -> None:
        lines: list[str] = []
        installer = Installer(client_of(answer)[0], sim.clock, sim.entropy, lines.append)
        began = sim.clock.monotonic()
        if times == 1:
            await installer.apply([account])
            assert lines == [f"{shown(account)} created"]
        else:
            with pytest.raises(error):
                await installer.apply([account])
            assert lines == []
        assert sim.clock.monotonic() - began < 65.0

    run_sim(main, 1)
