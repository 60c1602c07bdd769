"""What a requester believes of a request's end."""

from __future__ import annotations

import msgspec
import pytest

from vacate.api.types.core import Pod
from vacate.eviction.model import CompletionReason
from vacate.sdk.results import Result, confirmed

pytestmark = pytest.mark.unit


def a_pod(phase: str = "Running") -> Pod:
    return msgspec.convert({"metadata": {"name": "web", "uid": "u"}, "status": {"phase": phase}}, Pod)


@pytest.mark.parametrize(
    ("reason", "pod", "believed"),
    [
        (CompletionReason.POD_DELETED, None, True),
        (CompletionReason.POD_DELETED, a_pod(), False),
        (CompletionReason.POD_TERMINATED, a_pod("Succeeded"), True),
        (CompletionReason.POD_TERMINATED, a_pod(), False),
        (CompletionReason.POD_TERMINATED, None, True),
        (CompletionReason.CANCELLED, a_pod(), True),
    ],
)
def test_an_end_is_believed_when_the_pod_agrees(
    reason: CompletionReason, pod: Pod | None, believed: bool
) -> None:
    given = Result(reason, "over")
    found = confirmed(given, pod)
    assert (found == given) is believed
    if not believed:
        assert not found.pod_ended
        assert "pod web with UID u is still there" in found.message
