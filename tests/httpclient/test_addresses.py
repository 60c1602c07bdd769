"""Names are owned by others: none leads this process to itself or to a metadata service."""

from __future__ import annotations

import pytest

from vacate.httpclient.addresses import is_ordinary

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("address", ["10.0.0.7", "192.168.1.1", "8.8.8.8", "fd12::1", "2606:4700::1111"])
def test_addresses_of_other_machines(address: str) -> None:
    assert is_ordinary(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "0.1.2.3", "::", "169.254.169.254", "fe80::1",
        "fe80::1%eth0", "::ffff:169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "168.63.129.16",
        "fd00:ec2::254", "", "nonsense",
    ],
)  # fmt: skip
def test_other_addresses(address: str) -> None:
    assert not is_ordinary(address)
