"""Rollouts: sizes, revisions, conditions, and a simulation that never breaks the bounds."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.effort import examples
from support.workload_objects import NOW, ago, make_deployment, make_replica_set
from vacate.api.types import Deployment, ReplicaSet, condition
from vacate.embedded.controllers.deployment.revisions import (
    REVISION,
    REVISION_HISTORY,
    forgotten,
    split,
    template_hash,
)
from vacate.embedded.controllers.deployment.rollout import Rollout, plan_rollout
from vacate.embedded.controllers.deployment.sizes import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    bounds,
    max_surge,
    max_unavailable,
    sizes_after_scaling,
    sizes_of_old,
)

pytestmark = pytest.mark.unit


def rolling(surge: int | str = "25%", unavailable: int | str = "25%") -> dict[str, Any]:
    return {
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
        }
    }


def template(image: str) -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def deployment(replicas: int = 3, image: str = "v2", status: Any = None, **spec: Any) -> Deployment:
    annotations = spec.pop("annotations", {})
    return make_deployment(
        replicas=replicas,
        metadata={"annotations": annotations, "generation": 2},
        spec={"template": template(image), **rolling(), **spec},
        status=status or {},
    )


def replica_set(
    name: str,
    size: int,
    ready: int | None = None,
    *,
    image: str = "v1",
    age: float = 1.0,
    notes: dict[str, Any] | None = None,
) -> ReplicaSet:
    known = size if ready is None else ready
    return make_replica_set(
        name,
        replicas=size,
        metadata={
            "creationTimestamp": ago(hours=age),
            "annotations": {k: str(v) for k, v in (notes or {}).items()},
        },
        spec={"template": template(image)},
        status={
            "replicas": size,
            "readyReplicas": known,
            "availableReplicas": known,
            "observedGeneration": 1,
            "terminatingReplicas": 0,
        },
    )


BOUNDS = [
    (10, "25%", "25%", (3, 2)),
    (3, "25%", "25%", (1, 0)),
    (1, "25%", "25%", (1, 0)),
    (4, 0, 0, (0, 1)),
    (3, 0, "25%", (0, 1)),
    (10, 2, 3, (2, 3)),
    (5, "100%", "100%", (5, 5)),
    (7, "1%", "50%", (1, 3)),
]


@pytest.mark.parametrize(("replicas", "surge", "unavailable", "expected"), BOUNDS)
def test_surge_rounds_up_and_absence_down(
    replicas: int, surge: Any, unavailable: Any, expected: tuple[int, int]
) -> None:
    assert bounds(deployment(replicas, **rolling(surge, unavailable))) == expected


def test_never_are_more_missing_than_there_are() -> None:
    assert max_unavailable(deployment(2, **rolling(0, 5))) == 2
    assert max_surge(deployment(2, strategy={"type": "Recreate"})) == 0


OLD_SIZES = [
    # wanted, surge, unavailable, (new size, available), [(old size, available)], new old sizes
    ("nothing spare", 3, 1, 0, (1, 0), [(3, 3)], {}),
    ("the new pod is there", 3, 1, 0, (1, 1), [(3, 3)], {"old0": 2}),
    ("one may be missing", 4, 0, 1, (0, 0), [(4, 4)], {"old0": 3}),
    ("broken pods may stay broken while new ones are missing", 3, 1, 0, (1, 0), [(3, 1)], {}),
    ("broken old pods go though nothing new is ready", 10, 0, 5, (3, 0), [(7, 2)], {"old0": 5}),
    (
        "broken old pods go first, available ones stay",
        10,
        0,
        5,
        (3, 3),
        [(4, 4), (3, 0)],
        {"old0": 2, "old1": 0},
    ),
    ("two old sets, the oldest first", 4, 0, 2, (0, 0), [(2, 2), (2, 2)], {"old0": 0}),
    ("all new ones are available", 3, 1, 0, (3, 3), [(1, 1)], {"old0": 0}),
]


@pytest.mark.parametrize("row", OLD_SIZES, ids=[row[0] for row in OLD_SIZES])
def test_old_replica_sets_shrink_as_far_as_availability_allows(row: Any) -> None:
    _, wanted, surge, missing, new, olds, expected = row
    sizes = [replica_set(f"old{i}", size, ready, age=9 - i) for i, (size, ready) in enumerate(olds)]
    found = sizes_of_old(
        deployment(wanted, **rolling(surge, missing)), replica_set("new", *new, image="v2"), sizes
    )
    assert found == expected


SCALING = [
    ("the only one takes all", 7, 25, [("new", 5, 5)], {"new": 7}),
    ("nothing to do", 5, 25, [("new", 5, 5)], {}),
    ("shared by size", 10, 0, [("new", 5, 5), ("old", 5, 5)], {"new": 5, "old": 5}),
    ("up in proportion", 20, 0, [("new", 5, 5), ("old", 5, 5)], {"new": 10, "old": 10}),
    ("down in proportion", 5, 0, [("new", 5, 5), ("old", 5, 5)], {"new": 3, "old": 2}),
    ("to nothing", 0, 0, [("new", 5, 5), ("old", 5, 5)], {"new": 0, "old": 0}),
    ("the largest takes the rest", 13, 0, [("new", 2, 2), ("old", 8, 8)], {"new": 3, "old": 10}),
]


@pytest.mark.parametrize("row", SCALING, ids=[row[0] for row in SCALING])
def test_scaling_in_the_middle_of_a_rollout_keeps_the_mix(row: Any) -> None:
    _, wanted, _, sets, expected = row
    notes = {MAX_REPLICAS: 10, DESIRED_REPLICAS: 10}
    ages, images = {"old": 5.0, "new": 1.0}, {"old": "v1", "new": "v2"}
    found = {
        name: replica_set(name, size, ready, image=images[name], age=ages[name], notes=notes)
        for name, size, ready in sets
    }
    spec = rolling(0, 1)
    sizes = sizes_after_scaling(
        deployment(wanted, **spec), found.get("new"), [found["old"]] if "old" in found else []
    )
    assert sizes == expected


def test_the_new_replica_set_is_recognised_by_its_template_alone() -> None:
    new = replica_set("b", 1, image="v2")
    hashed = template("v2") | {
        "metadata": {"labels": {"app": "web", "pod-template-hash": "x"}, "creationTimestamp": None}
    }
    new = msgspec.structs.replace(new, spec=msgspec.structs.replace(new.spec, template=hashed))
    old = replica_set("a", 1, image="v1")
    assert split(deployment(), [old, new]) == (new, [old])


def test_the_hash_is_stable_and_minds_collisions() -> None:
    first = template_hash(template("v1"), None)
    assert first == template_hash(dict(reversed(template("v1").items())), None)
    assert first == template_hash(
        template("v1") | {"metadata": {"labels": {"app": "web", "pod-template-hash": "q"}}}, None
    )
    others = {
        template_hash(template("v2"), None),
        template_hash(template("v1"), 0),
        template_hash(template("v1"), 1),
    }
    assert len(others | {first}) == 4
    assert set(first) <= set("bcdfghjklmnpqrstvwxz2456789")


def plan(target: Deployment, *sets: ReplicaSet, old_pods: bool = False, now: dt.datetime = NOW) -> Rollout:
    return plan_rollout(target, list(sets), old_pods, now)


def reason(rollout: Rollout, kind: str = "Progressing") -> str:
    found = condition(rollout.status.conditions, kind)
    return found.reason if found else ""


def test_a_first_rollout_creates_its_replica_set() -> None:
    rollout = plan(deployment(3, annotations={"kubernetes.io/change-cause": "why"}))
    assert rollout.create is not None
    metadata, spec = rollout.create["metadata"], rollout.create["spec"]
    assert metadata["name"].startswith("web-")
    assert metadata["annotations"] == {
        REVISION: "1",
        DESIRED_REPLICAS: "3",
        MAX_REPLICAS: "4",
        "kubernetes.io/change-cause": "why",
    }
    assert metadata["ownerReferences"][0]["kind"] == "Deployment"
    hashed = metadata["labels"]["pod-template-hash"]
    assert spec["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": hashed}
    assert spec["template"]["metadata"]["labels"]["pod-template-hash"] == hashed
    assert spec["replicas"] == 3
    assert rollout.revision == "1"
    assert reason(rollout) == "NewReplicaSetCreated"
    assert reason(rollout, "Available") == "MinimumReplicasUnavailable"
    assert rollout.recheck_at == NOW + dt.timedelta(seconds=601)


def test_a_second_revision_starts_within_the_surge() -> None:
    rollout = plan(deployment(4), replica_set("a", 4, notes={REVISION: 1}))
    assert rollout.create is not None
    assert rollout.create["spec"]["replicas"] == 1
    assert rollout.create["metadata"]["annotations"][REVISION] == "2"
    assert not rollout.changes


def test_going_back_gives_an_old_replica_set_the_newest_number() -> None:
    rollout = plan(
        deployment(3, "v1"),
        replica_set("a", 0, image="v1", notes={REVISION: 1}),
        replica_set("b", 3, image="v2", notes={REVISION: 2}),
    )
    change = next(one for one in rollout.changes if one.target.metadata.name == "a")
    assert change.annotations[REVISION] == "3"
    assert change.annotations[REVISION_HISTORY] == "1"
    assert change.replicas == 1
    assert rollout.create is None
    assert rollout.revision == "3"


def test_recreate_waits_for_the_last_old_pod() -> None:
    spec: dict[str, Any] = {"strategy": {"type": "Recreate"}}
    old = replica_set("a", 3)
    first = plan(deployment(3, **spec), old)
    assert [(one.target.metadata.name, one.replicas) for one in first.changes] == [("a", 0)]
    assert first.create is None
    gone = replica_set("a", 0)
    assert plan(deployment(3, **spec), gone, old_pods=True).create is None
    created = plan(deployment(3, **spec), gone).create
    assert created is not None
    assert created["spec"]["replicas"] == 3


def test_a_paused_deployment_scales_and_does_not_roll() -> None:
    rollout = plan(deployment(5, paused=True), replica_set("a", 3, notes={DESIRED_REPLICAS: 3}))
    assert rollout.create is None
    assert [(one.replicas, one.annotations) for one in rollout.changes] == [
        (5, {DESIRED_REPLICAS: "5", MAX_REPLICAS: "7"})
    ]
    assert reason(rollout) == "DeploymentPaused"


def complete_status(**more: Any) -> dict[str, Any]:
    progressing = {
        "type": "Progressing",
        "status": "True",
        "reason": "ReplicaSetUpdated",
        "lastUpdateTime": ago(seconds=5),
        "lastTransitionTime": ago(seconds=50),
    }
    return {
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "observedGeneration": 2,
        "conditions": [progressing],
        **more,
    }


def test_a_complete_rollout_says_so_and_rests() -> None:
    new = replica_set("b", 3, image="v2", notes={REVISION: 2, DESIRED_REPLICAS: 3, MAX_REPLICAS: 4})
    first = plan(deployment(3, status=complete_status(), annotations={REVISION: "2"}), new)
    assert reason(first) == "NewReplicaSetAvailable"
    assert first.recheck_at is None
    settled = msgspec.structs.replace(deployment(3, annotations={REVISION: "2"}), status=first.status)
    second = plan(settled, new, now=NOW + dt.timedelta(hours=1))
    assert second.status == first.status
    assert (second.create, second.changes, second.forget, second.revision) == (None, (), (), "")


def test_a_stuck_rollout_runs_into_its_deadline() -> None:
    new = replica_set("b", 3, 1, image="v2", notes={REVISION: 2})
    status = complete_status(readyReplicas=1, availableReplicas=1)
    before = plan(deployment(3, status=status), new)
    assert reason(before) == "ReplicaSetUpdated"
    assert before.recheck_at == NOW + dt.timedelta(seconds=596)
    after = plan(deployment(3, status=status), new, now=NOW + dt.timedelta(seconds=596))
    assert reason(after) == "ProgressDeadlineExceeded"
    found = condition(after.status.conditions, "Progressing")
    assert found is not None
    assert found.message == 'ReplicaSet "b" has timed out progressing.'
    assert after.recheck_at is None


def test_old_revisions_are_forgotten_only_when_empty_and_beyond_the_limit() -> None:
    old = [replica_set(f"r{i}", 0, age=9 - i, notes={REVISION: i}) for i in range(1, 5)]
    assert [one.metadata.name for one in forgotten(deployment(3, revisionHistoryLimit=2), old)] == [
        "r1",
        "r2",
    ]
    assert forgotten(deployment(3, revisionHistoryLimit=None), old) == []
    busy = [replica_set("r1", 2, age=9, notes={REVISION: 1}), *old[1:]]
    assert [one.metadata.name for one in forgotten(deployment(3, revisionHistoryLimit=2), busy)] == ["r2"]


def apply(rollout: Rollout, sets: dict[str, ReplicaSet], count: int) -> None:
    """What the server and the replica set controller would do, with pods that exist and are not ready yet."""
    for change in rollout.changes:
        one = sets[change.target.metadata.name]
        notes = {**one.metadata.annotations, **change.annotations}
        sets[one.metadata.name] = msgspec.structs.replace(
            one,
            spec=msgspec.structs.replace(one.spec, replicas=change.replicas),
            metadata=msgspec.structs.replace(one.metadata, annotations=notes),
        )
    if rollout.create is not None:
        made = msgspec.convert(rollout.create, ReplicaSet)
        born = msgspec.structs.replace(
            made.metadata, uid=made.metadata.name, creation_timestamp=NOW + dt.timedelta(seconds=count)
        )
        sets[made.metadata.name] = msgspec.structs.replace(made, metadata=born)


def settle(one: ReplicaSet, available: int) -> ReplicaSet:
    size = one.spec.replicas
    status = msgspec.structs.replace(
        one.status,
        replicas=size,
        ready_replicas=available,
        available_replicas=available,
        observed_generation=1,
    )
    return msgspec.structs.replace(one, status=status)


portion = st.one_of(st.integers(0, 5), st.sampled_from(["0%", "10%", "25%", "50%", "100%"]))


@pytest.mark.thorough
@settings(max_examples=examples(60), deadline=None)
@given(data=st.data(), replicas=st.integers(1, 12), surge=portion, missing=portion)
def test_no_step_of_any_rollout_breaks_the_bounds(
    data: st.DataObject, replicas: int, surge: Any, missing: Any
) -> None:
    """Pods become ready and fail at random and templates change: the controller itself never goes too far."""
    target = deployment(replicas, **rolling(surge, missing))
    least, most = replicas - max_unavailable(target), replicas + max_surge(target)
    sets = {
        "first": replica_set(
            "first", replicas, image="v1", notes={DESIRED_REPLICAS: replicas, MAX_REPLICAS: most}
        )
    }
    images = iter(["v2", "v3", "v4"])
    target = msgspec.structs.replace(
        target, spec=msgspec.structs.replace(target.spec, template=template(next(images)))
    )
    for count in range(40):
        before = {name: one.status.available_replicas for name, one in sets.items()}
        could = sum(before.values())
        rollout = plan(target, *sets.values())
        apply(rollout, sets, count)
        assert sum(one.spec.replicas for one in sets.values()) <= most
        # At worst a smaller replica set gives up available pods, never more than it has to lose.
        kept = sum(min(one.spec.replicas, before.get(name, 0)) for name, one in sets.items())
        assert kept >= min(could, least)
        target = msgspec.structs.replace(target, status=rollout.status)
        for name, one in sets.items():
            low = min(one.spec.replicas, before.get(name, 0))
            sets[name] = settle(
                one, data.draw(st.integers(max(0, low - 1), one.spec.replicas), label=f"{count}/{name}")
            )
        if data.draw(st.integers(0, 9), label="change") == 0 and (image := next(images, None)):
            target = msgspec.structs.replace(
                target, spec=msgspec.structs.replace(target.spec, template=template(image))
            )
    for _ in range(60):
        rollout = plan(target, *sets.values())
        apply(rollout, sets, 99)
        target = msgspec.structs.replace(target, status=rollout.status)
        sets = {name: settle(one, one.spec.replicas) for name, one in sets.items()}
    new, old = split(target, list(sets.values()))
    assert new is not None
    assert new.spec.replicas == replicas
    assert all(one.spec.replicas == 0 for one in old)
