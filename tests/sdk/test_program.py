"""Programs made with the SDK, as processes and threads against a cluster of their own."""

from __future__ import annotations

import asyncio
import gc
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from hack.kubelab.ports import reserve_port

from support.manifests import pod
from support.processes.cluster import FAST_PODS, ClusterProcess, running_cluster
from vacate.client.client import Client
from vacate.errors import ConfigError, NotFound
from vacate.sdk import CancellationForbidden, TurnEndReason, TurnLost, serve_interceptors
from vacate.sdk.connection import connected, find_cluster
from vacate.sdk.sync import EvictionContext as SyncContext
from vacate.sdk.sync import Requester, interceptor

pytestmark = [
    pytest.mark.process,
    # aiohttp closes a connection whose request is given up without waiting for TLS: on a loaded machine it
    # may outlive the loop of this test, and is collected with a warning.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.thorough(beyond=2),
]

PODS = "/api/v1/namespaces/default/pods"
BACKUP = "backup.example.com"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcess]:
    with running_cluster(tmp_path_factory.mktemp("sdk") / "dir", *FAST_PODS) as running:
        yield running
    gc.collect()  # such warnings are for these tests, and not for those that come after


@pytest.fixture
def requester(cluster: ClusterProcess) -> Iterator[Requester]:
    with cluster.requester() as one:
        yield one


def test_a_plain_script_asks_waits_and_withdraws(cluster: ClusterProcess, requester: Requester) -> None:
    cluster.pod("plain")
    request = requester.request("plain", reason="a test")
    assert requester.wait(request).pod_ended
    assert requester.find("plain") is None
    cluster.pod("held", "nobody.example.com")
    request = requester.request("held", "default")
    assert [one.name for one in request.spec.requesters] == [requester.name]
    assert requester.withdraw(request)
    states = list(requester.follow(request))
    assert states[-1].complete
    with pytest.raises(NotFound, match='pods "missing" not found'):
        requester.request("missing")


def test_a_plain_script_keeps_a_pod_requested(cluster: ClusterProcess, requester: Requester) -> None:
    cluster.pod("wanted", "nobody.example.com")
    with requester.keep_requested("wanted") as context:
        assert requester.withdraw("wanted")  # as somebody else would
        cluster.until(lambda: (found := requester.find("wanted")) is not None and not found.complete)
        cluster.https().delete(f"{PODS}/wanted")
        assert context.wait().pod_ended


def test_a_plain_handler_runs_in_a_thread(cluster: ClusterProcess, requester: Requester) -> None:
    threads: list[str] = []

    @interceptor(BACKUP)
    def back_up(context: SyncContext) -> None:
        threads.append(threading.current_thread().name)
        context.report("Working", cancellation="Forbid")
        assert context.request.forbids_cancellation
        context.event("Working", "it works")
        context.progress()
        context.sleep(0.1)
        context.evict()

    with cluster.program(back_up):
        cluster.pod("threaded", BACKUP)
        result = requester.wait(requester.request("threaded"))
    assert result.pod_ended
    assert threads != [threading.current_thread().name]


def test_a_plain_handler_learns_of_the_end_of_its_turn(cluster: ClusterProcess, requester: Requester) -> None:
    begun = threading.Event()
    ends: list[TurnEndReason | None] = []

    @interceptor(BACKUP)
    def waits(context: SyncContext) -> None:
        begun.set()
        try:
            context.sleep(60)
        except TurnLost as lost:
            ends.extend([lost.reason, context.end_reason])
            raise

    with cluster.program(waits):
        cluster.pod("spared", BACKUP)
        request = requester.request("spared")
        assert begun.wait(60)
        assert requester.withdraw(request)
        cluster.until(lambda: ends)
    assert ends == [TurnEndReason.CANCELLED, TurnEndReason.CANCELLED]


def test_forbid_is_an_error_in_plain_scripts(cluster: ClusterProcess, requester: Requester) -> None:
    @interceptor(BACKUP, cancellation="Forbid")
    def waits(context: SyncContext) -> None:
        context.sleep(60)

    with cluster.program(waits):
        cluster.pod("fixed", BACKUP)
        request = requester.request("fixed")
        cluster.until(lambda: (found := requester.find(request)) is not None and found.forbids_cancellation)
        with pytest.raises(CancellationForbidden, match=BACKUP):
            requester.withdraw(request)


def test_health_and_metrics(cluster: ClusterProcess) -> None:
    port = reserve_port()

    @interceptor(BACKUP)
    def never(context: SyncContext) -> None:
        """No pod names it."""

    def asked(path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, ConnectionError):
            return ""

    with cluster.program(never, health_port=port):
        assert cluster.until(lambda: asked("/readyz")) == "ok"
        assert asked("/healthz") == "ok"
        assert f'workqueue_adds_total{{controller="{BACKUP}",name="{BACKUP}"}}' in asked("/metrics")


def test_what_ends_a_program_is_raised_when_its_block_ends(cluster: ClusterProcess) -> None:
    @interceptor(BACKUP, apis=("evacuation",))
    def never(context: SyncContext) -> None:
        """The gate of its API is closed."""

    def has_ended() -> bool:
        return all(one.name != "interceptors" for one in threading.enumerate())

    with pytest.raises(ConfigError, match="this cluster serves no Evacuations"), cluster.program(never):
        cluster.until(has_ended)
    with pytest.raises(TimeoutError, match=r"still 0 after 0\.1 s"):
        cluster.until(lambda: 0, timeout=0.1)


PROGRAM = """
import asyncio
from vacate.sdk import interceptor, run_interceptors

@interceptor("program.example.com")
async def waits(context):
    print("resumed" if context.resumed else "begun", flush=True)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print(f"cancelled: {context.end_reason}", flush=True)
        raise

run_interceptors(waits, %s)
"""


def start(tmp_path: Path, options: str) -> subprocess.Popen[str]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM % options)
    return subprocess.Popen(
        [sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_and_its_next_start_resumes(
    cluster: ClusterProcess, requester: Requester, tmp_path: Path, number: signal.Signals
) -> None:
    name = f"signalled-{number.name.lower()}"
    cluster.pod(name, "program.example.com")
    request = requester.request(name)
    for expected in ("begun\n", "resumed\n"):
        options = f"kubeconfig={str(cluster.kubeconfig)!r}, namespace='default', lease='default/{name}'"
        with start(tmp_path, options) as program:
            assert program.stdout is not None
            assert "connecting to https://" in program.stdout.readline()
            serves = "serving interceptor program.example.com in namespace default, for all pods that name it"
            assert program.stdout.readline().rstrip().endswith(serves)
            assert program.stdout.readline() == expected
            program.send_signal(number)
            # A lease that was being renewed at that moment is not given back, which is logged.
            assert program.stdout.readline() == f"cancelled: {TurnEndReason.SHUTDOWN}\n"
            assert program.wait(60) == 0
    kept = requester.find(request)
    assert kept is not None
    assert kept.status.active_interceptor_name == "program.example.com"
    assert not kept.status.active_interceptor_completed
    assert requester.withdraw(request)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("kubeconfig='/nowhere/kubeconfig'", "error: /nowhere/kubeconfig: "),
        ("kubeconfig=KUBECONFIG, context='moon'", "error: KUBECONFIG: contexts: there is no context 'moon'"),
        ("kubeconfig=KUBECONFIG, lease='nonsense'", "error: lease 'nonsense': write it as namespace/name"),
    ],
)
def test_what_cannot_be_used_is_one_line(
    cluster: ClusterProcess, tmp_path: Path, options: str, line: str
) -> None:
    with start(tmp_path, options.replace("KUBECONFIG", repr(str(cluster.kubeconfig)))) as program:
        output, _ = program.communicate(timeout=60)
    assert program.returncode == 1
    assert output.startswith(line.replace("KUBECONFIG", str(cluster.kubeconfig)))
    assert len(output.splitlines()) == 1


@pytest.mark.thorough
def test_a_cluster_without_the_api_is_a_clear_error(tmp_path: Path) -> None:
    async def ask(client: Client) -> None:
        @interceptor(BACKUP)
        def never(context: SyncContext) -> None:
            """Not served here."""

        await serve_interceptors(client, [never])

    async def main(kubeconfig: Path) -> None:
        async with connected(find_cluster(kubeconfig)) as client:
            await ask(client)

    gate = "--feature-gates=EvictionRequestAPI=false"
    with running_cluster(tmp_path / "dir", gate, "--nodes", "0") as bare:
        with pytest.raises(ConfigError, match="this cluster serves no EvictionRequests"):
            asyncio.run(main(bare.kubeconfig))
        with bare.requester() as one:
            bare.https().create(PODS, pod("web"))
            with pytest.raises(NotFound):
                one.request("web")
