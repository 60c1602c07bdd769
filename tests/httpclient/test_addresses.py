"""Names are owned by others: none leads this process to itself or to a metadata service."""

from __future__ import annotations

import pytest

from vacate.errors import ConfigError
from vacate.httpclient.addresses import is_ordinary, read_networks

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.7", "192.168.1.1", "172.16.0.9", "100.64.0.1", "8.8.8.8", "fd12::1", "2606:4700::1111",
        "::ffff:10.0.0.7",
    ],
)  # fmt: skip
def test_addresses_of_other_machines(address: str) -> None:
    assert is_ordinary(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "::1", "0.0.0.0", "0.1.2.3", "::", "169.254.169.254", "fe80::1",
        "fe80::1%eth0", "::ffff:169.254.169.254", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "168.63.129.16",
        "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "fd20:ce::254", "fd00:42::42",
        "64:ff9b:1::6464:64c8",
        "fd00:a9fe:a9fe::1", "::ffff:100.100.100.200", "::127.0.0.1", "", "nonsense",
    ],
)  # fmt: skip
def test_other_addresses(address: str) -> None:
    assert not is_ordinary(address)


def test_what_is_listed_is_as_good() -> None:
    listed = read_networks(["127.0.0.0/8", "fe80::1"], "")
    assert is_ordinary("127.0.0.1", listed)
    assert is_ordinary("::ffff:127.0.0.1", listed)
    assert is_ordinary("fe80::1%eth0", listed)
    assert not is_ordinary("169.254.169.254", listed)
    with pytest.raises(ConfigError, match=r"^--x: '127.0.0.1/8' is not an address or a network"):
        read_networks(["127.0.0.1/8"], "--x")
