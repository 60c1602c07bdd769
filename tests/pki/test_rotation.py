"""The certificates as values, over years of virtual time: what is served is trusted at every moment."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509

from vacate.errors import ConfigError
from vacate.pki.rotation import AUTHORITY_LIFETIME, LEAF_LIFETIME, SETTLING, CertificateBundle, renewed
from vacate.webhook.certificates.secret import bundle_from, bundle_to_data

pytestmark = pytest.mark.unit

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
HOSTS = ("vacate-webhook.vacate-system.svc", "127.0.0.1")


def trusts(bundle: CertificateBundle, leaf: x509.Certificate, now: dt.datetime) -> bool:
    for authority in bundle.authorities:
        try:
            leaf.verify_directly_issued_by(authority)
        except Exception:
            continue
        return authority.not_valid_before_utc <= now < authority.not_valid_after_utc
    return False


def test_nothing_to_do() -> None:
    bundle = renewed(None, HOSTS, T0)
    assert renewed(bundle, HOSTS, T0 + dt.timedelta(days=19)) is bundle
    assert len(bundle.authorities) == 1


def test_a_leaf_is_renewed_at_a_third() -> None:
    bundle = renewed(None, HOSTS, T0)
    later = T0 + dt.timedelta(days=21)
    after = renewed(bundle, HOSTS, later)
    assert after.authorities == bundle.authorities
    assert after.leaf.certificate != bundle.leaf.certificate
    assert after.leaf.certificate.not_valid_after_utc == later + LEAF_LIFETIME
    assert renewed(after, HOSTS, later) is after


def test_new_hosts_need_a_new_leaf() -> None:
    bundle = renewed(None, HOSTS, T0)
    after = renewed(bundle, (*HOSTS, "hook.example.com"), T0)
    assert after.authorities == bundle.authorities
    assert after.leaf.certificate != bundle.leaf.certificate


def test_a_new_authority_is_trusted_first_and_used_later() -> None:
    bundle = renewed(None, HOSTS, T0)
    turn = T0 + AUTHORITY_LIFETIME * 2 / 3
    bundle = renewed(bundle, HOSTS, turn - dt.timedelta(days=1))
    [old] = bundle.authorities
    both = renewed(bundle, HOSTS, turn)
    assert both.authorities[0] == old
    assert len(both.authorities) == 2
    assert both.leaf.certificate == bundle.leaf.certificate
    assert renewed(both, HOSTS, turn + SETTLING / 2) is both
    used = renewed(both, HOSTS, turn + SETTLING)
    assert used.authorities == both.authorities
    used.leaf.certificate.verify_directly_issued_by(used.authorities[1])
    last = bundle.leaf.certificate.not_valid_after_utc
    while old in used.authorities:
        turn += dt.timedelta(hours=6)
        used = renewed(used, HOSTS, turn)
    assert last < turn < last + dt.timedelta(days=2)
    assert len(used.authorities) == 1


@pytest.mark.thorough
def test_years_without_a_gap() -> None:
    """A reader of the bundle before the last change still fits those who read it afterwards."""
    now, bundle = T0, renewed(None, HOSTS, T0)
    before = bundle
    changes = 0
    while now < T0 + dt.timedelta(days=600):
        now += dt.timedelta(hours=16)
        bundle = renewed(bundle, HOSTS, now)
        assert bundle.leaf.certificate.not_valid_after_utc - now > dt.timedelta(days=8)
        assert trusts(bundle, bundle.leaf.certificate, now)
        if bundle is not before:
            assert trusts(before, bundle.leaf.certificate, now)
            assert trusts(bundle, before.leaf.certificate, now)
            changes += 1
        before = bundle
    assert 25 < changes < 45


def test_after_a_long_absence_everything_is_new() -> None:
    bundle = renewed(None, HOSTS, T0)
    now = T0 + dt.timedelta(days=900)
    after = renewed(bundle, HOSTS, now)
    assert len(after.authorities) == 1
    assert trusts(after, after.leaf.certificate, now)
    assert after.leaf.certificate.not_valid_after_utc > now


def test_there_and_back_in_a_secret() -> None:
    bundle = renewed(None, HOSTS, T0)
    again = bundle_from({"data": bundle_to_data(bundle)})
    assert again is not None
    assert again.authorities == bundle.authorities
    assert again.leaf.certificate == bundle.leaf.certificate
    assert bundle_to_data(again) == bundle_to_data(bundle)


def test_secrets_that_hold_nothing_of_use() -> None:
    data = bundle_to_data(renewed(None, HOSTS, T0))
    other = bundle_to_data(renewed(None, HOSTS, T0))
    for spoilt in (
        {},
        {**data, "ca.crt": ""},
        {**data, "ca.key": other["ca.key"]},
        {**data, "tls.key": other["tls.key"]},
        {**data, "tls.crt": "%%%"},
        {**data, "ca.key": "AAAA"},
    ):
        assert bundle_from({"data": spoilt}) is None
    with pytest.raises(ConfigError, match="did not make"):
        bundle_from({"data": {"tls.crt": data["tls.crt"], "tls.key": data["tls.key"]}})
