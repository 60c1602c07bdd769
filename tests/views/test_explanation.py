"""What `explain` prints in each state, word by word."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import msgspec
import pytest

from support.simulated.request import SimRequest
from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.views.explanation import Explanation, explanation_of
from vacate.views.model import Refusals
from vacate.views.sections.unrequested import explain_unrequested
from views.explanation_inputs import BACKUP, DRAIN, EXPLANATION_INPUTS, SPENT, UNASKED

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).with_name("explanation_golden.txt")


def explained(sim: SimRequest) -> Explanation:
    return explanation_of(sim.typed, sim.typed_pod, sim.typed_budgets, now=sim.now)


def explained_unrequested(sim: SimRequest) -> Explanation:
    assert sim.typed_pod is not None
    interceptors = [one["name"] for one in reversed(sim.request["spec"]["interceptors"])]
    return explain_unrequested(sim.typed_pod, interceptors, sim.typed_budgets, now=sim.now)


def written(explanation: Explanation) -> str:
    """An explanation as the golden file has it: a mark before each line shows which part it is."""
    lines = [f"[{explanation.stage or 'none'}] {explanation.headline}"]
    lines += [f"  asked    {one}" for one in explanation.requested]
    lines += [f"  {turn.state:<8} {turn}" for turn in explanation.turns]
    lines += [f"  happened {one}" for one in explanation.happened]
    lines += [f"  awaited  {one}" for one in explanation.awaited]
    lines += [f"  next     {one}" for one in explanation.next]
    lines += [f"  do       {one.text} $ {one.command}" for one in explanation.remedies]
    return "\n".join(lines)


def golden() -> dict[str, str]:
    parts = GOLDEN.read_text().split("## ")[1:]
    return {part.partition("\n")[0]: part.partition("\n")[2].strip() for part in parts}


@pytest.mark.parametrize("name", EXPLANATION_INPUTS)
def test_the_explanation_of_each_state(name: str) -> None:
    assert written(explained(EXPLANATION_INPUTS[name]())) == golden()[name]


@pytest.mark.parametrize("name", UNASKED)
def test_the_explanation_of_a_pod_that_nobody_asks(name: str) -> None:
    assert written(explained_unrequested(UNASKED[name]())) == golden()[name]


def test_every_golden_explanation_has_an_input() -> None:
    assert set(golden()) == {*EXPLANATION_INPUTS, *UNASKED}


@pytest.mark.parametrize("name", EXPLANATION_INPUTS)
def test_every_text_is_a_sentence_and_no_part_is_missing(name: str) -> None:
    explanation = explained(EXPLANATION_INPUTS[name]())
    assert all(one and one == one.strip() for one in explanation.sentences)
    assert {turn.interceptor for turn in explanation.turns} == {
        one.name for one in EXPLANATION_INPUTS[name]().typed.spec.interceptors
    }
    assert explanation.awaited or explanation.next


def test_a_known_refusal_narrows_the_next_attempt() -> None:
    sim = SimRequest().refused(SPENT).refused(SPENT).refused(SPENT).budget("web", 3, 3).after(seconds=9)
    refused_at = sim.now - dt.timedelta(seconds=4)
    explanation = explanation_of(
        sim.typed,
        sim.typed_pod,
        sim.typed_budgets,
        now=sim.now,
        refusals=[Refusals(refused_at, refused_at, 1, "no")],
    )
    assert explanation.next[0].startswith("The next attempt comes between 12s and 16s from now")
    assert explanation.next_at == refused_at + dt.timedelta(seconds=20)


@pytest.mark.parametrize(
    ("seconds", "start"),
    [
        (15.9, "The next attempt comes within 4s, or as soon"),  # it begins in a tenth of a second
        (19.5, "The next attempt is due now."),
    ],
)
def test_no_attempt_comes_within_no_time_at_all(seconds: float, start: str) -> None:
    sim = SimRequest().refused(SPENT).refused(SPENT).refused(SPENT).after(seconds=seconds)
    refused_at = sim.now - dt.timedelta(seconds=seconds)
    explanation = explanation_of(
        sim.typed, sim.typed_pod, now=sim.now, refusals=[Refusals(refused_at, refused_at, 1, "no")]
    )
    assert explanation.next[0].startswith(start)
    assert "0s" not in explanation.next[0]


def test_refusals_have_their_messages_where_these_are_new() -> None:
    sim = SimRequest().refused(SPENT).refused(SPENT).after(minutes=10)
    early, late = sim.now - dt.timedelta(minutes=9), sim.now - dt.timedelta(minutes=1)
    known = explanation_of(sim.typed, sim.typed_pod, now=sim.now)
    message = next(one for one in known.happened if "refused" in one).partition(": ")[2]
    refusals = [Refusals(early, late, 3, message), Refusals(late, late, 1, "another budget")]
    shown = explanation_of(sim.typed, sim.typed_pod, now=sim.now, refusals=refusals).all_happened
    assert shown[:-2] == known.all_happened
    assert shown[-2].startswith("Refused 3 times from ")
    assert message.rstrip(".") not in shown[-2]
    assert shown[-1].startswith("Refused at ")
    assert shown[-1].endswith(" UTC: another budget.")
    with_help = [
        Refusals(early, late, 3, f"{message} Start a replacement first. kubectl annotate deployment web")
    ]
    shown = explanation_of(sim.typed, sim.typed_pod, now=sim.now, refusals=with_help).all_happened
    assert shown[-1].endswith(" UTC.")


def test_a_refusal_of_long_ago_narrows_nothing() -> None:
    sim = SimRequest().refused(SPENT).refused(SPENT).after(minutes=10)
    explanation = explanation_of(
        sim.typed,
        sim.typed_pod,
        now=sim.now,
        refusals=[Refusals(old := sim.now - dt.timedelta(minutes=10), old, 1, "no")],
    )
    assert explanation.next[0].startswith("The next attempt comes within 10s")


def test_commands_are_those_of_the_program_that_explains() -> None:
    sim = EXPLANATION_INPUTS["waiting for a response"]()
    explanation = explanation_of(sim.typed, sim.typed_pod, now=sim.now, program="kubectl vacate")
    cancel = "kubectl vacate cancel web-1 -n default --requester drain.example.com"
    assert cancel in [one.command for one in explanation.remedies]


@pytest.mark.parametrize(
    ("there", "command"),
    [
        (None, "vacate drain --cancel drain-node-1"),
        ({"name": "drain-node-1"}, "vacate drain --cancel drain-node-1"),
        ({"name": "drain-node-2"}, f"vacate cancel web-1 -n default --requester {DRAIN}"),
        (
            {"name": "drain-node-1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            "kubectl get nodemaintenance drain-node-1",
        ),
    ],
)
def test_a_drain_is_cancelled_only_as_long_as_it_is_there(there: Obj | None, command: str) -> None:
    sim = SimRequest(BACKUP, requesters=(DRAIN,)).after(seconds=0.2)
    found = None if there is None else [msgspec.convert({"metadata": there}, NodeMaintenance)]
    explanation = explanation_of(sim.typed, sim.typed_pod, now=sim.now, maintenances=found)
    assert command in [one.command for one in explanation.remedies]
    assert ("drain --cancel" in str(explanation.remedies)) == ("drain --cancel" in command)


def test_budgets_of_other_namespaces_and_of_other_pods_do_not_count() -> None:
    sim = SimRequest().refused(SPENT).budget("web", 3, 3).budget("far", 3, 3).budget("other", 3, 3)
    sim.budgets[1]["metadata"]["namespace"] = "elsewhere"
    sim.budgets[2]["spec"]["selector"] = {"matchLabels": {"app": "other"}}
    explanation = explained(sim)
    assert [one for one in explanation.awaited if "needs" in one] == [
        "Disruption budget web needs 3 healthy pods, has 3, and allows 0 disruptions now."
    ]
