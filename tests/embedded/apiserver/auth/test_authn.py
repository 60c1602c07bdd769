"""Who is behind a request: certificates, tokens, nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from vacate.api.identity import User
from vacate.embedded.apiserver.auth.authentication import (
    Authenticator,
    bearer_token,
    parse_tokens,
    read_token_file,
)
from vacate.errors import ConfigError, Unauthorized
from vacate.wire.message import Peer, Request

pytestmark = pytest.mark.unit

TOKENS = {"s3cret": User("alice", ("dev",), "u1")}
ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


def request(authorization: str | None = None, peer: Peer | None = None) -> Request:
    headers = CIMultiDict[str]()
    if authorization is not None:
        headers["Authorization"] = authorization
    return Request("GET", "/", headers=headers, peer=peer)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Bearer  s3cret", "s3cret"])
def test_without_usable_credentials_one_is_anonymous(header: str | None) -> None:
    assert Authenticator(TOKENS).identify(request(header)) == ANONYMOUS


@pytest.mark.parametrize(
    "header", ["Bearer s3cret", "bearer s3cret", "  Bearer s3cret  ", "BEARER s3cret extra"]
)
def test_a_token_stands_for_its_user(header: str) -> None:
    user = Authenticator(TOKENS).identify(request(header))
    assert user == User("alice", ("dev", "system:authenticated"), "u1")


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer S3CRET", "Bearer s3cret2", "Bearer \udcff"])
def test_a_wrong_token_is_refused_and_not_taken_for_anonymous(header: str) -> None:
    with pytest.raises(Unauthorized) as caught:
        Authenticator(TOKENS).identify(request(header))
    assert (caught.value.message, caught.value.status_code) == ("Unauthorized", 401)


def test_without_any_tokens_a_token_is_wrong() -> None:
    with pytest.raises(Unauthorized):
        Authenticator().identify(request("Bearer x"))


def test_a_certificate_names_user_groups_and_itself() -> None:
    peer = Peer("bob", ("ops", "dev"), "X509SHA256=00")
    assert Authenticator().identify(request(peer=peer)) == User(
        "bob",
        ("ops", "dev", "system:authenticated"),
        extra={"authentication.kubernetes.io/credential-id": ("X509SHA256=00",)},
    )


def test_a_certificate_comes_before_a_token_even_a_wrong_one() -> None:
    peer = Peer("bob")
    assert Authenticator(TOKENS).identify(request("Bearer wrong", peer)).name == "bob"


def test_a_certificate_without_a_name_is_nobody() -> None:
    assert Authenticator(TOKENS).identify(request(peer=Peer("", ("ops",)))) == ANONYMOUS
    assert Authenticator(TOKENS).identify(request("Bearer s3cret", Peer(""))).name == "alice"


def test_general_groups_are_not_added_twice_or_against_each_other() -> None:
    plain = Authenticator().identify(request(peer=Peer("x", ("system:authenticated",))))
    shy = Authenticator().identify(request(peer=Peer("x", ("system:unauthenticated",))))
    nobody = Authenticator().identify(request(peer=Peer("system:anonymous")))
    assert plain.groups == ("system:authenticated",)
    assert shy.groups == ("system:unauthenticated",)
    assert nobody.groups == ()


def test_many_peers_are_distinguished() -> None:
    identify = Authenticator().identify
    assert all(identify(request(peer=Peer(f"u{n}"))).name == f"u{n}" for n in range(3000))


@given(st.text())
def test_any_header_is_read_without_failing(header: str) -> None:
    token = bearer_token(header)
    assert token == "" or token in header


def test_the_token_file(tmp_path: Path) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text('t1,alice,u1,"dev,ops"\n\nt2,bob,\nt3,eve,u3,solo,ignored\n')
    assert read_token_file(path) == {
        "t1": User("alice", ("dev", "ops"), "u1"),
        "t2": User("bob"),
        "t3": User("eve", ("solo",), "u3"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t1,alice", "line 1: must have at least 3 columns (token, user name, user uid), found 2"),
        ("t1,a,u\n,bob,u2", "line 2: the token is empty"),
        ("t1,,u1", "line 1: the user name is empty"),
        ("t1,a,u\nt1,b,u", "line 2: token seen before"),
        ('t1,a,u,"open', "check the quotes"),
    ],
)
def test_a_broken_token_file_names_line_and_remedy(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_tokens(text)
    assert message in str(caught.value)
    assert "t1" not in str(caught.value)


def test_a_token_file_that_is_missing_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.csv: cannot be read"):
        read_token_file(tmp_path / "gone.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe,a,b")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_token_file(tmp_path / "binary.csv")
