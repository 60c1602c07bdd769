"""Who intercepts a pod's context, read from the pod."""

from __future__ import annotations

import pytest

from vacate.api.objects import Obj
from vacate.eviction.registration import PREFIXES, annotation_errors, registering, resolve

pytestmark = pytest.mark.unit

OURS, THEIRS = PREFIXES
LONG = "x" * 60 + ".example.com"


def pod(field: list[str] | None = None, **annotations: str) -> Obj:
    """Annotations are given as ours_NAME or theirs_NAME."""
    split = [(*key.split("_", 1), value) for key, value in annotations.items()]
    spelled = {f"{OURS if whose == 'ours' else THEIRS}/{name}": value for whose, name, value in split}
    spec = {"evictionInterceptors": [{"name": name} for name in field]} if field else {}
    return {"metadata": {"annotations": spelled}, "spec": spec}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pod(), ()),
        (pod(["a.example.com", "b.example.com"]), ("a.example.com", "b.example.com")),
        (pod(["a.example.com"], **{"ours_priority_b.example.com": "1"}), ("a.example.com",)),
        (pod(ours_priority_b="1", theirs_priority_c="2"), ("b",)),
        (pod(theirs_priority_c="2"), ("c",)),
        # The highest runs first, which is the last of the list.
        (pod(ours_priority_a="30", ours_priority_b="4", ours_priority_c="200"), ("b", "a", "c")),
        (pod(theirs_priority_b="7", theirs_priority_a="7", theirs_priority_c="7"), ("a", "b", "c")),
        # Names that are too long for a key.
        (pod(ours_priority_k1="5", ours_hash_k1=LONG), (LONG,)),
        (pod(theirs_priority_k1="5", theirs_hash_k1=LONG, theirs_priority_a="6"), (LONG, "a")),
        # Annotations of others.
        ({"metadata": {"annotations": {"example.com/priority_a": "1"}}, "spec": {}}, ()),
        ({"metadata": {}}, ()),
    ],
)
def test_the_field_then_our_annotations_then_those_of_evacuations(
    given: Obj, expected: tuple[str, ...]
) -> None:
    assert resolve(given).interceptors == expected
    assert resolve(given).field_errors == ()


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize(
    ("key", "value", "field_error"),
    [
        ("priority_a", "high", "must be PRIORITY"),
        ("priority_a", "-1", "must be PRIORITY"),
        ("priority_a", "", "must be PRIORITY"),
        ("priority_A", "1", "lowercase RFC 1123"),
        ("priority_mine.k8s.io", "1", "reserved for Kubernetes"),
        ("hash_k", LONG, "must be given together with"),
    ],
)
def test_a_malformed_annotation_is_reported_with_its_key(
    prefix: str, key: str, value: str, field_error: str
) -> None:
    annotations = {f"{prefix}/{key}": value}
    found = [str(one) for one in annotation_errors(annotations)]
    assert any(field_error in one for one in found), found
    refused = resolve({"metadata": {"annotations": annotations}})
    assert [str(one) for one in refused.field_errors] == found


def test_names_of_kubernetes_and_those_that_were_allowed() -> None:
    known = {f"{OURS}/priority_deployment.apps.k8s.io": "1"}
    assert annotation_errors(known) == []
    own = {f"{OURS}/priority_actor-a.k8s.io": "1"}
    assert len(annotation_errors(own)) == 1
    assert annotation_errors(own, ("actor-a.k8s.io",)) == []


def test_what_registers_and_what_does_not() -> None:
    counts = {f"{OURS}/priority_a": "1", f"{THEIRS}/hash_k": "b"}
    assert registering(counts | {"example.com/priority_a": "1", f"{OURS}/other": "x"}) == counts
