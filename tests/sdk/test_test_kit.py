"""The test kit: the examples of its page, and what it refuses."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vacate.embedded.bootstrap.identities import ADMIN
from vacate.errors import ConfigError, NotSimulated, VacateError
from vacate.sdk import EVACUATION, EvictionContext, Interceptor, sync
from vacate.sdk.interceptors.interceptor import Handler
from vacate.testing import SimulatedCluster, simulate, simulate_eviction

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

PAGE = Path(__file__).parents[2] / "docs/how-to/test-an-interceptor.md"


def examples() -> dict[str, Callable[..., None]]:
    """The test functions of the page; those with a parameter want a folder."""
    code = "\n\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return {name: made for name, made in names.items() if name.startswith("test_")}


SIMULATED = [name for name, made in examples().items() if not inspect.signature(made).parameters]
RUNNING = [name for name in examples() if name not in SIMULATED]


def test_the_page_has_examples() -> None:
    assert (len(SIMULATED), len(RUNNING)) == (9, 1)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("name", SIMULATED)
def test_an_example_of_the_page_passes(name: str) -> None:
    examples()[name]()


@pytest.mark.process
@pytest.mark.parametrize("name", RUNNING)
def test_an_example_of_the_page_passes_in_a_running_cluster(name: str, tmp_path: Path) -> None:
    examples()[name](tmp_path)


async def hangs(context: EvictionContext) -> None:
    await context.clock.sleep(10 * 86400)


def test_a_turn_that_does_not_end_in_time_is_an_error() -> None:
    endless = Interceptor("a.example.com", hangs, progress_within=None)
    with pytest.raises(TimeoutError):
        simulate_eviction(endless, within=dt.timedelta(hours=1))


@sync.interceptor("b.example.com")
def plain(context: sync.EvictionContext) -> None:
    """It runs in a thread."""


def test_plain_functions_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"b\.example\.com is a plain function, for which time is real"):
        simulate_eviction(plain)


def test_a_program_of_plain_functions_is_refused() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(plain)

    with pytest.raises(ConfigError, match=r"b\.example\.com is a plain function"):
        simulate(body)


def test_an_interceptor_of_another_api_is_refused() -> None:
    """It would never have its turn, or its program would wait for an API that nobody serves."""
    with pytest.raises(ConfigError, match=r"a\.example\.com does not serve the API evacuation"):
        simulate_eviction(Interceptor("a.example.com", hangs), dialect=EVACUATION)

    async def body(cluster: SimulatedCluster) -> None:
        await cluster.program(Interceptor("a.example.com", hangs, apis=("evacuation",)))

    with pytest.raises(ConfigError, match="open the feature gate EvacuationAPI"):
        simulate(body)


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"label_selector": "app=db"}, "in all namespaces, for pods with labels app=db"),
        ({"namespace": "shop"}, "in namespace shop, for all pods that name it"),
    ],
    ids=["labels", "namespace"],
)
def test_a_pod_that_the_interceptor_does_not_serve_is_refused(chosen: dict[str, str], reason: str) -> None:
    """Nobody would respond, and the test would fail for a reason that it does not show."""
    with pytest.raises(ConfigError) as caught:
        simulate_eviction(Interceptor("a.example.com", hangs, **chosen), labels={"app": "web"})  # type: ignore[arg-type]
    message = "the pod pod-1 in namespace default has app=web, and would get no response: a.example.com"
    assert str(caught.value) == f"{message} {reason}"


async def asks_a_name(context: EvictionContext) -> None:
    socket.getaddrinfo("backup.example.com", 443)


async def asks_a_thread(context: EvictionContext) -> None:
    while True:
        try:
            await asyncio.to_thread(print)
        except VacateError:  # as what tries again whatever happens
            await context.clock.sleep(60)


@pytest.mark.parametrize(
    ("handler", "refused"),
    [(asks_a_name, "socket.getaddrinfo"), (asks_a_thread, "run_in_executor")],
    ids=["socket", "thread"],
)
def test_what_is_not_simulated_ends_the_test_at_once(handler: Handler, refused: str) -> None:
    """It is no failure of the handler, which would be tried again."""
    with pytest.raises(NotSimulated, match=f"{refused} does not exist"):
        simulate_eviction(Interceptor("a.example.com", handler))


def test_a_kind_that_is_not_served_is_refused() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        await cluster.create({"apiVersion": "example.com/v1", "kind": "Backup", "metadata": {"name": "b"}})

    with pytest.raises(ConfigError, match=r"the embedded cluster serves no Backup example\.com/v1"):
        simulate(body)


def test_an_error_of_a_program_is_raised() -> None:
    async def body(cluster: SimulatedCluster) -> None:
        class Broken:
            async def run(self) -> None:
                await cluster.clock.sleep(5)
                raise RuntimeError("out of memory")

            async def wait_ready(self) -> None:
                """It is."""

            def stop(self) -> None:
                """It ends by itself."""

        await cluster.world.start("broken", lambda link, around: Broken(), ADMIN)
        await cluster.clock.sleep(60)

    with pytest.raises(RuntimeError, match="out of memory"):
        simulate(body)


async def test_a_running_loop_is_refused() -> None:
    with pytest.raises(ConfigError, match="call it from a plain function"):
        simulate_eviction(Interceptor("a.example.com", hangs))
