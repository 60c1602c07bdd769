"""What is asked anew while there is no answer: only what may be carried out late, and few at a time."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from vacate.client.hedging import HEDGE_AFTER_SECONDS, MAX_COPIES, HedgingTransport, first_answer
from vacate.sim.run import Sim, run_sim
from vacate.wire.message import Request, Response


class Silent:
    """A server that answers nothing."""

    def __init__(self) -> None:
        self.sent = self.under_way = self.most = 0

    async def send(self, _: Request) -> Response:
        self.sent += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.under_way -= 1
        raise AssertionError

    async def aclose(self) -> None:
        return


def patch(path: str, **metadata: str) -> Request:
    return Request("PATCH", path, body=orjson.dumps({"metadata": metadata, "status": {"phase": "Running"}}))


POD, LEASE = "/api/v1/namespaces/n/pods/web/status", "/apis/coordination.k8s.io/v1/namespaces/n/leases/laptop"


@pytest.mark.parametrize("nested", [False, True], ids=["alone", "in another that is asked anew"])
@pytest.mark.parametrize(
    ("request_", "anew"),
    [
        (Request("GET", POD), True),
        (patch(LEASE), True),
        (patch(POD, uid="u", resourceVersion="7"), True),
        (patch(POD, uid="u"), False),
        (Request("PATCH", POD, body=b'[{"op": "remove", "path": "/status"}]'), False),
        (Request("POST", POD), False),
        (Request("DELETE", POD), False),
    ],
    ids=["read", "lease", "of a version", "of any version", "JSON patch", "creation", "deletion"],
)
def test_only_what_may_be_carried_out_late_is_asked_anew(
    request_: Request, *, anew: bool, nested: bool
) -> None:
    async def main(_: Sim) -> None:
        server = Silent()
        transport = HedgingTransport(server)

        async def ask() -> Response:
            return await transport.send(request_)

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10 * HEDGE_AFTER_SECONDS - 1):
                await (first_answer(ask) if nested else ask())
        assert server.sent == (10 if anew or nested else 1)
        assert server.most == (MAX_COPIES if anew or nested else 1)
        assert server.under_way == 0

    run_sim(main, 1)
