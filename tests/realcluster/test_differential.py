"""The same random requests to the embedded server and to a real one: the answers must be the same.

`make differential N=5000` for a long run. What it finds becomes a conformance case.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.differential.pair import Pair, open_pair
from support.differential.sequences import TOPICS

pytestmark = [pytest.mark.kube, pytest.mark.xdist_group("differential"), pytest.mark.timeout(0)]

ASKED_FOR = os.environ.get("VACATE_DIFFERENTIAL", "")
EXAMPLES = int(ASKED_FOR or 150)
SHORT = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=not ASKED_FOR,  # the short run is the same one every time; long ones look for news
    phases=[Phase.generate, Phase.shrink],
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with open_pair(tmp_path_factory.mktemp("pair")) as pair:
        yield pair
        print(f"\n{pair.compared} answers and {pair.events} events were the same")


@pytest.mark.parametrize("topic", TOPICS)
def test_both_servers_answer_alike(pair: Pair, topic: str) -> None:
    @given(st.data())
    @SHORT
    def check(data: st.DataObject) -> None:
        asks, watch = data.draw(TOPICS[topic])
        pair.check(asks, watch)

    check()
