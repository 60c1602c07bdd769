"""The cluster's certificates: kept, renewed, refused when broken."""

from __future__ import annotations

import datetime as dt
import stat
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from vacate.embedded.cluster.certificates import Pki
from vacate.errors import ConfigError
from vacate.pki.issue import KeyPair, hosts_of, new_authority, subject_of
from vacate.pki.tls import peer_from_certificate
from vacate.wire.message import Peer

pytestmark = pytest.mark.unit

START = dt.datetime(2026, 8, 20, tzinfo=dt.UTC)


class HeldClock:
    """A clock that a test moves."""

    def __init__(self, now: dt.datetime = START) -> None:
        self.moment = now

    def now(self) -> dt.datetime:
        return self.moment

    def monotonic(self) -> float:
        return self.moment.timestamp()


def days(count: float) -> dt.timedelta:
    return dt.timedelta(days=count)


def serial(pair: KeyPair) -> int:
    return pair.certificate.serial_number


def test_everything_is_used_again_after_a_restart(tmp_path: Path) -> None:
    def serials() -> list[int]:
        pki = Pki(tmp_path, HeldClock())
        return [serial(pki.authority), serial(pki.server(["host.example"])), serial(pki.client("admin", "a"))]

    assert serials() == serials()


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    pki = Pki(tmp_path / "new" / "pki", HeldClock())
    pki.server()
    pki.client("admin", "root", ["system:masters"])
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in pki.folder.iterdir()}
    assert modes == {"ca.pem": 0o600, "server.pem": 0o600, "admin.pem": 0o600, "ca.crt": 0o644}
    assert b"PRIVATE" not in (pki.folder / "ca.crt").read_bytes()


def test_what_the_certificates_say(tmp_path: Path) -> None:
    pki = Pki(tmp_path, HeldClock())
    server = pki.server(["host.example", "10.0.0.1", "0:0::2", "localhost"])
    hosts = hosts_of(server.certificate)
    assert {"localhost", "127.0.0.1", "::1", "host.example", "10.0.0.1", "::2"} <= set(hosts)
    assert len(hosts) == len(set(hosts))
    client = pki.client("admin", "root", ["b", "a"])
    assert subject_of(client.certificate) == ("root", ("b", "a"))
    for pair in (server, client):
        assert isinstance(pair.key.curve, ec.SECP256R1)
        pair.certificate.verify_directly_issued_by(pki.authority.certificate)
    constraints = pki.authority.certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value.ca


def test_a_leaf_is_renewed_before_it_ends_and_not_earlier(tmp_path: Path) -> None:
    clock = HeldClock()
    pki = Pki(tmp_path, clock)
    first = serial(pki.server())
    clock.moment = START + days(334)
    assert serial(pki.server()) == first
    clock.moment = START + days(336)
    renewed = pki.server()
    assert serial(renewed) != first
    assert renewed.certificate.not_valid_after_utc == clock.moment + days(365)


def test_a_new_authority_issues_everything_anew(tmp_path: Path) -> None:
    clock = HeldClock()
    pki = Pki(tmp_path, clock)
    before = (serial(pki.authority), serial(pki.client("admin", "root")))
    clock.moment = START + days(3625)
    after = (serial(pki.authority), serial(pki.client("admin", "root")))
    assert not set(before) & set(after)
    assert (tmp_path / "ca.crt").read_bytes() == pki.authority.certificate_pem


def test_no_leaf_outlives_its_authority(tmp_path: Path) -> None:
    clock = HeldClock()
    pki = Pki(tmp_path, clock)
    end = pki.authority.certificate.not_valid_after_utc
    clock.moment = START + days(3500)
    assert pki.client("late", "root").certificate.not_valid_after_utc == end


def test_other_hosts_or_another_subject_need_another_certificate(tmp_path: Path) -> None:
    pki = Pki(tmp_path, HeldClock())
    small = serial(pki.server())
    wide = serial(pki.server(["host.example"]))
    assert wide != small
    assert serial(pki.server()) == wide
    assert serial(pki.client("admin", "root", ["a"])) != serial(pki.client("admin", "root", ["b"]))


def test_a_certificate_of_a_strange_authority_is_replaced(tmp_path: Path) -> None:
    Pki(tmp_path / "other", HeldClock()).client("admin", "root")
    pki = Pki(tmp_path / "own", HeldClock())
    first = pki.authority
    (tmp_path / "own" / "admin.pem").write_bytes((tmp_path / "other" / "admin.pem").read_bytes())
    pki.client("admin", "root").certificate.verify_directly_issued_by(first.certificate)


@pytest.mark.parametrize("content", [b"", b"garbage", b"-----BEGIN CERTIFICATE-----\nxx\n"])
@pytest.mark.parametrize(("name", "remedy"), [("ca", "restore it from a backup"), ("server", "delete it")])
def test_a_broken_file_is_named_with_its_remedy(
    tmp_path: Path, name: str, remedy: str, content: bytes
) -> None:
    Pki(tmp_path, HeldClock()).server()
    (tmp_path / f"{name}.pem").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        Pki(tmp_path, HeldClock()).server()
    assert str(tmp_path / f"{name}.pem") in str(caught.value)
    assert remedy in str(caught.value)


def test_a_key_of_another_certificate_is_seen(tmp_path: Path) -> None:
    pki = Pki(tmp_path, HeldClock())
    mixed = pki.server().key_pem + pki.client("admin", "root").certificate_pem
    pki.file("server").write_bytes(mixed)
    with pytest.raises(ConfigError, match="the key does not belong to the certificate"):
        pki.server()


def test_a_leaf_in_the_place_of_the_authority_is_seen(tmp_path: Path) -> None:
    pki = Pki(tmp_path, HeldClock())
    leaf = pki.client("admin", "root")
    pki.file("ca").write_bytes(leaf.key_pem + leaf.certificate_pem)
    with pytest.raises(ConfigError, match="is not a certificate authority"):
        _ = Pki(tmp_path, HeldClock()).authority


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").mkdir()
    with pytest.raises(ConfigError, match=r"ca\.pem: cannot be read"):
        _ = Pki(tmp_path, HeldClock()).authority


def test_a_host_that_no_certificate_can_carry(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be put into a certificate"):
        Pki(tmp_path, HeldClock()).server(["zürich"])


def test_no_drafts_are_left_behind(tmp_path: Path) -> None:
    Pki(tmp_path, HeldClock()).server()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.crt", "ca.pem", "server.pem"]


def test_the_subject_as_ssl_describes_it() -> None:
    subject = ((("organizationName", "b"),), (("organizationName", "a"),), (("commonName", "root"),))
    peer = peer_from_certificate({"subject": subject}, b"der")
    assert (peer.name, peer.groups) == ("root", ("b", "a"))
    assert peer.credential_id.startswith("X509SHA256=")
    assert peer_from_certificate({}, b"der").name == ""
    assert Peer("x") != peer
    assert new_authority("x", START).certificate.subject.rfc4514_string() == "CN=x"
