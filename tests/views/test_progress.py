"""The sentences on the progress of an eviction that a command waits for, and on pods that stay."""

from __future__ import annotations

import pytest

from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.views.progress import left_over_text, progress_text
from vacate.views.statusrows import row_of
from views.explanation_inputs import EXPLANATION_INPUTS

pytestmark = pytest.mark.unit

NOW = "2026-11-17T12:00:00Z"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("responding", "waits for interceptor backup.example.com (ETA in 9m49s): Copied 40 of 100 GiB"),
        ("not started", "waits for its first interceptor"),
        ("evicting without interceptors", "is being evicted"),
    ],
)
def test_the_sentence(name: str, sentence: str) -> None:
    sim = EXPLANATION_INPUTS[name]()
    assert progress_text(row_of(sim.typed, sim.typed_budgets, sim.now)) == sentence


def test_a_blocker_is_named_with_its_reason() -> None:
    sim = EXPLANATION_INPUTS["blocked"]()
    sentence = progress_text(row_of(sim.typed, sim.typed_budgets, sim.now))
    assert sentence.startswith("is blocked by pdb/web: The eviction was refused: ")
    assert "needs 3 healthy pods and has 3 currently" in sentence


@pytest.mark.parametrize("name", EXPLANATION_INPUTS)
def test_every_state_has_a_sentence(name: str) -> None:
    sim = EXPLANATION_INPUTS[name]()
    assert progress_text(row_of(sim.typed, sim.typed_budgets, sim.now))


@pytest.mark.parametrize(
    ("metadata", "phase", "text"),
    [
        ({}, "Running", "still runs, although its request is complete"),
        ({"deletionTimestamp": NOW, "finalizers": ["a.example.com/b"]}, "Succeeded", "a.example.com/b"),
        ({"deletionTimestamp": NOW}, "Succeeded", ""),
        ({"uid": "another pod of its name"}, "Running", ""),
    ],
)
def test_a_pod_that_stays_after_its_request(metadata: Obj, phase: str, text: str) -> None:
    request = EXPLANATION_INPUTS["responding"]().typed
    pod = {"metadata": {"name": "db", "uid": request.metadata.name, **metadata}, "status": {"phase": phase}}
    found = left_over_text(request, codec_for(Pod).convert(pod))
    assert text in found
    assert bool(text) == bool(found)
