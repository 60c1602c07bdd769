"""EvictionRequests: every field of a wrong type, deletion, registration, and what only two objects show."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from embedded.registry.cases_evictionrequests import COMPLETE, at, condition
from embedded.registry.given import (
    NOW,
    POD_UID,
    RUNNING,
    VALID,
    changed,
    context,
    errors_of,
    made,
    put,
    stepped,
    stored,
)
from vacate.admission.context import Context
from vacate.api.identity import EVICTION_CONTROLLER, Access, StatusAuthority, User
from vacate.api.kinds import EVACUATIONS, PODS, Kind
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.objects import Obj
from vacate.api.types.evictionrequest import IGNORED_REGISTRATION, SUPERSEDES, EvictionRequest
from vacate.crds.schema import structural_schema
from vacate.embedded.registry.strategies import strategy_for
from vacate.errors import Forbidden
from vacate.eviction.callers import CALLERS
from vacate.features import FeatureGates

pytestmark = pytest.mark.unit

STRATEGY = strategy_for(KIND)
FORBID = {"status.evictionRequestCancellationPolicy": "Forbid"}
ACTIVE = {"status.activeInterceptorName": "first.example.com", "status.heartbeatTime": at(-60)}
WRONG: dict[str, tuple[Any, str]] = {
    "string": (7, "integer"), "integer": ("7", "string"), "boolean": ("true", "string"),
    "object": ([], "array"), "array": ({}, "object"),
}  # fmt: skip


# Kubernetes goes by the format, where there is one and the value is a number.
BY_FORMAT = {"date-time": ("date-time", "int64")}


def fields(schema: Obj, path: str) -> list[tuple[str, Obj]]:
    """Every field below a path, with its schema."""
    found = [(path, schema)]
    for key, inner in schema.get("properties", {}).items():
        found += fields(inner, f"{path}.{key}")
    return found + (fields(schema["items"], f"{path}[0]") if "items" in schema else [])


FIELDS = [
    *fields(structural_schema(EvictionRequest)["properties"]["spec"], "spec"),
    *fields(structural_schema(EvictionRequest)["properties"]["status"], "status"),
]


def whole() -> Obj:
    """A request that says everything that one can say."""
    counter = "status.podEvictionStatus.failedAPIEvictionCounter"
    say = {**ACTIVE, counter: 1, "status.conditions": [condition(observedGeneration=1)]}
    times = {"status.expectedInterceptorFinishTime": at(60), "status.activeInterceptorCompleted": True}
    return changed(stored(KIND), {**say, **times})


@pytest.mark.parametrize(("path", "schema"), FIELDS, ids=[path for path, _ in FIELDS])
def test_every_field_has_one_type(path: str, schema: Obj) -> None:
    wrong, given = WRONG[schema["type"]]
    wanted, given = BY_FORMAT.get(schema.get("format", ""), (schema["type"], given))
    new, old = whole(), whole()
    put(new, path, wrong)
    ctx = context("status" if path.startswith("status") else "")
    STRATEGY.prepare_update(new, old, ctx)
    shown = path if path.startswith("spec") else path.removeprefix("status").removeprefix(".")
    expected = f'{path}: Invalid value: "{given}": {shown} in body must be of type {wanted}: "{given}"'
    assert expected in [str(field_error) for field_error in STRATEGY.validate_update(new, old, ctx)]


def test_all_errors_come_at_once() -> None:
    wrong = {
        "metadata.generateName": "a-", "metadata.labels": {"-": ""}, "spec.type": "Hard",
        "spec.target.podRef.name": "no", "spec.requesters": [], "spec.heartbeatDeadlineSeconds": 5,
    }  # fmt: skip
    assert [field_error.partition(": ")[0] for field_error in errors_of(KIND, wrong)] == [
        "metadata.labels", "spec.type", "spec.heartbeatDeadlineSeconds", "metadata.generateName",
        "spec.target.podRef.name",
    ]  # fmt: skip


def world(**pod: Any) -> Context:
    """A world in which the pod is as given; nothing in it where it is `gone`."""
    found = copy.deepcopy(RUNNING["web"])
    for path, value in pod.get("changes", {}).items():
        put(found, path, value)

    def lookup(kind: Kind, namespace: str, name: str) -> Obj | None:
        there = (kind, namespace, name) == (PODS, "shop", "web") and not pod.get("gone")
        return found if there else None

    return Context(User("ann"), NOW, FeatureGates(), lookup, may=pod.get("may", lambda _: True))


UNDELETABLE = (
    f'{KIND.resource} "{POD_UID}" is forbidden: status.evictionRequestCancellationPolicy is Forbid and the '
    'eviction goes on as long as pod "web" has not ended'
)


@pytest.mark.parametrize("phase", ["Pending", "Running", "Unknown"])
def test_forbid_holds_while_the_pod_lives(phase: str) -> None:
    with pytest.raises(Forbidden) as refusal:
        STRATEGY.validate_delete(changed(stored(KIND), FORBID), world(changes={"status.phase": phase}))
    assert refusal.value.message == UNDELETABLE


@pytest.mark.parametrize(
    ("request_", "pod"),
    [
        ({}, {}),
        ({"status.evictionRequestCancellationPolicy": "Allow"}, {}),
        ({**FORBID, **COMPLETE}, {}),
        (FORBID, {"changes": {"status.phase": "Succeeded"}}),
        (FORBID, {"changes": {"status.phase": "Failed"}}),
        (FORBID, {"changes": {"metadata.uid": "another"}}),
        (FORBID, {"gone": True}),
    ],
    ids=["default", "allowed", "complete", "succeeded", "failed", "another-pod", "gone"],
)
def test_other_requests_may_be_deleted(request_: Obj, pod: Obj) -> None:
    STRATEGY.validate_delete(changed(stored(KIND), request_), world(**pod))


def test_the_right_to_delete_the_pod_is_asked_before_anything_is_looked_up() -> None:
    asked: list[Access] = []

    def lookup(*_: object) -> Obj | None:
        raise AssertionError("looked up before the right was asked for")

    def may(access: Access) -> bool:
        asked.append(access)
        return False

    ctx = Context(User("ann"), NOW, FeatureGates(), lookup, may=may)
    old = stored(KIND)
    refused = pytest.raises(Forbidden, match="cannot delete resource")
    with refused:
        STRATEGY.prepare_create(made(KIND), ctx)
    with refused:
        STRATEGY.prepare_update(copy.deepcopy(old), old, ctx)
    with refused:
        STRATEGY.validate_delete(old, ctx)
    wanted = Access(User("ann"), "delete", "", "v1", "pods", "", "shop", "web")
    assert asked == [wanted] * 3


def test_status_has_rights_of_its_own() -> None:
    ctx = Context(User("ann"), NOW, FeatureGates(), lambda *_: None, "status")
    assert stepped(KIND, {"status.message": "hello"}, ctx=ctx)[2] == []


@pytest.mark.parametrize(
    "prefix", ["interceptor.evictionrequest.coordination.k8s.io", "evacuation.coordination.k8s.io"]
)
def test_a_malformed_registration_of_the_pod_counts_as_none(prefix: str) -> None:
    """A user who can write a pod's annotations must not be able to make it unevictable."""
    key = f"{prefix}/priority_a.example.com"
    ctx = world(changes={"spec": {}, f"metadata.annotations[{key}]": "high"})
    new = made(KIND, {"metadata.annotations": {IGNORED_REGISTRATION: "mine"}}, ctx)
    assert STRATEGY.validate(new, ctx) == []
    assert "interceptors" not in new["spec"]
    assert new["metadata"]["annotations"][IGNORED_REGISTRATION] == (
        f'metadata.annotations[{key}]: Invalid value: "high": must be PRIORITY or PRIORITY/ROLE '
        "with a priority from 0 to 100000"
    )


def test_a_name_that_is_no_longer_allowed_does_not_keep_the_pod_from_being_evicted() -> None:
    ctx = world(changes={"spec": {"evictionInterceptors": [{"name": "actor.k8s.io"}]}})
    new = made(KIND, {}, ctx)
    assert STRATEGY.validate(new, ctx) == []
    assert "interceptors" not in new["spec"]
    assert "reserved for Kubernetes" in new["metadata"]["annotations"][IGNORED_REGISTRATION]


def test_nobody_says_of_a_good_registration_that_it_is_ignored() -> None:
    new = made(KIND, {"metadata.annotations": {IGNORED_REGISTRATION: "mine"}})
    assert IGNORED_REGISTRATION not in new["metadata"]["annotations"]


def test_annotations_stand_in_for_the_field() -> None:
    ours = "interceptor.evictionrequest.coordination.k8s.io"
    given = {f"{ours}/priority_a.example.com": "11", f"{ours}/priority_b.example.com": "7"}
    obj = made(KIND, {}, world(changes={"spec": {}, "metadata.annotations": given}))
    assert [one["name"] for one in obj["spec"]["interceptors"]] == ["b.example.com", "a.example.com"]


def test_terminating_pods_may_be_requested_too() -> None:
    for changes in ({"status.phase": "Succeeded"}, {"metadata.deletionTimestamp": at(0)}):
        assert errors_of(KIND, {}, world(changes=changes)) == []


def test_interceptors_beyond_the_allowed_names_of_kubernetes_are_ignored() -> None:
    listed = [{"name": "actor-a.k8s.io"}]
    ctx = world(changes={"spec.evictionInterceptors": listed})
    assert "interceptors" not in made(KIND, {}, ctx)["spec"]
    allowing = Context(
        ctx.user, NOW, ctx.gates, ctx.lookup, allowed_interceptors=("actor-a.k8s.io",), may=ctx.may
    )
    assert errors_of(KIND, {}, allowing) == []
    assert made(KIND, {}, allowing)["spec"]["interceptors"] == listed
    # What was allowed once does not stand in the way of a later change.
    before = {"spec.interceptors": listed}
    assert stepped(KIND, {"spec.requesters": []}, before)[2] == []


def test_labels_of_the_pod_win_until_the_request_is_complete() -> None:
    step = {"metadata.labels": {"app": "mine"}}
    assert stepped(KIND, step)[0]["metadata"]["labels"] == {"app": "web"}
    assert stepped(KIND, step, COMPLETE)[0]["metadata"]["labels"] == {"app": "mine"}


MANAGER = User("system:serviceaccount:a:manager")
OWN = StatusAuthority((MANAGER.name, "jane"))


@pytest.mark.parametrize(
    ("user", "counts"),
    [
        (MANAGER, False),
        (User("system:node:node-1"), False),
        (User("mallory"), True),
        (User("jane"), True),  # a person as whom a manager runs
    ],
    ids=lambda one: one.name if isinstance(one, User) else "",
)
@pytest.mark.parametrize("kind", [KIND, EVACUATIONS], ids=lambda kind: kind.plural)
def test_of_the_labels_that_an_account_gives_none_count_but_those_of_others(
    kind: Kind, user: User, counts: bool
) -> None:
    """What follows requests by their labels follows those of pods, and what users have labelled."""
    ctx = dataclasses.replace(context(), user=user, authority=OWN)
    placed = dataclasses.replace(ctx, lookup=_on_node(ctx))
    given = {"mine": "x", "vacate.dev/mine": "x", "example.com/team": "a"}
    kept = given if counts else {"example.com/team": "a"}
    assert made(kind, {"metadata.labels": given}, placed)["metadata"]["labels"] == {"app": "web", **kept}
    before = {"metadata.labels": {"app": "web", "old": "1"}}
    new = stepped(kind, {"metadata.labels": {**given, "old": "2"}}, before, placed)[0]
    assert new["metadata"]["labels"] == {"app": "web", "old": "2" if counts else "1", **kept}


def test_a_request_that_takes_over_has_the_labels_of_the_other() -> None:
    ctx = dataclasses.replace(context(), user=MANAGER, authority=OWN)
    given = {"metadata.labels": {"mine": "x"}, "metadata.annotations": {SUPERSEDES: "another"}}
    assert made(KIND, given, ctx)["metadata"]["labels"] == {"app": "web", "mine": "x"}


def _on_node(ctx: Context) -> Callable[[Kind, str, str], Obj | None]:
    """As if every pod were on that of the user who is a node."""

    def lookup(kind: Kind, namespace: str, name: str) -> Obj | None:
        found = ctx.lookup(kind, namespace, name)
        node = ctx.authority.node_of(ctx.user)
        return found if found is None or not node else changed(copy.deepcopy(found), {"spec.nodeName": node})

    return lookup


def test_a_stamp_is_not_forged() -> None:
    """A request that did not pass admission does not get the stamp by an update."""
    old = stored(KIND)
    del old["metadata"]["annotations"]
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {"vacate.dev/admitted": "true"}
    STRATEGY.prepare_update(new, old, context())
    assert "annotations" not in new["metadata"]


BRIDGE_RECORD = '{"jane.bridge.vacate.dev":{"until":"2099-01-01T00:00:00Z"}}'


@pytest.mark.parametrize(
    ("user", "counts"),
    [
        (User("mallory", ("system:authenticated",)), False),
        (User("system:serviceaccount:shop:app", ("system:serviceaccounts",)), False),
        (User(EVICTION_CONTROLLER), True),
        (User("webhook"), True),
        (User("root", ("system:masters",)), True),
    ],
    ids=lambda one: one.name if isinstance(one, User) else "",
)
def test_a_record_of_callers_is_not_forged(user: User, counts: bool) -> None:
    """By it the eviction bridge reports to a drain that a pod is gone, and withdraws requesters."""
    bridge = StatusAuthority(recorders=("webhook",))
    ctx = dataclasses.replace(context(), user=user, authority=bridge)
    old = stored(KIND)
    new = copy.deepcopy(old)
    new["metadata"].setdefault("annotations", {})[CALLERS] = BRIDGE_RECORD
    STRATEGY.prepare_update(new, old, ctx)
    assert (CALLERS in new["metadata"].get("annotations", {})) == counts
    removed = copy.deepcopy(old)
    old["metadata"].setdefault("annotations", {})[CALLERS] = BRIDGE_RECORD
    STRATEGY.prepare_update(removed, old, ctx)
    assert (CALLERS in removed["metadata"].get("annotations", {})) != counts
    new_one = copy.deepcopy(VALID[KIND])
    new_one["metadata"]["annotations"] = {CALLERS: BRIDGE_RECORD}
    STRATEGY.prepare_create(new_one, ctx)
    assert (CALLERS in new_one["metadata"].get("annotations", {})) == counts


@pytest.mark.parametrize(
    ("user", "counts"),
    [(User("mallory"), False), (User("manager"), True), (User("root", ("system:masters",)), True)],
    ids=lambda one: one.name if isinstance(one, User) else "",
)
def test_which_request_another_supersedes_is_the_controllers_to_write(user: User, counts: bool) -> None:
    """By it a controller that was interrupted learns that requesters have been handed over."""
    ctx = dataclasses.replace(context(), user=user, authority=StatusAuthority(controllers=("manager",)))
    forged = {SUPERSEDES: "another"}
    old = stored(KIND)
    for given, found in ((forged, counts), ({}, not counts)):
        new = copy.deepcopy(old)
        old["metadata"]["annotations"] = {} if given else {**forged}
        new["metadata"]["annotations"] = {**given}
        STRATEGY.prepare_update(new, old, ctx)
        assert (SUPERSEDES in new["metadata"].get("annotations", {})) == found
    new_one = copy.deepcopy(VALID[KIND])
    new_one["metadata"]["annotations"] = {**forged}
    STRATEGY.prepare_create(new_one, ctx)
    assert (SUPERSEDES in new_one["metadata"].get("annotations", {})) == counts


def test_times_are_compared_as_instants_and_kept_as_written() -> None:
    written = (NOW + dt.timedelta(seconds=5)).astimezone(dt.timezone(dt.timedelta(hours=2))).isoformat()
    new, _, field_errors = stepped(KIND, {"status.heartbeatTime": written}, ACTIVE, context("status"))
    assert (field_errors, new["status"]["heartbeatTime"]) == ([], written)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-08-20",
        "2026-08-20T12:00:00",
        "2026-08-20 12:00:00Z",
        "2026-08-20T12:00:60Z",
    ],
)
def test_what_is_no_time(text: str) -> None:
    path = "status.heartbeatTime"
    expected = f'{path}: Invalid value: "{text}": heartbeatTime in body must be of type date-time: "{text}"'
    assert expected in stepped(KIND, {path: text}, ACTIVE, context("status"))[2]


@pytest.mark.parametrize(
    "text",
    [
        "9999-12-31T23:59:59.9999999Z",
        "9999-01-01T00:00:00Z",
        "0000-12-31T23:59:59Z",
        "0001-01-01T00:00:00+00:01",
        "2026-08-20T12:00:00+00:60",
        "2026-08-20T12:00:00+24:00",
        "2026-08-20t12:00:00z",
    ],
)
def test_what_is_a_time_that_not_everyone_can_hold(text: str) -> None:
    path = "status.heartbeatTime"
    errors = stepped(KIND, {path: text}, ACTIVE, context("status"))[2]
    assert errors[0].startswith(f'{path}: Invalid value: "{text}": heartbeatTime in body should match ')
    assert len(errors) == 1


@pytest.mark.parametrize("changes", [{}, {"status.podEvictionStatus.failedAPIEvictionCounter": 3}, ACTIVE])
def test_an_empty_step_is_always_allowed(changes: Obj) -> None:
    for subresource in ("", "status"):
        assert stepped(KIND, {}, changes, context(subresource))[2] == []
