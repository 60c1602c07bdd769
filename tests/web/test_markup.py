"""Trees of elements: escaped where HTML is written, and split into parts by key."""

from __future__ import annotations

import json

import pytest

from vacate.web.markup import difference, el, parts_of, to_html

pytestmark = pytest.mark.unit

HOSTILE = "<script>alert(1)</script>\"'&"


def test_text_and_attributes_of_others_are_escaped() -> None:
    made = to_html(el("p", "", HOSTILE, title=HOSTILE))
    assert "<script" not in made
    assert made.count("&lt;script&gt;") == 2
    assert "\"'" not in made.partition(">")[0]


@pytest.mark.parametrize("address", ["javascript:alert(1)", "https://example.com/", "data:text/html,x"])
def test_no_link_leads_elsewhere(address: str) -> None:
    with pytest.raises(ValueError, match="a link leads to a page of this program"):
        el("a", "", "x", href=address)


def test_no_attribute_runs_a_script() -> None:
    with pytest.raises(ValueError, match="runs a script"):
        el("p", "", "x", onclick="alert(1)")


def test_only_the_part_that_changed_is_sent() -> None:
    def page(first: str, second: str) -> dict[str, bytes]:
        rows = [el("tr", "", el("td", "", text), key=f"row/{n}") for n, text in enumerate((first, second))]
        return parts_of(el("table", "", rows, key="table"))

    before, after = page("a", "b"), page("a", "c")
    assert list(difference({}, after)) == ["table", "row/0", "row/1"]  # the outer one first
    assert list(difference(before, after)) == ["row/1"]
    assert json.loads(after["row/1"]) == ["tr", {"data-k": "row/1"}, [["td", {}, ["c"]]]]
    assert json.loads(after["table"])[2] == [{"k": "row/0"}, {"k": "row/1"}]


def test_a_clock_that_ticks_is_no_change() -> None:
    def page(text: str) -> dict[str, bytes]:
        return parts_of(
            el("p", "", el("time", "", text, datetime="2026-01-01T00:00:00Z", data_t="age"), key="p")
        )

    assert difference(page("1s"), page("2s")) == {}
