"""Whatever is asked, the server answers: no exception, no 500, a Status for every refusal, and goes on."""

from __future__ import annotations

import logging
import os

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from support.effort import examples
from support.embedded import Embedded, a_budget, a_pod, embedded
from support.hostile.requests import STRANGER, hostile_requests
from support.hostile.samples import sample_of
from vacate.api.kinds import PODDISRUPTIONBUDGETS, PODS
from vacate.embedded.registry.kinds import SERVED_KINDS
from vacate.sim.run import run_sim
from vacate.wire.message import Request, Response

pytestmark = pytest.mark.unit

EXAMPLES = int(os.environ.get("VACATE_FUZZ_EXAMPLES", examples(300)))
fuzz = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
NOWHERE = b"404 page not found\n"  # where no API is, as the real server answers
FAILED = "an internal error occurred; the server's log has it"


@pytest.fixture(autouse=True)
def quiet_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.WARNING)
    return caplog


@pytest.mark.thorough
@fuzz
@given(hostile_requests())
def test_any_request_of_an_admin_gets_an_answer(request: Request) -> None:
    run_sim(lambda _: one_request(request))


@fuzz
@given(hostile_requests(STRANGER))
def test_a_stranger_changes_nothing_and_learns_nothing(request: Request) -> None:
    async def attempt() -> None:
        async with embedded() as server:
            await populate(server)
            before = server.store.revision
            response = await answered(server, request)
            assert server.store.revision == before
            kind = request.path.strip("/").split("/")[0]
            if response.status < 400:
                assert kind in ("livez", "readyz", "healthz", "version", "api", "apis")

    run_sim(lambda _: attempt())


async def one_request(request: Request) -> None:
    async with embedded() as server:
        await populate(server)
        before = server.store.revision
        response = await answered(server, request)
        if response.status >= 400:
            check_refusal(request, response)
            assert server.store.revision == before or spends_budget(request, response), "a refusal wrote"
        alive = await server.ask("GET", "/api/v1/namespaces/d/pods")
        assert alive.code == 200


def spends_budget(request: Request, response: Response) -> bool:
    """Evictions spend from the budget before they look at preconditions, as the real server does."""
    return request.path.rstrip("/").endswith("/eviction") and response.status == 409


async def populate(server: Embedded) -> None:
    """One object of each kind, all of them called `p`."""
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget("p"))
    for kind in SERVED_KINDS:
        if kind.stored and kind not in (PODS, PODDISRUPTIONBUDGETS):
            obj = sample_of(kind)
            place = {"namespace": "d"} if kind.namespaced else {}
            obj["metadata"] = {**obj["metadata"], **place, "uid": f"uid-{kind.plural}", "generation": 1}
            await server.seed(kind, obj)


async def answered(server: Embedded, request: Request) -> Response:
    response = await server.server.handle(request)
    if not isinstance(response.body, bytes):
        await response.body.aclose()
    return response


def check_refusal(request: Request, response: Response) -> None:
    assert isinstance(response.body, bytes)
    if response.body == NOWHERE:
        return
    status = orjson.loads(response.body)
    assert status["kind"] == "Status", status
    assert status["status"] == "Failure"
    assert status["code"] == response.status
    assert status["message"]
    assert response.content_type == "application/json"
    # Some refusals of the real server carry the code 500 too; what went wrong here has a message of its own.
    assert status["message"] != FAILED, request


@pytest.mark.thorough
def test_the_grammar_reaches_every_outcome() -> None:
    """A fuzz that is refused at the door tests the door alone."""
    seen: set[int] = set()

    # The same requests each time: what the grammar reaches is its property, and no matter of luck.
    @settings(max_examples=400, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(hostile_requests())
    def gather(request: Request) -> None:
        seen.add(run_sim(lambda _: outcome(request)))

    gather()
    assert seen >= {200, 201, 400, 404, 405, 415, 422}


async def outcome(request: Request) -> int:
    async with embedded() as server:
        await populate(server)
        return (await answered(server, request)).status


def test_nothing_of_this_reached_the_log(caplog: pytest.LogCaptureFixture) -> None:
    run_sim(lambda _: one_request(Request("POST", "/api/v1/namespaces/d/pods", body=b"\xff{")))
    assert not caplog.records
