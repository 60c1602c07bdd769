"""What a simulation refuses to the code under test."""

from __future__ import annotations

import socket

import pytest

from vacate.errors import NotSimulated
from vacate.testing import SimulatedCluster, simulate

pytestmark = pytest.mark.sim


def test_a_socket_of_a_library_is_refused_in_a_simulation_and_nowhere_else() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    async def body(_cluster: SimulatedCluster) -> None:
        socket.create_connection(listener.getsockname()).close()  # as a client that blocks does it

    with listener:
        with pytest.raises(NotSimulated, match="replace what the handler calls"):
            simulate(body)
        socket.create_connection(listener.getsockname()).close()


def test_a_failure_says_how_to_repeat_it_in_any_project() -> None:
    async def body(_cluster: SimulatedCluster) -> None:
        raise ValueError

    with pytest.raises(ValueError) as caught:  # noqa: PT011  what the test itself raised
        simulate(body, 7)
    assert caught.value.__notes__ == ["simulated with seed=7, which gives the same run again"]
