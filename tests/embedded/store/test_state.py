"""Order and windows of the committed objects, against sorting everything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedded.store.harness import body, pod, project
from support.effort import examples
from vacate.embedded.store.state import Differences, State
from vacate.embedded.store.types import Change, Entry, Key

pytestmark = pytest.mark.unit

Place = tuple[str, str]
NAMESPACES = st.sampled_from(["", "a", "a-b"])
NAMES = st.sampled_from(["a", "a-b", "a.b", "b"])
PLACES = st.tuples(NAMESPACES, NAMES)


def entry(place: Place, revision: int = 2) -> Entry:
    key = Key("pods", *place)
    value = body(text="/".join(place))(revision)
    return Entry(key, value, revision, revision, project(key, value))


def put(place: Place, revision: int = 2) -> Change:
    after = entry(place, revision)
    return Change(revision, after.key, None, after, deleted=False)


def state_of(places: list[Place]) -> State:
    state = State()
    for place in places:
        state.apply(put(place))
    return state


def etcd_order(place: Place) -> str:
    return f"{place[0]}/{place[1]}"


def test_namespaces_sort_as_the_keys_of_etcd_do() -> None:
    state = state_of([("a", "z"), ("a-b", "a"), ("ab", "a")])
    listed, remaining = state.window("pods", "", {}, None, 0)
    assert [e.key.namespace for e in listed] == ["a-b", "a", "ab"]
    assert remaining == 0


def test_a_removed_object_leaves_no_trace() -> None:
    state = state_of([("a", "x"), ("b", "y")])
    gone = entry(("a", "x"), 3)
    state.apply(Change(3, gone.key, state.get(gone.key), gone, deleted=True))
    assert state.get(pod("x", "a")) is None
    assert state.count("pods") == 1
    assert state.count("pods", "a") == 0
    assert state.resources() == ["pods"]
    assert state.touched("pods") == 3
    assert state.touched("nodes") == 0


@settings(max_examples=examples(150), deadline=None)
@given(
    present=st.sets(PLACES, min_size=3),
    changed=st.dictionaries(PLACES, st.booleans(), min_size=1),
    namespace=NAMESPACES,
    after=st.none() | PLACES,
    limit=st.integers(0, 5),
)
def test_windows_equal_a_sorted_whole(
    present: set[Place], changed: dict[Place, bool], namespace: str, after: Place | None, limit: int
) -> None:
    state = state_of(sorted(present))
    differences: dict[str, dict[str, Entry | None]] = {}
    whole = {place: entry(place) for place in sorted(present)}
    for place, exists in changed.items():
        replacement = entry(place, 9) if exists else None
        differences.setdefault(place[0], {})[place[1]] = replacement
        whole.pop(place, None)
        if replacement:
            whole[place] = replacement
    chosen = [
        whole[place]
        for place in sorted(whole, key=etcd_order)
        if namespace in ("", place[0]) and (after is None or etcd_order(place) > etcd_order(after))
    ]
    laid_over: Differences = differences
    entries, remaining = state.window("pods", namespace, laid_over, after, limit)
    page = chosen[:limit] if limit else chosen
    assert entries == page
    assert remaining == len(chosen) - len(page)
