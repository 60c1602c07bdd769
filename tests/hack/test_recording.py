"""The recorder of the README's picture: a screen in memory, and its frames as an animated SVG."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hack.recording.__main__ import record
from hack.recording.screen import Screen, Style
from hack.recording.svg import animated

ROOT = Path(__file__).parents[2]


def text_of(screen: Screen) -> list[str]:
    return ["".join(cell.text for cell in line) for line in screen.shown()]


pytestmark = pytest.mark.process


def test_a_live_view_draws_over_its_lines() -> None:
    screen = Screen(20, 4)
    screen.feed("first\r\nsecond\r\n")
    screen.feed("\x1b[1A\x1b[2Kchanged\r\n\x1b[?25h")
    assert text_of(screen) == ["first", "changed", ""]


def test_a_screen_shows_its_last_lines_and_breaks_those_that_are_too_long() -> None:
    screen = Screen(3, 4)
    screen.feed("1\r\n2\r\nlonger\r\nend")
    assert text_of(screen) == ["2", "lon", "ger", "end"]


def test_styles_end_where_they_are_reset() -> None:
    screen = Screen(9, 1)
    screen.feed("\x1b[1;32mok\x1b[0m no")
    styles = [cell.style for cell in screen.shown()[0]]
    assert styles == [Style("green", bold=True)] * 2 + [Style()] * 3


def test_each_frame_is_seen_until_the_next() -> None:
    frames = []
    for began, text in ((0.0, "a < b"), (2.0, "done")):
        screen = Screen(9, 1)
        screen.feed(text)
        frames.append((began, screen.shown()))
    svg = animated(frames, (9, 1), hold=2.0, title="x & y")
    groups = [one for one in ElementTree.fromstring(svg) if one.tag.endswith("}g")]
    assert ["".join(one.itertext()) for one in groups] == ["a < b", "done"]
    assert "k0{0%{visibility:visible}50.000%{visibility:hidden}}" in svg
    assert "k1{0%{visibility:hidden}50.000%{visibility:visible}}" in svg


def test_a_command_is_recorded_to_its_end() -> None:
    frames = record([sys.executable, "-c", "print('the last line')"])
    assert any("the last line" in "".join(cell.text for cell in line) for line in frames[-1][1])


def test_the_picture_of_the_readme_shows_the_demo_of_today() -> None:
    """A word that the demo no longer prints would be a picture of another program."""
    shown = " ".join(ElementTree.parse(ROOT / "docs/pictures/demo.svg").getroot().itertext())
    for text in ("Pods by node", "Recent events", "Timeline", "Summary", "is being evicted"):
        assert text in shown


def test_the_picture_of_an_explanation_has_its_sentences_and_commands_whole() -> None:
    frames = ElementTree.parse(ROOT / "docs/pictures/explain.svg").getroot()
    lines = ["".join(one.itertext()) for one in frames.iter("{http://www.w3.org/2000/svg}text")]
    shown = " ".join("".join(lines).split())
    assert "Waiting for disruption budget web to allow a disruption." in shown
    assert """'{"spec":{"minAvailable":null,"maxUnavailable":1}}'""" in shown
