"""What a requester believes of a request's end."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.types.core import Pod
from vacate.eviction.model import Ending
from vacate.sdk.results import Result, confirmed

pytestmark = pytest.mark.unit


def a_pod(phase: str = "Running") -> Pod:
    return msgspec.convert({"metadata": {"name": "web", "uid": "u"}, "status": {"phase": phase}}, Pod)


@pytest.mark.parametrize(
    ("ending", "pod", "believed"),
    [
        (Ending.POD_DELETED, None, True),
        (Ending.POD_DELETED, a_pod(), False),
        (Ending.POD_TERMINATED, a_pod("Succeeded"), True),
        (Ending.POD_TERMINATED, a_pod(), False),
        (Ending.POD_TERMINATED, None, True),
        (Ending.CANCELLED, a_pod(), True),
    ],
)
def test_an_end_is_believed_when_the_pod_agrees(ending: Ending, pod: Pod | None, believed: bool) -> None:
    told = Result(ending, "over")
    found = confirmed(told, pod)
    assert (found == told) is believed
    if not believed:
        assert not found.pod_ended
        assert "pod web with UID u is still there" in found.message
