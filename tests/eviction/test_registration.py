"""Registration by annotations, for any annotations: never a crash, never a guess, always the same order."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, Kind
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj
from vacate.api.types import Pod
from vacate.client.codec import codec_for
from vacate.controllers.projections import project_pod
from vacate.crds.evacuation import EVACUATION as EVACUATION_KIND
from vacate.crds.evacuation.spec import merged_evacuators
from vacate.eviction.dialects.base import Dialect
from vacate.eviction.dialects.evictionrequest.dialect import EVICTION_REQUEST
from vacate.eviction.dialects.lifecycle.dialect import LIFECYCLE
from vacate.eviction.dialects.registry import DIALECTS, dialect_for
from vacate.eviction.registration import (
    CONTROLLER,
    CONTROLLER_PRIORITY,
    MAX_PRIORITY,
    MAX_ROLE,
    PREFIXES,
    annotation_errors,
    annotations_of,
    registering,
    registering_part,
    registers_responders_only,
    resolve,
    resolve_evacuators,
)

pytestmark = pytest.mark.unit

OURS, OLDER = PREFIXES
KEYS = st.builds(
    lambda prefix, part, name: f"{prefix}/{part}{name}",
    st.sampled_from((*PREFIXES, "example.com")),
    st.sampled_from(("priority_", "hash_", "instigator_", "")),
    st.sampled_from(
        ("a.example.com", "b.example.com", "k1", "A", "mine.k8s.io", "deployment.apps.k8s.io", "")
    ),
)
NUMBERS = st.sampled_from(("0", "7", "10000", "100000", "100001", "-1", "+1", "007", "", "x", "1e3", "٣"))
ROLES = st.sampled_from(
    ("", "/", "/controller", "/other", "/a/b", f"/{'r' * MAX_ROLE}", f"/{'r' * (MAX_ROLE + 1)}")
)
VALUES = st.builds(str.__add__, NUMBERS, ROLES) | st.sampled_from(("a.example.com", "Wrong", "x" * 300))
ANNOTATIONS = st.dictionaries(KEYS, VALUES, max_size=8)
WELL = st.dictionaries(
    st.sampled_from([f"{letter}.example.com" for letter in "abcdefgh"]),
    st.integers(0, MAX_PRIORITY).filter(lambda number: number != CONTROLLER_PRIORITY),
)


@given(ANNOTATIONS)
def test_what_has_no_error_is_a_list_of_distinct_names(annotations: dict[str, str]) -> None:
    found = resolve({"metadata": {"annotations": annotations}})
    assert all(str(field_error) for field_error in found.field_errors)
    if not found.field_errors:
        assert len(set(found.interceptors)) == len(found.interceptors)
        assert not any(dns1123_subdomain(name) for name in found.interceptors)


@given(ANNOTATIONS)
def test_a_pod_that_may_be_written_may_be_requested(annotations: dict[str, str]) -> None:
    if not annotation_errors(annotations):
        assert resolve({"metadata": {"annotations": annotations}}).field_errors == ()


@given(ANNOTATIONS)
@example({f"{OLDER}/priority_a.example.com": f"1/{'r' * (MAX_ROLE + 1)}"})
def test_a_pod_that_may_be_written_may_be_evacuated(annotations: dict[str, str]) -> None:
    found = resolve_evacuators({"metadata": {"annotations": annotations}})
    if found.field_errors:
        return  # counts as none
    spec = {
        "podRef": {"name": "web", "uid": "u"},
        "progressDeadlineSeconds": 1800,
        "evacuators": merged_evacuators({}, found),
    }
    assert EVACUATION_KIND.structure.field_errors({"metadata": {}, "spec": spec}) == []


@given(ANNOTATIONS)
def test_annotations_of_others_mean_nothing(annotations: dict[str, str]) -> None:
    own = registering(annotations)
    assert annotation_errors(own) == annotation_errors(annotations)
    pod = {"metadata": {"annotations": annotations}}
    assert resolve({"metadata": {"annotations": own}}) == resolve(pod)


@given(WELL, st.sampled_from(PREFIXES), st.booleans())
def test_the_highest_comes_last_and_equals_go_by_name(
    wanted: dict[str, int], prefix: str, controlled: bool
) -> None:
    annotations = {f"{prefix}/priority_{name}": str(number) for name, number in wanted.items()}
    ranks = dict(wanted)
    if controlled:
        annotations[f"{prefix}/priority_owner.example.com"] = f"{CONTROLLER_PRIORITY}/{CONTROLLER}"
        ranks["owner.example.com"] = CONTROLLER_PRIORITY
    found = resolve({"metadata": {"annotations": annotations}})
    assert found.field_errors == ()
    assert found.interceptors == tuple(sorted(ranks, key=lambda name: (ranks[name], name)))


@pytest.mark.parametrize("pod", [{}, {"metadata": None}, {"metadata": {"annotations": {"a": 1, "b": "c"}}}])
def test_odd_metadata(pod: dict[str, object]) -> None:
    assert set(annotations_of(pod).values()) <= {"c"}
    assert resolve(pod).interceptors == ()


@pytest.mark.parametrize(
    ("pod", "kind"),
    [
        ({}, EVICTIONREQUESTS),
        ({"metadata": {"annotations": {f"{PREFIXES[0]}/priority_a.example.com": "1"}}}, EVICTIONREQUESTS),
        ({"metadata": {"annotations": {f"{PREFIXES[1]}/priority_a.example.com": "1"}}}, EVACUATIONS),
        ({"metadata": {"annotations": {f"{PREFIXES[1]}/hash_1": "a.example.com"}}}, EVACUATIONS),
        (
            {"metadata": {"annotations": {f"{one}/priority_a.example.com": "1" for one in PREFIXES}}},
            EVICTIONREQUESTS,
        ),
        (
            {
                "metadata": {"annotations": {f"{PREFIXES[1]}/priority_a.example.com": "1"}},
                "spec": {"evictionInterceptors": [{"name": "b.example.com"}]},
            },
            EVICTIONREQUESTS,
        ),
    ],
)
def test_the_pod_decides_by_which_api_its_eviction_is_requested(pod: Obj, kind: Kind) -> None:
    assert dialect_for(pod, tuple(DIALECTS.values())).kind == kind
    for only in DIALECTS.values():
        assert dialect_for(pod, (only,)) is only


@pytest.mark.parametrize("preferred", list(DIALECTS.values()), ids=lambda one: one.name)
def test_a_pod_of_a_scheduling_group_is_evicted_by_an_api_that_does_that(preferred: Dialect) -> None:
    """lifecycle.k8s.io would fail each request for it: a drain would make one after the other."""
    pod: Obj = {"metadata": {}, "spec": {"schedulingGroup": {"podGroupName": "all"}}}
    part = registering_part(project_pod(codec_for(Pod).convert(pod)))
    served = tuple(DIALECTS.values())
    expected = EVICTION_REQUEST if preferred is LIFECYCLE else preferred
    assert dialect_for(part, served, preferred) is expected
    assert dialect_for(part, (), preferred) is expected
    assert dialect_for(part, (LIFECYCLE,), preferred) is LIFECYCLE  # which says so in the request


@pytest.mark.parametrize(
    ("responders", "interceptors", "only"),
    [
        (["backup.example.com/backup"], [], True),
        (["backup.example.com/backup", "vacate.dev/deployment"], ["deployment.apps.k8s.io"], True),
        (["vacate.dev/deployment"], ["deployment.apps.k8s.io"], False),
        (["backup.example.com/backup"], ["backup.example.com"], False),
        ([], ["backup.example.com"], False),
    ],
)
def test_whether_a_pod_has_responders_only_is_the_word_of_its_author(
    responders: list[str], interceptors: list[str], only: bool
) -> None:
    notes = {f"{PREFIXES[0]}/priority_{name}": "10000" for name in interceptors}
    listed = [{"name": name, "priority": 10_000} for name in responders]
    pod = {"metadata": {"annotations": notes}, "spec": {"evictionResponders": listed}}
    assert registers_responders_only(pod) is only
