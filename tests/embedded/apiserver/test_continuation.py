from __future__ import annotations

import base64
import contextlib

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.embedded.apiserver.request.continuetoken import LATEST, Continuation, expired, parse_continue
from vacate.errors import BadRequest

pytestmark = pytest.mark.unit

NAMES = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True).filter(lambda n: ".." not in n)


def token(**fields: object) -> str:
    return base64.urlsafe_b64encode(orjson.dumps(fields)).decode().rstrip("=")


@given(st.integers(1, 2**53), NAMES, NAMES, st.booleans())
def test_a_token_comes_back_as_it_was(revision: int, namespace: str, name: str, inside: bool) -> None:
    made = Continuation(revision, namespace, name)
    scope = namespace if inside else ""
    assert parse_continue(made.encode(scope), scope, namespaced=True) == made


@given(st.integers(1, 2**53), NAMES)
def test_cluster_wide_kinds_have_no_namespace_in_it(revision: int, name: str) -> None:
    made = Continuation(revision, "", name)
    assert parse_continue(made.encode(""), "", namespaced=False) == made


@pytest.mark.parametrize(
    "text",
    [
        "%%%",
        "x",
        "AAAA",
        token(v="meta.k8s.io/v1", rv=0, start="a/b"),
        token(v="meta.k8s.io/v1", rv=-2, start="a/b"),
        token(v="meta.k8s.io/v1", rv=True, start="a/b"),
        token(v="meta.k8s.io/v1", rv="5", start="a/b"),
        token(v="meta.k8s.io/v1", rv=5, start=""),
        token(v="meta.k8s.io/v1", rv=5, start="../b"),
        token(v="meta.k8s.io/v1", rv=5, start="a/b/c"),
        token(v="meta.k8s.io/v1", rv=5, start="b"),
        token(v="meta.k8s.io/v1", rv=5, start=7),
        token(v="meta.k8s.io/v2", rv=5, start="a/b"),
        token(rv=5),
        base64.urlsafe_b64encode(b"[1]").decode(),
    ],
)
def test_tokens_that_nobody_made_are_bad_requests(text: str) -> None:
    with pytest.raises(BadRequest, match="continue key is not valid"):
        parse_continue(text, "", namespaced=True)


@given(st.text(max_size=60))
def test_no_text_raises_anything_but_a_refusal(text: str) -> None:
    with contextlib.suppress(BadRequest):
        parse_continue(text, "", namespaced=True)


def test_an_expired_token_comes_with_one_that_goes_on_at_the_newest_state() -> None:
    error = expired(Continuation(5, "a", "b"), "")
    assert (error.status_code, error.reason) == (410, "Expired")
    assert parse_continue(error.list_meta["continue"], "", namespaced=True) == Continuation(LATEST, "a", "b")
