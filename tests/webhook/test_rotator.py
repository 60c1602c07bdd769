"""Certificates kept by several rotators, in virtual time: made once, renewed by any, known to all."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from cryptography import x509

from support.tiny_server import TinyServer
from vacate.api.kinds import SECRETS
from vacate.api.objects import Obj
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.embedded.apiserver.inprocess import InProcessTransport
from vacate.errors import TransportError
from vacate.pki.rotation import CertificateBundle, renewed
from vacate.sim.run import Sim, run_sim
from vacate.webhook.certificates.rotator import (
    CONFIGURATIONS,
    POLL_SECONDS,
    CertificateRotator,
    ServingIdentity,
)
from vacate.webhook.certificates.secret import NAME, bundle_from, bundle_to_data
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from vacate.wire.message import Request, Response

pytestmark = [pytest.mark.sim, pytest.mark.thorough(beyond=2)]

PLACE = ServingIdentity("vacate-system", ("vacate-webhook.vacate-system.svc", "127.0.0.1"))
DAY = dt.timedelta(days=1)


class Jumping:
    """A clock that can be put forward."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ahead = dt.timedelta()

    def now(self) -> dt.datetime:
        return self._clock.now() + self.ahead

    def monotonic(self) -> float:
        return self._clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)

    async def sleep_until(self, moment: dt.datetime) -> None:
        await self._clock.sleep_until(moment - self.ahead)


@dataclass
class Stage:
    sim: Sim
    clock: Jumping
    server: TinyServer = field(
        default_factory=lambda: TinyServer(kinds=(SECRETS, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS))
    )
    delivered: list[list[CertificateBundle]] = field(default_factory=list)
    rotators: list[CertificateRotator] = field(default_factory=list)
    refuses: Callable[[Request], bool] = lambda _: False
    away: bool = False  # the API server

    async def handle(self, request: Request) -> Response:
        if self.away:
            raise TransportError("no answer")
        if self.refuses(request):
            return Response(403, b'{"kind":"Status","reason":"Forbidden","message":"not you"}')
        return await self.server.handle(request)

    def configure(self) -> None:
        hooks = [{"name": f"{n}.vacate.dev", "clientConfig": {"url": "https://x/"}} for n in "ab"]
        for kind, name in CONFIGURATIONS:
            self.server.put(kind, name, "", webhooks=hooks)

    def secret(self) -> Obj:
        return self.server.objects[(SECRETS.resource, PLACE.namespace, NAME)]

    def shown(self) -> list[x509.Certificate | None]:
        """What each rotator handed over last."""
        return [each[-1].leaf.certificate if each else None for each in self.delivered]

    def trusted(self) -> list[list[x509.Certificate]]:
        """What each webhook of both configurations trusts."""
        return [
            x509.load_pem_x509_certificates(base64.b64decode(hook["clientConfig"]["caBundle"]))
            for kind, name in CONFIGURATIONS
            for hook in self.server.objects[(kind.resource, "", name)]["webhooks"]
        ]

    async def later(self, ahead: dt.timedelta = dt.timedelta()) -> None:
        """So much later, and long enough for everyone to have looked."""
        self.clock.ahead += ahead
        await self.sim.clock.sleep(2 * POLL_SECONDS)


def staged(body: Callable[[Stage], Awaitable[None]], replicas: int = 2, seed: int = 0) -> None:
    async def main(sim: Sim) -> None:
        stage = Stage(sim, Jumping(sim.clock))
        async with asyncio.TaskGroup() as group:
            tasks = []
            for index in range(replicas):
                given: list[CertificateBundle] = []
                client = Client(InProcessTransport(stage))
                entropy = sim.stream(f"replica-{index}")
                rotator = CertificateRotator(
                    client, PLACE, clock=stage.clock, entropy=entropy, deliver=given.append
                )
                stage.delivered.append(given)
                stage.rotators.append(rotator)
                tasks.append(group.create_task(rotator.run()))
            await body(stage)
            for task in tasks:
                task.cancel()

    run_sim(main, seed)


@pytest.mark.parametrize("seed", range(5))
def test_one_makes_it_and_all_show_it(seed: int) -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        await stage.later()
        first = stage.shown()[0]
        assert first is not None
        assert stage.shown() == [first, first, first]
        bundle = bundle_from(stage.secret())
        assert bundle is not None
        assert first == bundle.leaf.certificate
        assert stage.trusted() == [list(bundle.authorities)] * 4
        assert [rotator.trouble for rotator in stage.rotators] == ["", "", ""]
        writes = [one for one in stage.server.requests if one.method != "GET"]
        assert sum(one.method == "POST" for one in writes) <= 3

    staged(body, replicas=3, seed=seed)


def test_at_rest_nothing_is_written() -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        await stage.later()
        before = stage.server.revision
        await stage.later(5 * DAY)
        assert stage.server.revision == before

    staged(body)


def test_a_renewal_reaches_every_replica_without_a_restart() -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        await stage.later()
        before, trusted = stage.shown(), stage.trusted()
        await stage.later(21 * DAY)
        after = stage.shown()
        assert after[0] == after[1] != before[0]
        assert stage.trusted() == trusted

    staged(body)


@pytest.mark.thorough(beyond=1)
@pytest.mark.parametrize("days", [3, 20], ids=["before it expires", "after it has expired"])
def test_a_renewal_waits_for_an_api_server_that_is_away(days: int) -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        await stage.later()
        before, trusted = stage.shown(), stage.trusted()
        stage.away = True
        await stage.later(19 * DAY)
        await stage.later(days * DAY)
        assert stage.shown() == before
        assert all("no answer" in rotator.trouble for rotator in stage.rotators)
        stage.away = False
        await stage.later()
        after = stage.shown()
        assert after[0] == after[1] != before[0]
        assert stage.trusted() == trusted
        assert [rotator.trouble for rotator in stage.rotators] == ["", ""]

    staged(body)


def test_an_authority_is_exchanged_without_a_moment_of_distrust() -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        await stage.later()
        [old] = stage.trusted()[0]
        for _ in range(12):
            await stage.later(20 * DAY)
        await stage.later(4 * DAY)
        before = stage.shown()[0]
        both = stage.trusted()
        assert [one[0] for one in both] == [old] * 4
        assert {len(one) for one in both} == {2}
        assert before is not None
        before.verify_directly_issued_by(old)
        await stage.later(DAY)
        after = stage.shown()
        assert after[0] == after[1] != before
        assert after[0] is not None
        after[0].verify_directly_issued_by(both[0][1])
        assert stage.trusted() == both
        await stage.later(15 * DAY)
        await stage.later(16 * DAY)
        assert [len(one) for one in stage.trusted()] == [1] * 4
        assert old not in stage.trusted()[0]

    staged(body)


def test_a_configuration_that_comes_later_or_is_applied_anew() -> None:
    async def body(stage: Stage) -> None:
        await stage.later()
        assert all(stage.shown())
        for _ in range(2):
            stage.configure()
            await stage.sim.clock.sleep(1)
            assert len(stage.trusted()) == 4

    staged(body)


def test_a_lost_or_spoilt_secret_is_made_anew() -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        await stage.later()
        first = stage.shown()
        stage.server.remove(SECRETS, NAME, PLACE.namespace)
        await stage.sim.clock.sleep(30)
        second = stage.shown()
        assert second[0] == second[1] != first[0]
        data = stage.secret()["data"]
        stage.server.put(SECRETS, NAME, PLACE.namespace, data={**data, "tls.key": data["ca.key"]})
        await stage.sim.clock.sleep(30)
        third = stage.shown()
        assert third[0] == third[1] != second[0]
        bundle = bundle_from(stage.secret())
        assert bundle is not None
        assert stage.trusted() == [list(bundle.authorities)] * 4

    staged(body)


def test_a_certificate_of_another_owner_is_left_alone() -> None:
    async def body(stage: Stage) -> None:
        data = bundle_to_data(renewed(None, PLACE.hosts, stage.clock.now()))
        theirs = {key: data[key] for key in ("tls.crt", "tls.key")}
        stage.server.put(SECRETS, NAME, PLACE.namespace, data=theirs)
        await stage.later()
        assert stage.secret()["data"] == theirs
        assert stage.shown() == [None, None]
        assert "did not make" in stage.rotators[0].trouble
        stage.server.remove(SECRETS, NAME, PLACE.namespace)
        await stage.later()
        assert all(stage.shown())

    staged(body)


def test_rights_that_come_later() -> None:
    async def body(stage: Stage) -> None:
        stage.configure()
        stage.refuses = lambda request: request.method == "PATCH"
        await stage.later()
        assert all(stage.shown())
        assert "not you" in stage.rotators[0].trouble
        stage.refuses = lambda _: False
        await stage.sim.clock.sleep(30)
        assert len(stage.trusted()) == 4
        assert stage.rotators[0].trouble == ""

    staged(body)
