"""What history keeps, gives, and forgets."""

from __future__ import annotations

import pytest

from embedded.store.harness import body, project
from vacate.embedded.store.history import STEP, History, in_steps
from vacate.embedded.store.types import Change, Entry, Key
from vacate.errors import RevisionCompacted, RevisionTooNew

pytestmark = pytest.mark.unit


def entry(key: Key, revision: int) -> Entry:
    value = body()(revision)
    return Entry(key, value, revision, revision, project(key, value))


class Writer:
    """Makes changes with the right `before`."""

    def __init__(self) -> None:
        self.history = History()
        self.revision = 1
        self._current: dict[Key, Entry] = {}

    def write(self, resource: str, name: str, *, deleted: bool = False) -> Change:
        self.revision += 1
        key = Key(resource, "ns", name)
        before, after = self._current.pop(key, None), entry(key, self.revision)
        if not deleted:
            self._current[key] = after
        change = Change(self.revision, key, before, after, deleted)
        self.history.append(change)
        return change


def test_changes_are_found_by_resource_or_all_in_order() -> None:
    writer = Writer()
    pods = [writer.write("pods", "a"), writer.write("pods", "b")]
    node = writer.write("nodes", "n")
    pods.append(writer.write("pods", "a"))
    history = writer.history
    assert history.since("pods", 1) == pods
    assert history.since("pods", 3) == pods[2:]
    assert history.since("pods", 5) == []
    assert history.since("leases", 1) == []
    assert history.since("", 2) == [pods[1], node, pods[2]]


def test_differences_lead_back_to_the_state_of_a_revision() -> None:
    writer = Writer()
    first = writer.write("pods", "a")  # 2
    writer.write("pods", "a")  # 3
    writer.write("pods", "a", deleted=True)  # 4
    writer.write("pods", "b")  # 5
    history = writer.history
    assert history.differences("pods", "", 2) == {"ns": {"a": first.after, "b": None}}
    assert history.differences("pods", "", 4) == {"ns": {"b": None}}
    assert history.differences("pods", "other", 2) == {}
    assert history.differences("pods", "ns", 5) == {}


def test_forgetting_gives_what_was_replaced_and_tombstones_oldest_first() -> None:
    writer = Writer()
    writer.write("pods", "a")  # 2, replaced
    writer.write("pods", "a")  # 3, deleted
    writer.write("pods", "a", deleted=True)  # 4, a tombstone
    writer.write("pods", "b")  # 5, replaced by 6
    writer.write("pods", "b")  # 6
    assert list(writer.history.compact(5)) == [[2, 3, 4]]
    assert writer.history.compacted == 5
    assert [c.revision for c in writer.history.since("pods", 5)] == [6]
    assert list(writer.history.compact(6)) == [[5]]


def test_steps_are_small_even_when_every_change_makes_two_records_obsolete() -> None:
    writer = Writer()
    for number in range(2 * STEP):
        writer.write("pods", str(number))
    for number in range(2 * STEP):
        writer.write("pods", str(number), deleted=True)
    steps = list(writer.history.compact(writer.revision))
    assert max(map(len, steps)) <= STEP
    obsolete = [revision for step in steps for revision in step]
    assert sorted(obsolete) == list(range(2, writer.revision + 1))
    for number in range(2 * STEP):
        assert obsolete.index(number + 2) < obsolete.index(number + 2 + 2 * STEP)


def test_in_steps() -> None:
    assert list(in_steps([])) == []
    assert list(map(len, in_steps(list(range(STEP + 1))))) == [STEP, 1]


def test_revisions_too_old_and_too_new_are_different_errors() -> None:
    history = History(compacted=5)
    history.check(5, 9)
    history.check(9, 9)
    with pytest.raises(RevisionCompacted, match="revision 4 is no longer kept"):
        history.check(4, 9)
    with pytest.raises(RevisionTooNew, match="revision 10 does not exist yet"):
        history.check(10, 9)
