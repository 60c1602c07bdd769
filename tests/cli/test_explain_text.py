"""An explanation on the screen and as an object."""

from __future__ import annotations

import json

import pytest

from vacate.cli.explain.several import SeveralPods
from vacate.cli.explain.text import as_lines, as_object
from vacate.views.explanation import Explanation, explanation_of
from vacate.views.model import Remedy
from vacate.views.sections.intercepting import EVICTED_NEXT
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = pytest.mark.unit


TIMED_OUT = "responded, then timed out after 30m. Its last message: Copying."


def explained(name: str) -> Explanation:
    sim = EXPLANATION_INPUTS[name]()
    return explanation_of(sim.typed, sim.typed_pod, sim.typed_budgets, now=sim.now)


def test_the_whole_text() -> None:
    assert as_lines(explained("handed over after silence")) == [
        "Pod web-1 waits for interceptor notify.example.com, which has not responded yet.",
        "The eviction request was created 30m ago; requested by drain.example.com.",
        "",
        "Interceptors, in the order of turns:",
        f"  1. backup.example.com was assigned 30m ago, {TIMED_OUT}",
        "  2. notify.example.com was assigned 20s ago and has not responded yet.",
        "",
        "What it waits for:",
        "  Waiting for the first heartbeat of notify.example.com.",
        "",
        "What happens next:",
        f"  If it sends no heartbeat by 11:00:01 UTC (in 29m), it times out and {EVICTED_NEXT}.",
        "",
        "What you can do:",
        "  - Follow it.",
        "      vacate status web-1 -n default -w",
        (
            "  - Make sure that notify.example.com runs, selects this pod, and may update"
            " the status of EvictionRequests."
        ),
        "      kubectl get evictionrequest uid-web-1 -o yaml -n default",
        "  - Do not wait for it; its turn counts as failed.",
        "      vacate skip web-1 notify.example.com -n default",
        "  - Cancel the request.",
        "      vacate cancel web-1 -n default --requester drain.example.com",
    ]


@pytest.mark.parametrize("width", [40, 80, 200])
def test_lines_are_broken_between_words_and_commands_never(width: int) -> None:
    for explanation in map(explained, EXPLANATION_INPUTS):
        broken = "\n".join(as_lines(explanation, width))
        assert "\n".join(as_lines(explanation)).split() == broken.split()
        commands = {one.command for one in explanation.remedies}
        long = [line for line in broken.splitlines() if len(line) > width and line.strip() not in commands]
        assert all(len(line.split()) <= 2 for line in long), long


def test_the_object_says_the_same() -> None:
    for explanation in map(explained, EXPLANATION_INPUTS):
        obj = json.loads(json.dumps(as_object(explanation)))
        assert obj["headline"] == explanation.headline
        assert [one["name"] for one in obj["interceptors"]] == [one.interceptor for one in explanation.turns]
        assert [one["command"] for one in obj["remedies"]] == [one.command for one in explanation.remedies]
        assert (obj["nextAt"] is None) == (explanation.next_at is None)


def test_remedies_of_several_pods_name_whose_they_are() -> None:
    """And what is the same for several is said once."""
    shared, own = Remedy("Let one go.", "kubectl patch pdb web"), Remedy("Wait.", "kubectl describe pdb db")
    pods = [
        Explanation("shop", "web-1", "It waits.", remedies=(shared,)),
        Explanation("shop", "web-2", "It waits.", remedies=(shared,)),
        Explanation("shop", "db-0", "It waits.", remedies=(own, Remedy("Wait.", "kubectl describe pdb db"))),
    ]
    whole = SeveralPods("node/a", [], pods, remedies=[Remedy("Drain it.", "vacate drain a"), own])
    text = whole.text()
    assert text[text.index("What you can do:") + 1 :] == [
        "  - pod/web-1 and 1 more: Let one go.",
        "      kubectl patch pdb web",
        "  - pod/db-0: Wait.",
        "      kubectl describe pdb db",
        "  - Drain it.",
        "      vacate drain a",
    ]


def test_what_stands_below_the_blockers_of_a_drain_is_not_repeated() -> None:
    opt_in, look = Remedy("Opt in.", "kubectl annotate deployment web"), Remedy("Look.", "kubectl get pdb")
    pods = [Explanation("shop", "web-1", "It waits.", remedies=(opt_in, look))]
    held = ["Needs a person:", "  ! pod web-1", "    → opt in:", f"      {opt_in.command}"]
    text = SeveralPods("node/a", held, pods).text()
    assert text[text.index("What you can do:") + 1 :] == ["  - Look.", f"      {look.command}"]


@pytest.mark.parametrize("width", [40, 80])
def test_sentences_about_several_pods_are_broken_between_words_and_commands_never(width: int) -> None:
    command = "kubectl annotate deployment a-name-of-some-length vacate.dev/move-before-eviction=true -n shop"
    way = Remedy("See which pods the budget counts; more healthy pods allow more disruptions.", command)
    pods = [
        Explanation("shop", f"web-{one}", "It waits for much that takes long, by now.", remedies=(way,))
        for one in range(2)
    ]
    lines = ["nodemaintenance/a: Blocked, 0 of 3 nodes drained, 2 blockers; 1 of 2 pods evicted so far."]
    whole = SeveralPods("node/a takes no new pods (it is cordoned) and has 2 pods.", lines, pods)
    broken = whole.text(width)
    assert " ".join(whole.text()).split() == " ".join(broken).split()
    assert [line for line in broken if len(line) > width] == [f"      {command}"]
