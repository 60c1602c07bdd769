"""Rules of fencing, taken out."""

from __future__ import annotations

import pytest

from vacate.controllers.fencing import fencer, recovery
from vacate.fencing import limits
from vacate.fencing.agents import Answer

Patch = pytest.MonkeyPatch


def the_word_of_an_agent_is_enough(patch: Patch) -> None:
    def believe(_: Answer) -> bool:
        return True

    patch.setattr(fencer, "is_confirmed_off", believe)


def no_healthy_share(patch: Patch) -> None:
    patch.setattr(limits, "_too_few_healthy", lambda *_: "")


def no_limit_of_fences(patch: Patch) -> None:
    patch.setattr(limits, "_too_many_fenced", lambda *_: "")


def silence_of_others_is_ignored(patch: Patch) -> None:
    """An agent that speaks of another machine is believed, although that one falls silent."""
    patch.setattr(fencer, "silent_nodes", lambda *_: [])


def storage_comes_back_without_a_restart(patch: Patch) -> None:
    """A machine that was cut off from its storage counts as restarted at once."""
    patch.setattr(recovery, "has_restarted", lambda _: True)


def storage_fences_are_not_marked(patch: Patch) -> None:
    """Nothing on the Node says that its machine may have run on: it is brought back as one that was off."""
    patch.setattr(fencer, "STORAGE", "none")
