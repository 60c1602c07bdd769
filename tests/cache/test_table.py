"""Objects and indexes against a plain model."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vacate.api.types import ObjectMeta, Pod
from vacate.api.types.core import PodSpec
from vacate.cache.reader import Reader
from vacate.cache.store import ObjectTable

pytestmark = pytest.mark.unit


def pod(name: str, version: int, node: str = "", uid: str = "", namespace: str = "d") -> Pod:
    meta = ObjectMeta(name=name, namespace=namespace, uid=uid or name, resource_version=str(version))
    return Pod(metadata=meta, spec=PodSpec(node_name=node))


def by_node(pod: Pod) -> list[str]:
    return [pod.spec.node_name] if pod.spec.node_name else []


def table() -> tuple[ObjectTable[Pod], Reader[Pod]]:
    made: ObjectTable[Pod] = ObjectTable({"node": by_node})
    return made, Reader(made)


pods = st.builds(
    pod,
    st.sampled_from("abcde"),
    st.integers(1, 1000),
    st.sampled_from(["", "n1", "n2"]),
    namespace=st.sampled_from(["x", "y"]),
)
operations = st.one_of(
    st.tuples(st.just("apply"), pods, st.booleans()),
    st.tuples(st.just("replace"), st.lists(pods, max_size=6), st.just(False)),
)


@settings(deadline=None)
@given(st.lists(operations, max_size=30))
def test_readers_see_what_a_plain_model_has(history: list[tuple[str, object, bool]]) -> None:
    written, reader = table()
    model: dict[tuple[str, str], Pod] = {}
    for verb, what, deleted in history:
        if verb == "replace":
            assert isinstance(what, list)
            model = {(p.metadata.namespace, p.metadata.name): p for p in what}
            written.replace(what, "1")
        else:
            assert isinstance(what, Pod)
            key = (what.metadata.namespace, what.metadata.name)
            same = key in model and model[key].metadata.resource_version == what.metadata.resource_version
            if deleted:
                model.pop(key, None)
            elif not same:
                model[key] = what
            written.apply(what, deleted=deleted)
        _compare(reader, model)


def _compare(reader: Reader[Pod], model: dict[tuple[str, str], Pod]) -> None:
    in_order = [model[key] for key in sorted(model)]
    # A replaced list may hold the same version with other content; versions decide.
    assert [_id(p) for p in reader.list()] == [_id(p) for p in in_order]
    assert len(reader) == len(model)
    for namespace in ("x", "y", "none"):
        expected = [_id(p) for p in in_order if p.metadata.namespace == namespace]
        assert [_id(p) for p in reader.list(namespace)] == expected
    held = reader.list()
    for node in ("n1", "n2"):
        assert reader.by_index("node", node) == [p for p in held if p.spec.node_name == node]
    assert reader.index_values("node") == sorted({p.spec.node_name for p in held if p.spec.node_name})


def _id(p: Pod) -> tuple[str, str, str]:
    return p.metadata.namespace, p.metadata.name, p.metadata.resource_version


def test_a_relist_reports_what_changed_meanwhile_and_nothing_else() -> None:
    written, reader = table()
    a, b, c = pod("a", 1), pod("b", 2), pod("c", 3)
    assert written.replace([b, a, c], "3")[0] == [(None, a), (None, b), (None, c)]
    b2, reborn, d = pod("b", 5), pod("c", 6, uid="other"), pod("d", 7)
    changes, _ = written.replace([b2, reborn, d], "7")
    assert changes == [(a, None), (b, b2), (c, None), (None, reborn), (None, d)]
    assert written.replace([b2, reborn, d], "9") == ([], [])
    assert (reader.resource_version, reader.synced) == ("9", True)


def test_events() -> None:
    written, reader = table()
    a = pod("a", 1, "n1")
    assert written.apply(a, deleted=False) == ([(None, a)], [])
    assert written.apply(a, deleted=False) == ([], [])
    moved = pod("a", 2, "n2")
    assert written.apply(moved, deleted=False) == ([(a, moved)], [])
    assert (reader.by_index("node", "n1"), reader.by_index("node", "n2")) == ([], [moved])
    last = pod("a", 3, "n2")
    assert written.apply(last, deleted=True) == ([(last, None)], [])
    assert written.apply(last, deleted=True) == ([], [])
    assert reader.index_values("node") == []
    assert not reader.synced


def test_whole_objects_as_dicts() -> None:
    written: ObjectTable[dict[str, object]] = ObjectTable({})
    obj: dict[str, object] = {"metadata": {"name": "a", "namespace": "d", "uid": "u", "resourceVersion": "1"}}
    assert written.replace([obj], "1") == ([(None, obj)], [])
    assert Reader(written).get("d", "a") is obj
