"""Frames survive any way of cutting them up."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacate.errors import TransportError
from vacate.wire.framing import LineSplitter, decode_frame, frame

pytestmark = pytest.mark.unit


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=3), st.text(max_size=5), max_size=3), max_size=8), st.data())
def test_any_cutting_gives_the_same_lines(objects: list[dict[str, str]], data: st.DataObject) -> None:
    wire = b"".join(frame("ADDED", orjson.dumps(obj)) for obj in objects)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=10)))
    splitter, lines = LineSplitter(), []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        lines += splitter.feed(wire[start:end])
    assert [orjson.loads(bytes(decode_frame(line).object)) for line in lines] == objects
    assert splitter.pending == 0


def test_an_unfinished_line_is_kept() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"type"') == []
    assert splitter.pending == 7
    assert splitter.feed(b":1}\n\n{") == [b'{"type":1}']
    assert splitter.pending == 1


def test_a_line_without_end_is_an_error() -> None:
    splitter = LineSplitter(limit=10)
    splitter.feed(b"12345")
    with pytest.raises(TransportError, match="longer than 10"):
        splitter.feed(b"678901")


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"type":1,"object":{}}', b'{"type":"ADDED"}', b"\xff"])
def test_what_is_no_event(line: bytes) -> None:
    with pytest.raises(TransportError):
        decode_frame(line)
