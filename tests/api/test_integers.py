"""The one definition of an acceptable integer: text, floats, ranges, and the readers that go by it."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.embedded import embedded, namespace
from vacate.api import kinds
from vacate.api.integers import LIMITS, fits, parse_integer, span, whole
from vacate.api.types import Deployment, Pod, ReplicaSet
from vacate.api.types.apps import DeploymentSpec, DeploymentStrategy, RollingUpdate
from vacate.api.types.meta import ObjectMeta
from vacate.client.codec import error_of
from vacate.embedded.controllers.deployment.revisions import REVISION, revision
from vacate.embedded.controllers.deployment.sizes import DESIRED_REPLICAS, remembered_size
from vacate.kube.deletionorder import DELETION_COST, deletion_cost
from vacate.kube.intorpercent import InvalidIntOrPercent, scaled_value
from vacate.kube.surge import surge_limit

pytestmark = pytest.mark.unit

MANY = "9" * 5000
"""More digits than Python takes for an integer."""
ODD_DIGITS = "²"
"""A digit to `str.isdigit`, and none to `int`."""


@given(st.integers(-(2**70), 2**70), st.sampled_from(sorted(LIMITS)), st.text("0", max_size=5))
def test_text(number: int, name: str, zeroes: str) -> None:
    text = f"{'-' if number < 0 else ''}{zeroes}{abs(number)}"
    assert parse_integer(text, name) == (number if fits(number, name) else None)


@pytest.mark.parametrize(
    "text", ["", "-", "+", " 1", "1 ", "1\n", "1.0", "1e3", "0x1", "1_0", ODD_DIGITS, "٣", MANY]
)
def test_no_integer(text: str) -> None:
    assert parse_integer(text) is None


@given(st.floats())
@example(1e308)
@example(2.0**53)
@example(600.0)
def test_a_float_is_an_integer_where_no_other_number_could_be_meant(number: float) -> None:
    found = whole(number)
    if type(found) is int:
        assert found == number
        assert float(found + 1) != number
        assert float(found - 1) != number
    else:
        assert not (abs(number) < 2**53 and number.is_integer())


@given(st.integers())
def test_a_duration_stays_within_its_limits(seconds: int) -> None:
    assert 60 <= span(seconds, 60, 86_400).total_seconds() <= 86_400


def test_readers_of_text_that_others_write_take_any_number_of_digits() -> None:
    for text in (MANY, ODD_DIGITS, f"{MANY}%", f"{ODD_DIGITS}%"):
        with pytest.raises(InvalidIntOrPercent):
            scaled_value(text, 3, round_up=True)
        surging = DeploymentStrategy(rolling_update=RollingUpdate(max_surge=text))
        assert surge_limit(Deployment(spec=DeploymentSpec(strategy=surging)), 3) == 0
        assert deletion_cost(Pod(metadata=ObjectMeta(annotations={DELETION_COST: text}))) == 0
        assert error_of(503, b"{}", text).retry_after_seconds is None
        noted = ReplicaSet(metadata=ObjectMeta(annotations={REVISION: text, DESIRED_REPLICAS: text}))
        assert revision(noted) == 0
        assert remembered_size(noted, DESIRED_REPLICAS) is None


async def test_a_version_of_many_digits_is_refused_as_any_other() -> None:
    async with embedded() as server:
        await server.seed(kinds.NAMESPACES, namespace("shop"))
        answers = [
            await server.ask(
                "POST",
                kinds.CONFIGMAPS.collection_path("shop"),
                {"metadata": {"name": "a", "resourceVersion": version}},
            )
            for version in ("1", MANY)
        ]
        assert answers[0].body == answers[1].body
