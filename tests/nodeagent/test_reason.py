"""Hooks learn why their pod is terminated, as they ask for it, and a reason is never more than a value."""

from __future__ import annotations

import ast
import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.nodes.agents import AgentCluster, agent_place, ready
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.nodeagent.lifecycle.reason import deliver, hook_command, reason_of
from vacate.nodeagent.view import AgentPod

WHY = "resolve issue 354961"
# Shows what its hook has heard, and ends when the test has read it, since its log goes with the pod.
SERVING = (
    "trap 'cat heard; while [ -e heard ]; do sleep 0.02; done; exit 0' TERM; "
    "echo on; while :; do sleep 0.02; done"
)
SHOW = "import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))"
PORT = 28080
SERVER = """
import http.server, os, signal, sys, time
def end(*_):
    while os.path.exists("heard"):
        time.sleep(0.02)
    sys.exit(0)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("heard", "w").close()
        print(self.headers.items(), flush=True)
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
signal.signal(signal.SIGTERM, end)
http.server.HTTPServer((os.environ["VACATE_POD_IP"], PORT), Handler).serve_forever()
""".replace("PORT", str(PORT))
HOSTILE = (
    "a$(touch pwned)b `touch pwned`; touch pwned & | > pwned",
    "$(KUBE_POD_TERM_REASON) $(PATH) $$ ${PATH}",
    "LD_PRELOAD=/tmp/x.so A=B",
    "Wartung läuft, 保守 'quoted' \"double\" \\ %s {} *",
)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[AgentCluster]:
    async with agent_place(tmp_path, loopback_pods=True) as made:
        yield made


def reporting_hook(*command: str, **delivery: str) -> Obj:
    """A container whose hook leaves its arguments and environment for the main program to print."""
    line = ["sh", "-c", 'python3 -c "$0" "$@" > heard', SHOW, *command]
    hook: Obj = {"exec": {"command": line}}
    return {"lifecycle": {"preStop": {**hook, **({"reasonDelivery": delivery} if delivery else {})}}}


def heard_file(place: AgentCluster, made: Obj) -> Path:
    uid: str = made["metadata"]["uid"]
    return place.settings.pods_folder / uid / "containers/main/heard"


async def final_log(place: AgentCluster, made: Obj, text: str = "]") -> str:
    """The log of a pod that is being deleted; then let it end."""
    log = await place.logged(made, text)
    heard_file(place, made).unlink()
    await place.gone("web")
    return log


async def heard(place: AgentCluster, container: Obj, **options: Any) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of the hook of a pod that is deleted."""
    made = await place.create("web", SERVING, container=container)
    await place.logged(made, "on")
    await place.until("web", ready)
    await place.client.delete(PODS, "web", "default", DeleteOptions(**options))
    log = await final_log(place, made)
    arguments, env = json.loads(log.partition("\n")[2])
    return arguments, env


@pytest.mark.process
class TestCommands:
    async def test_the_default_variable(self, place: AgentCluster) -> None:
        _, env = await heard(place, reporting_hook(), reason=WHY)
        assert env["KUBE_POD_TERM_REASON"] == WHY

    @pytest.mark.thorough
    async def test_the_variable_that_the_hook_asks_for(self, place: AgentCluster) -> None:
        _, env = await heard(place, reporting_hook(env="GOODBYE"), reason=WHY)
        assert env["GOODBYE"] == WHY
        assert "KUBE_POD_TERM_REASON" not in env

    async def test_a_flag(self, place: AgentCluster) -> None:
        flags = ("--reason=$(KUBE_POD_TERM_REASON)", "-r", "$(KUBE_POD_TERM_REASON)")
        arguments, _ = await heard(place, reporting_hook(*flags), reason=WHY)
        assert arguments == [f"--reason={WHY}", "-r", WHY]

    async def test_without_a_reason_there_is_no_variable_and_an_empty_flag(self, place: AgentCluster) -> None:
        arguments, env = await heard(place, reporting_hook("--reason=$(KUBE_POD_TERM_REASON)"))
        assert arguments == ["--reason="]
        assert "KUBE_POD_TERM_REASON" not in env

    @pytest.mark.thorough
    @pytest.mark.parametrize("reason", HOSTILE)
    async def test_a_hostile_reason_is_only_a_value(self, place: AgentCluster, reason: str) -> None:
        container = reporting_hook("--reason=$(KUBE_POD_TERM_REASON)", "$(KUBE_POD_TERM_REASON)")
        arguments, env = await heard(place, container, reason=reason)
        assert arguments == [f"--reason={reason}", reason]
        assert env["KUBE_POD_TERM_REASON"] == reason
        assert {"LD_PRELOAD", "A"} & set(env) == set()
        assert not list(place.folder.rglob("pwned"))

    async def test_a_reason_within_a_program_is_not_run(self, place: AgentCluster) -> None:
        script = "touch ran; : $(KUBE_POD_TERM_REASON) ; cp ran heard; echo '[[],{}]' > heard"
        hook = {"lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", script]}}}}
        await heard(place, hook, reason="x; touch pwned")
        assert not list(place.folder.rglob("pwned"))

    async def test_the_annotation_of_clusters_without_the_field(self, place: AgentCluster) -> None:
        made = await place.create("web", SERVING, container=reporting_hook())
        notes = {
            "vacate.dev/termination-reason": "line\none\0 \x1b[31m",
            "vacate.dev/reason-delivery.main": "env=BYE",
        }
        await place.client.patch(PODS, "web", {"metadata": {"annotations": notes}}, "default")
        await place.until("web", ready)
        await place.client.delete(PODS, "web", "default")
        log = await final_log(place, made)
        assert json.loads(log.partition("\n")[2])[1]["BYE"] == "line one   [31m"

    @pytest.mark.thorough
    async def test_a_restart_of_the_agent_delivers_it_once(self, place: AgentCluster) -> None:
        count = "echo $KUBE_POD_TERM_REASON $GREETING >> heard; until [ -e go ]; do sleep 0.02; done"
        hook = {"preStop": {"exec": {"command": ["sh", "-c", count]}}}
        env = [{"name": "GREETING", "value": "hello"}]
        made = await place.create("web", SERVING, container={"lifecycle": hook, "env": env})
        await place.logged(made, "on")
        await place.client.delete(PODS, "web", "default", DeleteOptions(reason="Update"))
        async with asyncio.timeout(60):
            while not heard_file(place, made).exists():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await place.stop_agent()
        place.let_end(made)
        await place.start_agent()
        assert await final_log(place, made, "Update hello") == "on\nUpdate hello\n"


@pytest.mark.process
class TestRequests:
    async def headers(self, place: AgentCluster, action: Obj, **delivery: str) -> list[list[str]]:
        hook: Obj = {"httpGet": {"path": "/bye", "port": PORT, **action}}
        hook |= {"reasonDelivery": delivery} if delivery else {}
        probe = {"tcpSocket": {"port": PORT}, "periodSeconds": 1}
        container = {
            "command": ["python3", "-c", SERVER],
            "readinessProbe": probe,
            "lifecycle": {"preStop": hook},
        }
        made = await place.create("web", "", container=container)
        await place.until("web", ready)
        await place.client.delete(PODS, "web", "default", DeleteOptions(reason="保守: a  b"))
        log = await final_log(place, made)
        return [list(one) for one in ast.literal_eval(log.splitlines()[0])]

    async def test_the_default_header_in_utf_8(self, place: AgentCluster) -> None:
        given = dict(await self.headers(place, {}))
        assert given["KUBE-POD-TERM-REASON"].encode("latin-1").decode() == "保守: a  b"

    @pytest.mark.thorough
    async def test_the_header_that_the_hook_asks_for_replaces_its_own(self, place: AgentCluster) -> None:
        own = [{"name": "x-bye", "value": "forged"}, {"name": "X-Other", "value": "kept"}]
        given = await self.headers(place, {"httpHeaders": own}, header="X-Bye")
        assert [value.encode("latin-1").decode() for name, value in given if name.lower() == "x-bye"] == [
            "保守: a  b"
        ]
        assert ["X-Other", "kept"] in given
        assert "KUBE-POD-TERM-REASON" not in dict(given)


def a_pod(handler: Obj, reason: str = WHY, **annotations: str) -> AgentPod:
    """A pod that is being deleted, as a server without validation of hooks might hold it."""
    meta = {"deletionTimestamp": "2026-01-01T00:00:00Z", "reason": reason, "annotations": annotations}
    container = {"name": "main", "lifecycle": {"preStop": handler}}
    return msgspec.convert({"metadata": meta, "spec": {"containers": [container]}}, AgentPod)


def delivered(handler: Obj, **annotations: str) -> tuple[dict[str, str], list[tuple[str, str]], str]:
    pod = a_pod(handler, **annotations)
    found = deliver(pod, pod.spec.containers[0], handler, reason_of(pod))
    return dict(found.env), list(found.headers), found.problem


EXEC: Obj = {"exec": {"command": ["true"]}}
HTTP: Obj = {"httpGet": {"port": 80}}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("delivery", "annotation"),
    [
        ({"header": "X"}, ""),
        ({}, ""),
        ({"env": "A=B"}, ""),
        ({"env": "A\nB"}, ""),
        ({"env": 5}, ""),
        ("env", ""),
        (None, "header=X"),
        (None, "env="),
        (None, "nonsense"),
    ],
)
def test_a_malformed_command_handler_gets_the_default_and_a_line(delivery: Any, annotation: str) -> None:
    notes = {"vacate.dev/reason-delivery.main": annotation} if annotation else {}
    env, headers, problem = delivered(
        EXEC | ({} if delivery is None else {"reasonDelivery": delivery}), **notes
    )
    assert (env, headers) == ({"KUBE_POD_TERM_REASON": WHY}, [])
    assert problem.endswith("using KUBE_POD_TERM_REASON")


@pytest.mark.unit
@pytest.mark.parametrize(
    "delivery", [{"env": "X"}, {}, {"header": "A: b"}, {"header": "X\n"}, {"header": "Host"}]
)
def test_a_malformed_http_handler_gets_the_default_and_a_line(delivery: Any) -> None:
    env, headers, problem = delivered({**HTTP, "reasonDelivery": delivery})
    assert (env, headers) == ({}, [("KUBE-POD-TERM-REASON", WHY)])
    assert problem.endswith("using KUBE-POD-TERM-REASON")


@pytest.mark.unit
def test_a_sleep_takes_nothing() -> None:
    assert delivered({"sleep": {"seconds": 1}, "reasonDelivery": {"env": "X"}}) == ({}, [], "")


@pytest.mark.unit
def test_the_field_goes_before_the_annotation() -> None:
    notes = {"vacate.dev/termination-reason": "older"}
    assert reason_of(a_pod(EXEC, "newer", **notes)) == "newer"
    assert reason_of(a_pod(EXEC, "", **notes)) == "older"


@pytest.mark.unit
def test_an_unchecked_reason_is_cleaned() -> None:
    hostile = "--x\r\nSet-Cookie: a\0" + "b" * 5000
    for pod in (a_pod(EXEC, hostile), a_pod(EXEC, "", **{"vacate.dev/termination-reason": hostile})):
        assert reason_of(pod) == ("x  Set-Cookie: a " + "b" * 5000)[:1024]


@pytest.mark.unit
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["leave", "$(R)"], ["leave", "why"]),
        (
            ["leave", "--reason=$(R)", "-r=$(R)", "reason=$(R)"],
            ["leave", "--reason=why", "-r=why", "reason=why"],
        ),
        (["leave", "--home=$(HOME)", "$$(R)"], ["leave", "--home=/h", "$(R)"]),
        (["sh", "-c", "$(R)"], ["sh", "-c", "$(R)"]),
        (["bash", "-ec", "A=$(R)"], ["bash", "-ec", "A=$(R)"]),
        (["sh", "-c", "leave '$(R)'"], ["sh", "-c", "leave '$(R)'"]),
        (["leave", "because of $(R)"], ["leave", "because of $(R)"]),
        (["$(R)", "x"], ["$(R)", "x"]),
    ],
)
def test_where_a_command_line_takes_a_reason(command: list[str], expected: list[str]) -> None:
    assert hook_command(command, {"HOME": "/h", "R": "old"}, {"R": "why"}) == expected


@pytest.mark.process
async def test_the_agent_logs_what_is_wrong(place: AgentCluster, caplog: pytest.LogCaptureFixture) -> None:
    made = await place.create("web", SERVING, container=reporting_hook())
    notes = {"vacate.dev/reason-delivery.main": "header=X"}
    await place.client.patch(PODS, "web", {"metadata": {"annotations": notes}}, "default")
    await place.until("web", ready)
    with caplog.at_level(logging.ERROR, logger="vacate.nodeagent"):
        await place.client.delete(PODS, "web", "default", DeleteOptions(reason=WHY))
        log = await final_log(place, made)
    assert json.loads(log.partition("\n")[2])[1]["KUBE_POD_TERM_REASON"] == WHY
    assert "has no env, which this hook needs; using KUBE_POD_TERM_REASON" in caplog.text
