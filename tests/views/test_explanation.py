"""What `explain` tells in each state, word by word."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from support.leave_play import Play
from vacate.views.explanation import Explanation, explanation_of
from vacate.views.sections.unrequested import explain_unrequested
from views.explanation_inputs import SCENES, SPENT, UNASKED

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).with_name("explanation_golden.txt")


def told(play: Play) -> Explanation:
    return explanation_of(play.typed, play.typed_pod, play.typed_budgets, now=play.now)


def told_unasked(play: Play) -> Explanation:
    assert play.typed_pod is not None
    interceptors = [one["name"] for one in reversed(play.request["spec"]["interceptors"])]
    return explain_unrequested(play.typed_pod, interceptors, play.typed_budgets, now=play.now)


def written(story: Explanation) -> str:
    """A story as the golden file has it: a mark before each line tells which part it is."""
    lines = [f"[{story.stage or 'none'}] {story.headline}"]
    lines += [f"  asked    {one}" for one in story.requested]
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


@pytest.mark.parametrize("name", UNASKED)
def test_the_story_of_a_pod_that_nobody_asks(name: str) -> None:
    assert written(told_unasked(UNASKED[name]())) == golden()[name]


def test_every_golden_story_has_a_scene() -> None:
    assert set(golden()) == {*SCENES, *UNASKED}


@pytest.mark.parametrize("name", SCENES)
def test_every_text_is_a_sentence_and_every_part_is_told(name: str) -> None:
    story = told(SCENES[name]())
    assert all(one and one == one.strip() for one in story.sentences)
    assert {turn.interceptor for turn in story.turns} == {
        one.name for one in SCENES[name]().typed.spec.interceptors
    }
    assert story.awaited or story.next


def test_a_known_refusal_narrows_the_next_attempt() -> None:
    play = Play().refused(SPENT).refused(SPENT).refused(SPENT).budget("web", 3, 3).after(seconds=9)
    refused_at = play.now - dt.timedelta(seconds=4)
    story = explanation_of(
        play.typed, play.typed_pod, play.typed_budgets, now=play.now, refused_at=refused_at
    )
    assert story.next[0].startswith("The next attempt comes between 12s and 16s from now")
    assert story.next_at == refused_at + dt.timedelta(seconds=20)


def test_a_refusal_of_long_ago_narrows_nothing() -> None:
    play = Play().refused(SPENT).refused(SPENT).after(minutes=10)
    story = explanation_of(
        play.typed, play.typed_pod, now=play.now, refused_at=play.now - dt.timedelta(minutes=10)
    )
    assert story.next[0].startswith("The next attempt comes within 10s")


def test_commands_are_those_of_the_program_that_tells() -> None:
    play = SCENES["waiting for a response"]()
    story = explanation_of(play.typed, play.typed_pod, now=play.now, program="kubectl vacate")
    cancel = "kubectl vacate cancel web-1 -n default --requester drain.example.com"
    assert cancel in [one.command for one in story.remedies]


def test_budgets_of_other_namespaces_and_of_other_pods_do_not_count() -> None:
    play = Play().refused(SPENT).budget("web", 3, 3).budget("far", 3, 3).budget("other", 3, 3)
    play.budgets[1]["metadata"]["namespace"] = "elsewhere"
    play.budgets[2]["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    story = told(play)
    assert [one for one in story.awaited if "needs" in one] == [
        "Disruption budget web needs 3 healthy pods, has 3, and allows 0 disruptions now."
    ]
