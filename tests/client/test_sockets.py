"""Sockets that notice when the other side is gone."""

from __future__ import annotations

import socket

import pytest

from vacate.client.sockets import KEEPALIVE_IDLE, keepalive_socket

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_quiet_connection_is_asked_whether_it_lives(family: socket.AddressFamily) -> None:
    with keepalive_socket((family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("localhost", 1))) as made:
        assert made.family is family
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        names = ("TCP_KEEPIDLE", "TCP_KEEPALIVE")  # as the system calls it
        idle = [getattr(socket, name) for name in names if hasattr(socket, name)]
        assert (
            [made.getsockopt(socket.IPPROTO_TCP, one) for one in idle] == [KEEPALIVE_IDLE] * len(idle) != []
        )
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            unanswered = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert KEEPALIVE_IDLE * 1000 < unanswered <= 60_000, "a write to nobody ends within a minute"
