"""Tokens of service accounts end with their time, their account and their pod, and with the key."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pytest

from vacate.api.kinds import PODS, SERVICEACCOUNTS, Kind
from vacate.api.objects import Obj
from vacate.api.times import format_time
from vacate.embedded.apiserver.auth.accounttokens import ISSUER, AccountTokens

pytestmark = pytest.mark.unit

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
ACCOUNT: Obj = {"metadata": {"namespace": "shop", "name": "robot", "uid": "u-1"}}
POD: Obj = {"metadata": {"namespace": "shop", "name": "web", "uid": "u-2"}}
NODE: Obj = {"metadata": {"name": "node-1", "uid": "u-3"}}


class Place:
    """What the tokens are about, and the time."""

    def __init__(self) -> None:
        self.objects: dict[Kind, Obj] = {SERVICEACCOUNTS: copy.deepcopy(ACCOUNT), PODS: copy.deepcopy(POD)}
        self.seconds = 0.0

    def now(self) -> dt.datetime:
        return START + dt.timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def lookup(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        found = self.objects.get(kind)
        fits = found and (found["metadata"]["namespace"], found["metadata"]["name"]) == (namespace, name)
        return found if fits else None

    def tokens(self, key: bytes = b"k") -> AccountTokens:
        return AccountTokens(key, self.lookup, self)

    def token(self, *audiences: str) -> str:
        bound = {"pod": POD, "node": NODE}
        return self.tokens().issue(ACCOUNT, audiences or (ISSUER,), 600, bound, "jti-1")


def test_a_token_names_its_account_its_pod_and_its_node() -> None:
    place = Place()
    user = place.tokens().read(place.token())
    assert user is not None
    assert (user.name, user.uid) == ("system:serviceaccount:shop:robot", "u-1")
    extra = {key.partition("/")[2]: value for key, value in user.extra.items()}
    assert extra == {
        "credential-id": ("JTI=jti-1",), "pod-name": ("web",), "pod-uid": ("u-2",),
        "node-name": ("node-1",), "node-uid": ("u-3",),
    }  # fmt: skip


def _later(place: Place) -> None:
    place.seconds = 600


def _before(place: Place) -> None:
    place.seconds = -1


def _replaced(kind: Kind) -> Any:
    return lambda place: place.objects[kind]["metadata"].update(uid="other")


def _gone(kind: Kind) -> Any:
    return lambda place: place.objects.pop(kind)


def _ended(place: Place) -> None:
    place.objects[PODS]["metadata"]["deletionTimestamp"] = format_time(START - dt.timedelta(seconds=60))


@pytest.mark.parametrize(
    "change",
    [
        _later,
        _before,
        _ended,
        *(made(kind) for made in (_replaced, _gone) for kind in (SERVICEACCOUNTS, PODS)),
    ],
)
def test_it_ends_with_its_time_its_account_and_its_pod(change: Any) -> None:
    place = Place()
    token = place.token()
    assert place.tokens().read(token) is not None
    change(place)
    assert place.tokens().read(token) is None


def test_it_is_good_for_the_hook_of_a_pod_that_terminates() -> None:
    place = Place()
    place.objects[PODS]["metadata"]["deletionTimestamp"] = format_time(START + dt.timedelta(seconds=30))
    assert place.tokens().read(place.token()) is not None


def test_others_tokens_are_none() -> None:
    place = Place()
    header, claims, signature = place.token().split(".")
    unsigned = "eyJhbGciOiJub25lIn0"
    wrong = (
        place.token("vault"), f"{unsigned}.{claims}.", f"{unsigned}.{claims}.{signature}",
        f"{header}.{claims}.", f"{header}.{claims}", f"{header}.{claims[:-2]}AA.{signature}",
        "", ".", "..", "\ud800.\udfff.é",
    )  # fmt: skip
    assert [place.tokens().read(one) for one in wrong] == [None] * len(wrong)
    assert place.tokens(b"other").read(place.token()) is None
