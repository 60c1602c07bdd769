"""What `explain` tells in each state, word by word."""

from __future__ import annotations

from pathlib import Path

import pytest

from decide.dialects.story_scenes import SCENES
from support.leave_play import Play
from vacate.decide.dialects.evictionrequest_story import Story, tell

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).with_name("story_golden.txt")


def told(play: Play) -> Story:
    return tell(play.typed, play.typed_pod, play.typed_budgets, now=play.now)


def written(story: Story) -> str:
    """A story as the golden file has it: a mark before each line tells which part it is."""
    lines = [f"[{story.stage or 'none'}] {story.headline}"]
    lines += [f"  asked    {one}" for one in story.asked]
    lines += [f"  {turn.state:<8} {turn}" for turn in story.turns]
    lines += [f"  happened {one}" for one in story.happened]
    lines += [f"  awaited  {one}" for one in story.awaited]
    lines += [f"  next     {one}" for one in story.next]
    lines += [f"  do       {one.text} $ {one.command}" for one in story.remedies]
    return "\n".join(lines)


def golden() -> dict[str, str]:
    parts = GOLDEN.read_text().split("## ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}


@pytest.mark.parametrize("name", SCENES)
def test_the_story_of_each_state(name: str) -> None:
    assert written(told(SCENES[name]())) == golden()[name]
