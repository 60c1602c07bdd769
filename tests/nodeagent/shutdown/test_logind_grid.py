"""The agent is killed or stopped at each stage of a shutdown, on a real logind with real processes.

In each bucket there are pods with an exec hook, with an HTTP hook, with an interceptor, and a plain one.
tests/nodeagent/shutdown/test_grid.py has the same in virtual time, with more combinations and many seeds.
"""

from __future__ import annotations

import contextlib
import http.server
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.nodes.shutdown_node import ShutdownNode, off_at, shutdown_node
from support.waiting import until
from vacate.api.durations import parse_duration
from vacate.api.objects import dig

pytestmark = [pytest.mark.dbus, pytest.mark.timeout(600), pytest.mark.thorough]

PRIORITIES = (0, 1000, 100_000)
# Much longer than the pods take: a busy machine needs long for everything, and logind waits no longer than
# the sum of them. Where the API server stays away, the lock is held until that is over.
BUCKET_SECONDS = {"up": 150, "back later": 120, "away": 60}
HOOK_SECONDS = 1.0
KINDS = ("exec", "http", "intercepted", "plain")
CELLS = [  # what is done to the agent, in which bucket and before what, and how the API server is
    ("killed", "idle", 0, "up"),
    ("stopped", "idle", 0, "up"),
    ("stopped and killed", "idle", 0, "up"),
    ("killed", "preparing", 0, "up"),
    ("stopped", "preparing", 2, "up"),
    ("killed", "hook", 1, "up"),
    ("stopped", "hook", 0, "up"),
    ("stopped and killed", "hook", 2, "up"),
    ("killed twice", "hook", 0, "up"),
    ("killed", "term", 2, "up"),
    ("killed", "end", 2, "up"),
    ("stopped", "end", 1, "up"),
    ("stopped", "term", 1, "up"),
    ("killed", "hook", 0, "away"),
    ("stopped", "hook", 1, "away"),
    ("killed", "idle", 0, "back later"),
    ("killed", "hook", 1, "back later"),
    ("stopped", "term", 2, "back later"),
]


class Hooks:
    """What the HTTP hooks of all pods call: when each began and ended, by the name of the pod."""

    def __init__(self) -> None:
        self.calls: dict[str, list[list[float]]] = {}
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                call = [time.time()]
                hooks.calls.setdefault(self.path.strip("/"), []).append(call)
                time.sleep(HOOK_SECONDS)  # the work of the hook
                call.append(time.time())
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@contextlib.contextmanager
def serving(hooks: Hooks) -> Iterator[None]:
    thread = threading.Thread(target=hooks.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        hooks.server.shutdown()
        thread.join()
        hooks.server.server_close()


class Course:
    """One shutdown of one node."""

    def __init__(self, node: ShutdownNode, hooks: Hooks) -> None:
        self.node, self.hooks = node, hooks
        self.completed: dict[str, float] = {}  # turns of interceptors

    def run_pods(self) -> None:
        port = self.hooks.server.server_address[1]
        for number, priority in enumerate(PRIORITIES):
            self.node.run_pod(f"exec-{number}", priority, takes=0.5, hook=True)
            path = f"/http-{number}"
            self.node.run_pod(f"http-{number}", priority, takes=0.5, http_hook={"port": port, "path": path})
            self.node.run_pod(f"intercepted-{number}", priority, takes=0.5, interceptor="backup.example.com")
            self.node.run_pod(f"plain-{number}", priority, takes=0.5)

    def intercept(self, below: int = len(PRIORITIES)) -> None:
        """As the interceptor: complete each turn that has begun."""
        for number in range(below):
            name = f"intercepted-{number}"
            if name not in self.completed and self._in_turn(name):
                self.completed[name] = time.time()
                self.node.complete_turn(name)

    def _in_turn(self, name: str) -> bool:
        found = self.node.request_of(name) or {}
        return bool(found.get("status", {}).get("activeInterceptorName"))

    def wait_for(self, stage: str, bucket: int, *, served: bool) -> None:
        """Go on until the stage is reached."""

        def reached() -> bool:
            if served:
                # What is waited for keeps the bucket from being over meanwhile.
                self.intercept(bucket if stage in ("preparing", "end") else len(PRIORITIES))
            if stage == "preparing":
                return self._in_turn(f"intercepted-{bucket}")
            name = f"exec-{bucket}"
            return bool(self.node.hooks(name)) if stage == "hook" else stage in self.node.signals(name)

        until(reached, 300)  # without the API server interceptors keep their share of each bucket's time

    def disturb(self, agent: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Stop the agent, or kill it, or both, for longer than it can be busy unnoticed."""
        killed = "killed" in agent
        if agent.startswith("stopped"):
            self.node.freeze()
        else:
            self.node.kill()
        meanwhile()
        since = time.monotonic()
        until(lambda: time.monotonic() - since > 3.0)
        if agent.startswith("stopped") and killed:
            self.node.kill()
        if not killed:
            self.node.thaw()
            return
        assert self.node.machine.inhibitors() == ["Vacate"]  # the supervisor holds the lock
        self.node.start()
        if agent.endswith("twice"):
            self.node.kill()
            self.node.start()


@pytest.mark.parametrize(("agent", "stage", "bucket", "server"), CELLS)
def test_nothing_is_skipped_repeated_or_lost(
    tmp_path: Path, agent: str, stage: str, bucket: int, server: str
) -> None:
    hooks, buckets = Hooks(), dict.fromkeys(PRIORITIES, BUCKET_SECONDS[server])
    with serving(hooks), shutdown_node(tmp_path, buckets) as node, contextlib.ExitStack() as later:
        course = Course(node, hooks)
        course.run_pods()
        served = server == "up"
        if not served:
            node.cluster.kill()
        if stage == "idle":
            course.disturb(agent, node.machine.power_off)
        else:
            node.machine.power_off()
            course.wait_for(stage, bucket, served=served)
            course.disturb(agent)
        if server == "back later":
            later.enter_context(node.api_server_back())

        def down() -> bool:
            if server != "away":
                course.intercept()
            return not node.machine.up

        until(down, 400)
        off_at(node.machine)
        check(course, server)
        if stage == "idle":
            (since_text,) = re.findall(r"logind may wait since (\S+)", node.agent_log)
            assert parse_duration(since_text) >= 2.0, since_text


def check(course: Course, server: str) -> None:
    node, ends = course.node, 0.0
    for number in range(len(PRIORITIES)):
        begins: list[float] = []
        ended: list[float] = []
        for kind in KINDS:
            name = f"{kind}-{number}"
            signals = node.signals(name)
            assert node.terms(name) == 1, name
            acts = [signals["term"], signals["end"]]
            if kind == "exec":
                assert [line.split()[0] for line in node.hooks(name).splitlines()] == ["hook", "hooked"]
                assert signals["hook"] < signals["hooked"] <= signals["term"]
                acts.append(signals["hook"])
            elif kind == "http":
                ((called, answered),) = course.hooks.calls[name]
                assert called < answered <= signals["term"], name
                acts.append(called)
            elif kind == "intercepted" and (server == "up" or name in course.completed):
                assert course.completed[name] <= signals["term"]
            begins.append(min(acts))
            ended.append(max(acts))
        assert ends <= min(begins), number
        ends = max(ended)
    assert node.record["outcome"] == "finished"
    if server != "away":
        # Not asked while the API server was away, and evicted afterwards.
        evicted = set(course.completed)
        until(lambda: all(node.get(name) is None for name in evicted))
        for name in (f"{kind}-{number}" for number in range(len(PRIORITIES)) for kind in KINDS):
            if name not in evicted:
                pod = node.get(name)
                assert dig(pod, "status", "phase") == "Succeeded", (name, pod)


@pytest.mark.parametrize("agent", ["killed", "stopped"])
def test_a_pod_of_the_only_bucket_that_has_to_be_killed_is_reported(tmp_path: Path, agent: str) -> None:
    """The agent is away between SIGTERM and SIGKILL.

    SIGKILL comes long before the bucket is over, after which logind waits neither for an agent that a busy
    machine starts slowly, nor for the report. In virtual time pods are killed at the very end.
    """
    with shutdown_node(tmp_path, {0: 150}) as node:
        node.run_pod("deaf", 0, takes=3600, grace=30)
        course = Course(node, Hooks())
        node.machine.power_off()
        until(lambda: "term" in node.signals("deaf"))
        course.disturb(agent)
        off_at(node.machine)
        course.hooks.server.server_close()
        assert node.terms("deaf") == 1
        assert "end" not in node.signals("deaf")
        status = (node.get("deaf") or {})["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "Terminated")


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("moment", ["before", "while"])
def test_an_agent_that_is_killed_at_the_very_end_loses_nothing(tmp_path: Path, moment: str) -> None:
    """After the last status, before it asks for the release of the lock or while it does.

    The status is under way while the API server is stopped, and the release while the supervisor is.
    """
    with shutdown_node(tmp_path, {0: 150}) as node:
        node.run_pod("web", 0, takes=None, hook=True)
        (supervisor,) = node.running("supervisor.main")
        node.machine.power_off()
        until(lambda: "term" in node.signals("web"))
        with contextlib.ExitStack() as server, contextlib.ExitStack() as release:
            server.enter_context(stopped(node.cluster.process.pid))
            node.let_end("web")
            until(lambda: node.uids["web"] in node.record["gone"])
            release.enter_context(stopped(supervisor))
            if moment == "before":
                node.freeze()
            server.close()
            ended = node.until("web", lambda one: one["status"]["phase"] == "Succeeded")
            if moment == "while":
                until(lambda: "releasing the shutdown inhibitor" in node.agent_log)
            assert node.machine.inhibitors() == ["Vacate"]
            node.kill()
        if moment == "before":
            node.start()  # else the supervisor has heard it
        off_at(node.machine)
        assert node.terms("web") == 1
        assert [line.split()[0] for line in node.hooks("web").splitlines()] == ["hook", "hooked"]
        assert (node.get("web") or {})["status"] == ended["status"]
        assert node.record["outcome"] == "finished"
