"""What a DELETE does: grace, finalizers, preconditions, namespaces."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vacate.api.kinds import (
    CONFIGMAPS,
    DEPLOYMENTS,
    EVENTS,
    NAMESPACES,
    PODS,
    SERVICEACCOUNTS,
    Kind,
)
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.times import format_time, parse_time
from vacate.embedded.apiserver.deletion.decision import (
    answers_with_object,
    decide_deletion,
    deletion_code,
    deletion_finalizers,
    removed_by_update,
)
from vacate.embedded.apiserver.request.integers import MAX_SECONDS
from vacate.errors import Conflict, Forbidden, Invalid

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=dt.UTC)
STAMP = "2026-03-01T12:00:00Z"


def later(seconds: int) -> str:
    return format_time(NOW + dt.timedelta(seconds=seconds))


def thing(kind: Kind, **meta: Any) -> Obj:
    found = {"name": "x", "uid": "u1", "resourceVersion": "5", "generation": 3, **meta}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": found}


def pod(*, node: str = "n1", grace: int | None = 30, phase: str = "Running", **meta: Any) -> Obj:
    obj = thing(PODS, namespace="d", **meta)
    obj["spec"] = {"nodeName": node} if node else {}
    if grace is not None:
        obj["spec"]["terminationGracePeriodSeconds"] = grace
    obj["status"] = {"phase": phase}
    return obj


def grace(seconds: int | None) -> DeleteOptions:
    return DeleteOptions(grace_period_seconds=seconds)


# Pods


@pytest.mark.parametrize(
    ("obj", "asked", "period"),
    [
        (pod(), None, 30),
        (pod(grace=60), None, 60),
        (pod(), 5, 5),
        (pod(), 90, 90),  # the first deletion may ask for more than the pod has
        (pod(), -3, 1),
        (pod(grace=-1), None, 1),
    ],
)
def test_a_running_pod_is_marked_and_stays(obj: Obj, asked: int | None, period: int) -> None:
    deletion = decide_deletion(PODS, obj, grace(asked), NOW)
    assert (deletion.write, deletion.remove) == (True, False)
    meta = deletion.obj["metadata"]
    assert meta["deletionTimestamp"] == later(period)
    assert meta["deletionGracePeriodSeconds"] == period
    assert meta["generation"] == 4


@pytest.mark.parametrize(
    ("obj", "asked"),
    [
        (pod(), 0),
        (pod(grace=0), None),
        (pod(grace=None), None),
        (pod(node=""), None),
        (pod(node=""), 30),
        (pod(phase="Succeeded"), None),
        (pod(phase="Failed"), 30),
    ],
)
def test_a_pod_without_grace_is_marked_and_goes(obj: Obj, asked: int | None) -> None:
    deletion = decide_deletion(PODS, obj, grace(asked), NOW)
    assert (deletion.write, deletion.remove) == (True, True)
    assert deletion.obj["metadata"]["deletionTimestamp"] == STAMP
    assert deletion.obj["metadata"]["deletionGracePeriodSeconds"] == 0


def test_a_generation_that_is_not_counted_stays_uncounted() -> None:
    obj = pod()
    del obj["metadata"]["generation"]
    assert "generation" not in decide_deletion(PODS, obj, grace(None), NOW).obj["metadata"]


def going(left: int | None, until: str, **more: Any) -> Obj:
    meta: dict[str, Any] = {"deletionTimestamp": until, **more}
    if left is not None:
        meta["deletionGracePeriodSeconds"] = left
    return pod(**meta)


@pytest.mark.parametrize("asked", [None, 30, 31, 3600])
def test_a_grace_is_never_lengthened(asked: int | None) -> None:
    obj = going(30, later(20))
    deletion = decide_deletion(PODS, obj, grace(asked), NOW)
    assert (deletion.write, deletion.remove, deletion.obj) == (False, False, obj)


@pytest.mark.parametrize(
    ("asked", "until", "period"),
    [
        (25, later(15), 25),  # began 10 s ago, so 25 s of grace end in 15 s
        (11, later(1), 11),
        (10, STAMP, 1),  # over: the node still gets a second to notice
        (1, STAMP, 1),
        (-7, STAMP, 1),
    ],
)
def test_a_grace_may_be_shortened_but_not_into_the_past(asked: int, until: str, period: int) -> None:
    deletion = decide_deletion(PODS, going(30, later(20)), grace(asked), NOW)
    assert (deletion.write, deletion.remove) == (True, False)
    assert deletion.obj["metadata"]["deletionTimestamp"] == until
    assert deletion.obj["metadata"]["deletionGracePeriodSeconds"] == period
    assert deletion.obj["metadata"]["generation"] == 3


@pytest.mark.parametrize("asked", [2**63 - 1, 10**15, MAX_SECONDS + 1, MAX_SECONDS])
def test_a_grace_beyond_292_years_ends_after_292_years(asked: int) -> None:
    first = decide_deletion(PODS, pod(), grace(asked), NOW)
    assert first.obj["metadata"]["deletionTimestamp"] == later(MAX_SECONDS)
    assert first.obj["metadata"]["deletionGracePeriodSeconds"] == asked
    shortened = decide_deletion(PODS, first.obj, grace(20), NOW)
    assert shortened.obj["metadata"]["deletionTimestamp"] == later(20)


def test_force_ends_a_graceful_deletion() -> None:
    deletion = decide_deletion(PODS, going(30, later(20)), grace(0), NOW)
    assert (deletion.write, deletion.remove) == (True, True)
    assert deletion.obj["metadata"]["deletionTimestamp"] == STAMP
    assert deletion.obj["metadata"]["deletionGracePeriodSeconds"] == 0


@pytest.mark.parametrize("left", [0, None])
@pytest.mark.parametrize("asked", [None, 0, 30])
def test_a_pod_whose_grace_is_used_up_goes_at_once(left: int | None, asked: int | None) -> None:
    obj = going(left, STAMP)
    deletion = decide_deletion(PODS, obj, grace(asked), NOW)
    assert (deletion.write, deletion.remove, deletion.obj) == (False, True, obj)


def test_finalizers_hold_a_pod_without_grace() -> None:
    deletion = decide_deletion(PODS, pod(finalizers=["a/b"]), grace(0), NOW)
    assert (deletion.write, deletion.remove) == (True, False)
    assert deletion.obj["metadata"]["deletionGracePeriodSeconds"] == 0
    again = decide_deletion(PODS, deletion.obj, grace(0), NOW + dt.timedelta(seconds=9))
    assert (again.remove, again.obj) == (False, deletion.obj)


def test_finalizers_cannot_be_changed_while_a_grace_runs() -> None:
    obj = going(30, later(20), finalizers=["orphan"])
    deletion = decide_deletion(PODS, obj, DeleteOptions(propagation_policy="Foreground"), NOW)
    assert (deletion.write, deletion.obj) == (False, obj)


# Other kinds


@pytest.mark.parametrize("asked", [None, 0, 30])
@pytest.mark.parametrize("kind", [CONFIGMAPS, DEPLOYMENTS, SERVICEACCOUNTS, EVENTS])
def test_other_kinds_have_no_grace(kind: Kind, asked: int | None) -> None:
    obj = thing(kind)
    deletion = decide_deletion(kind, obj, grace(asked), NOW)
    assert (deletion.write, deletion.remove, deletion.obj) == (False, True, obj)


def test_finalizers_hold_other_kinds() -> None:
    obj = thing(CONFIGMAPS, finalizers=["a/b"])
    deletion = decide_deletion(CONFIGMAPS, obj, DeleteOptions(), NOW)
    assert (deletion.write, deletion.remove) == (True, False)
    assert deletion.obj["metadata"]["deletionTimestamp"] == STAMP
    assert deletion.obj["metadata"]["deletionGracePeriodSeconds"] == 0
    assert deletion.obj["metadata"]["generation"] == 4
    assert "deletionTimestamp" not in obj["metadata"]


def test_a_held_object_is_not_marked_twice() -> None:
    first = decide_deletion(CONFIGMAPS, thing(CONFIGMAPS, finalizers=["a/b"]), DeleteOptions(), NOW).obj
    second = decide_deletion(CONFIGMAPS, first, DeleteOptions(), NOW + dt.timedelta(hours=1)).obj
    assert second == first


def test_a_timestamp_of_the_future_is_drawn_back() -> None:
    obj = thing(CONFIGMAPS, finalizers=["a/b"], deletionTimestamp=later(60), deletionGracePeriodSeconds=60)
    meta = decide_deletion(CONFIGMAPS, obj, DeleteOptions(), NOW).obj["metadata"]
    assert (meta["deletionTimestamp"], meta["deletionGracePeriodSeconds"]) == (STAMP, 0)
    assert meta["generation"] == 3


def policy(name: str) -> DeleteOptions:
    return DeleteOptions(propagation_policy=name)


@pytest.mark.parametrize(
    ("kind", "before", "options", "after"),
    [
        (DEPLOYMENTS, [], DeleteOptions(), []),
        (DEPLOYMENTS, [], policy("Background"), []),
        (DEPLOYMENTS, [], policy("Foreground"), ["foregroundDeletion"]),
        (DEPLOYMENTS, [], policy("Orphan"), ["orphan"]),
        (DEPLOYMENTS, [], DeleteOptions(orphan_dependents=True), ["orphan"]),
        (DEPLOYMENTS, [], DeleteOptions(orphan_dependents=False), []),
        (DEPLOYMENTS, ["orphan"], DeleteOptions(), ["orphan"]),
        (DEPLOYMENTS, ["foregroundDeletion"], DeleteOptions(), ["foregroundDeletion"]),
        (DEPLOYMENTS, ["orphan"], policy("Background"), []),
        (DEPLOYMENTS, ["orphan"], policy("Foreground"), ["foregroundDeletion"]),
        (DEPLOYMENTS, ["foregroundDeletion"], policy("Orphan"), ["orphan"]),
        (DEPLOYMENTS, ["foregroundDeletion"], DeleteOptions(orphan_dependents=False), []),
        (DEPLOYMENTS, ["a/b"], policy("Orphan"), ["a/b", "orphan"]),
        (DEPLOYMENTS, ["orphan", "a/b"], policy("Orphan"), ["orphan", "a/b"]),
        (DEPLOYMENTS, ["orphan", "a/b"], policy("Background"), ["a/b"]),
        (EVENTS, [], policy("Orphan"), []),
        (EVENTS, ["orphan", "a/b"], policy("Foreground"), ["a/b"]),
    ],
)
def test_propagation_chooses_the_finalizers(
    kind: Kind, before: list[str], options: DeleteOptions, after: list[str]
) -> None:
    assert deletion_finalizers(kind, before, options) == after
    obj = thing(kind, finalizers=before) if before else thing(kind)
    deletion = decide_deletion(kind, obj, options, NOW)
    assert deletion.remove == (not after)
    if after:
        assert deletion.obj["metadata"]["finalizers"] == after
    else:
        assert deletion.obj == obj  # nothing is written first, so this is the last state


# Preconditions


@pytest.mark.parametrize(
    ("kind", "wanted", "message"),
    [
        (
            PODS,
            DeleteOptions(uid="u2"),
            (
                'Pod "x": the UID in the precondition (u2) does not match the '
                "UID in record (u1). The object might have been deleted and then recreated"
            ),
        ),
        (
            DEPLOYMENTS,
            DeleteOptions(uid=""),
            (
                'Deployment.apps "x": the UID in the precondition () does not '
                "match the UID in record (u1). The object might have been deleted and then recreated"
            ),
        ),
        (
            DEPLOYMENTS,
            DeleteOptions(uid="u1", resource_version="4"),
            (
                'Deployment.apps "x": the ResourceVersion in the precondition '
                "(4) does not match the ResourceVersion in record (5). The object might have been modified"
            ),
        ),
        (
            NAMESPACES,
            DeleteOptions(uid="u2"),
            ('namespaces "x": Precondition failed: UID in precondition: u2, UID in object meta: u1'),
        ),
        (
            NAMESPACES,
            DeleteOptions(resource_version="4"),
            (
                'namespaces "x": Precondition failed: ResourceVersion in '
                "precondition: 4, ResourceVersion in object meta: 5"
            ),
        ),
    ],
)
def test_preconditions_that_fail(kind: Kind, wanted: DeleteOptions, message: str) -> None:
    with pytest.raises(Conflict) as refused:
        decide_deletion(kind, thing(kind), wanted, NOW)
    assert refused.value.message == f"Operation cannot be fulfilled on {message}"


def test_preconditions_that_hold() -> None:
    wanted = DeleteOptions(uid="u1", resource_version="5")
    assert decide_deletion(CONFIGMAPS, thing(CONFIGMAPS), wanted, NOW).remove


def test_preconditions_speak_of_the_kind() -> None:
    options = DeleteOptions(uid="u2")
    with pytest.raises(Conflict) as refused:
        decide_deletion(DEPLOYMENTS, thing(DEPLOYMENTS), options, NOW)
    assert refused.value.details == {"name": "x", "group": "apps", "kind": "Deployment"}


def test_options_that_contradict_themselves_are_invalid() -> None:
    with pytest.raises(Invalid):
        decide_deletion(CONFIGMAPS, thing(CONFIGMAPS), policy("Sideways"), NOW)


# Namespaces


def namespace(*, name: str = "x", held: bool = True, **meta: Any) -> Obj:
    obj = thing(NAMESPACES, **{"name": name, **meta})
    obj["spec"] = {"finalizers": ["kubernetes"]} if held else {}
    obj["status"] = {"phase": "Active"}
    return obj


def test_a_namespace_begins_to_terminate() -> None:
    obj = namespace()
    before = copy.deepcopy(obj)
    deletion = decide_deletion(NAMESPACES, obj, DeleteOptions(), NOW)
    assert (deletion.write, deletion.remove) == (True, False)
    assert deletion.obj["status"] == {"phase": "Terminating"}
    meta = deletion.obj["metadata"]
    assert meta["deletionTimestamp"] == STAMP
    assert "deletionGracePeriodSeconds" not in meta
    assert meta["generation"] == 3
    assert obj == before


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        (policy("Orphan"), ["orphan"]),
        (policy("Foreground"), ["foregroundDeletion"]),
        (policy("Background"), None),
        (DeleteOptions(orphan_dependents=True), ["orphan"]),
        (DeleteOptions(orphan_dependents=False), ["foregroundDeletion"]),
    ],
)
def test_a_namespace_takes_propagation_in_its_own_way(
    options: DeleteOptions, finalizers: list[str] | None
) -> None:
    assert (
        decide_deletion(NAMESPACES, namespace(), options, NOW).obj["metadata"].get("finalizers") == finalizers
    )


def test_a_namespace_waits_for_its_contents() -> None:
    obj = namespace(deletionTimestamp=STAMP)
    deletion = decide_deletion(NAMESPACES, obj, grace(0), NOW)
    assert (deletion.write, deletion.remove, deletion.obj) == (False, False, obj)


def test_an_empty_namespace_goes() -> None:
    assert decide_deletion(NAMESPACES, namespace(held=False, deletionTimestamp=STAMP), grace(0), NOW).remove


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_three_namespaces_are_immortal(name: str) -> None:
    with pytest.raises(Forbidden) as refused:
        decide_deletion(NAMESPACES, namespace(name=name), DeleteOptions(), NOW)
    assert refused.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_a_precondition_speaks_before_immortality() -> None:
    options = DeleteOptions(uid="other")
    with pytest.raises(Conflict):
        decide_deletion(NAMESPACES, namespace(name="default"), options, NOW)


# Removal by update


@pytest.mark.parametrize(
    ("old", "finalizers", "removed"),
    [
        (thing(CONFIGMAPS, finalizers=["a/b"]), None, False),
        (thing(CONFIGMAPS, deletionTimestamp=STAMP, deletionGracePeriodSeconds=0), None, True),
        (thing(CONFIGMAPS, deletionTimestamp=STAMP), [], True),
        (thing(CONFIGMAPS, deletionTimestamp=STAMP), ["c/d"], False),
        (going(30, later(20), finalizers=["a/b"]), None, False),  # its node is not done yet
        (going(0, STAMP, finalizers=["a/b"]), None, True),
        (namespace(deletionTimestamp=STAMP), None, False),
        (namespace(held=False, deletionTimestamp=STAMP), None, True),
        (namespace(held=False), None, False),
    ],
)
def test_removal_by_update(old: Obj, finalizers: list[str] | None, removed: bool) -> None:
    new = copy.deepcopy(old)
    new["metadata"].pop("finalizers", None)
    if finalizers is not None:
        new["metadata"]["finalizers"] = finalizers
    assert removed_by_update(new, old) is removed


def test_finalizing_an_empty_namespace_removes_it() -> None:
    old = namespace(deletionTimestamp=STAMP)
    assert removed_by_update({**old, "spec": {}}, old)


# Answers


@pytest.mark.parametrize(
    ("kind", "obj", "options", "code", "gets_object"),
    [
        (CONFIGMAPS, thing(CONFIGMAPS), DeleteOptions(), 200, False),
        (CONFIGMAPS, thing(CONFIGMAPS, finalizers=["a/b"]), DeleteOptions(), 200, True),
        (
            CONFIGMAPS,
            thing(CONFIGMAPS, finalizers=["a/b"]),
            DeleteOptions(orphan_dependents=False),
            202,
            True,
        ),
        (CONFIGMAPS, thing(CONFIGMAPS), DeleteOptions(orphan_dependents=False), 200, False),
        (SERVICEACCOUNTS, thing(SERVICEACCOUNTS), DeleteOptions(), 200, True),
        (DEPLOYMENTS, thing(DEPLOYMENTS), policy("Foreground"), 200, True),
        (PODS, pod(), DeleteOptions(), 200, True),
        (PODS, pod(), grace(0), 200, True),
        (PODS, going(30, later(20)), DeleteOptions(), 200, True),
        (NAMESPACES, namespace(), DeleteOptions(), 200, True),
        (NAMESPACES, namespace(), DeleteOptions(orphan_dependents=False), 202, True),
    ],
)
def test_answers(kind: Kind, obj: Obj, options: DeleteOptions, code: int, gets_object: bool) -> None:
    deletion = decide_deletion(kind, obj, options, NOW)
    assert deletion_code(deletion, options) == code
    assert answers_with_object(kind, deletion) is gets_object


# Whatever the order of requests


requests = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(-5, 100)), st.integers(0, 40)), min_size=1, max_size=8
)


@given(spec_grace=st.integers(1, 60), asked=requests)
def test_no_sequence_of_deletes_lengthens_a_grace(
    spec_grace: int, asked: list[tuple[int | None, int]]
) -> None:
    """Neither the deadline nor the period ever grows, and a removal is always by an explicit zero."""
    obj, now = pod(grace=spec_grace), NOW
    for seconds, pause in asked:
        before = obj["metadata"]
        deletion = decide_deletion(PODS, obj, grace(seconds), now)
        after = deletion.obj["metadata"]
        if "deletionTimestamp" in before:
            assert after["deletionGracePeriodSeconds"] <= before["deletionGracePeriodSeconds"]
            limit = max(parse_time(before["deletionTimestamp"]), now.replace(microsecond=0))
            assert parse_time(after["deletionTimestamp"]) <= limit
            assert after["generation"] == before["generation"]
        if deletion.remove:
            assert seconds == 0
            return
        obj, now = deletion.obj, now + dt.timedelta(seconds=pause)


@given(
    asked=st.one_of(st.none(), st.integers(-5, 100)),
    finalizers=st.lists(st.sampled_from(["a/b", "orphan"]), unique=True),
)
def test_the_same_delete_again_changes_nothing(asked: int | None, finalizers: list[str]) -> None:
    obj = pod(finalizers=finalizers) if finalizers else pod()
    first = decide_deletion(PODS, obj, grace(asked), NOW)
    if not first.remove:
        again = decide_deletion(PODS, first.obj, grace(asked), NOW)
        assert again.obj == first.obj
        assert not again.remove
