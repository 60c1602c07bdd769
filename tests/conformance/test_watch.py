"""Watches: from where, what, and until when."""

from __future__ import annotations

import pytest

from support.arms.caseapi import CaseApi, types_and_names
from support.arms.marks import ALTERS_THE_SERVER, CONFORMANCE
from support.arms.objects import config_map, pod
from vacate.api.kinds import CONFIGMAPS, PODS

pytestmark = CONFORMANCE

MINE = {"labelSelector": "mine"}
INITIAL_END = {"k8s.io/initial-events-end": "true"}
STREAMED = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}


async def make(api: CaseApi, *names: str) -> list[dict[str, object]]:
    return [await api.given(CONFIGMAPS, config_map(name, {"mine": "yes"})) for name in names]


async def test_from_a_revision(api: CaseApi) -> None:
    await make(api, "a")
    version = await api.version(CONFIGMAPS)
    await make(api, "b", "c")
    events = await api.watch(CONFIGMAPS, {"resourceVersion": version, **MINE}, 2)
    assert types_and_names(events) == [("ADDED", "b"), ("ADDED", "c")]


async def test_without_a_revision_begins_with_what_is(api: CaseApi) -> None:
    await make(api, "a", "b")
    events = await api.watch(CONFIGMAPS, MINE, 2)
    assert sorted(types_and_names(events)) == [("ADDED", "a"), ("ADDED", "b")]


async def test_from_any_revision_begins_with_what_is(api: CaseApi) -> None:
    await make(api, "a")
    events = await api.watch(CONFIGMAPS, {"resourceVersion": "0", **MINE}, 1)
    assert types_and_names(events) == [("ADDED", "a")]


async def test_goes_on_with_what_happens(api: CaseApi) -> None:
    await make(api, "a")
    stream = await api.arm.open_watch(api.at(CONFIGMAPS), MINE)
    try:
        first = await stream.next()
        await api.given_patch(CONFIGMAPS, "a", {"data": {"k": "v"}})
        second = await stream.next()
        await api.arm.drop(api.at(CONFIGMAPS, "a"))
        third = await stream.next()
    finally:
        await stream.aclose()
    assert first is not None
    assert second is not None
    assert third is not None
    assert types_and_names([first, second, third]) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_deleted_shows_the_last_state_at_a_new_revision(api: CaseApi) -> None:
    (created,) = await make(api, "a")
    version = str(created["metadata"]["resourceVersion"])  # type: ignore[index]
    await api.arm.drop(api.at(CONFIGMAPS, "a"))
    (event,) = await api.watch(CONFIGMAPS, {"resourceVersion": version}, 1)
    assert (event.type, event.name) == ("DELETED", "a")
    assert event.obj["metadata"]["uid"] == created["metadata"]["uid"]  # type: ignore[index]
    assert event.version > int(version)
    assert (event.obj["kind"], event.obj["apiVersion"]) == ("ConfigMap", "v1")


async def test_label_selector_with_enter_and_leave(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    await api.given(CONFIGMAPS, config_map("a", {"mine": "no"}))
    for value in ("yes", "yes", "no", "yes"):
        patch = {"metadata": {"labels": {"mine": value}}, "data": {"last": value}}
        await api.given_patch(CONFIGMAPS, "a", patch)
    await api.given_patch(CONFIGMAPS, "a", {"data": {"more": "x"}})
    await api.arm.drop(api.at(CONFIGMAPS, "a"))
    query = {"resourceVersion": version, "labelSelector": "mine=yes"}
    events = await api.watch(CONFIGMAPS, query, 5)
    assert [event.type for event in events] == ["ADDED", "DELETED", "ADDED", "MODIFIED", "DELETED"]


async def test_leaving_shows_the_state_before_at_a_new_revision(api: CaseApi) -> None:
    (created,) = await make(api, "a")
    version = str(created["metadata"]["resourceVersion"])  # type: ignore[index]
    left = await api.given_patch(CONFIGMAPS, "a", {"metadata": {"labels": {"mine": None}}})
    (event,) = await api.watch(CONFIGMAPS, {"resourceVersion": version, **MINE}, 1)
    assert event.type == "DELETED"
    assert event.obj["metadata"]["labels"] == {"mine": "yes"}
    assert event.version == int(left["metadata"]["resourceVersion"])


async def test_field_selector_with_enter_and_leave(api: CaseApi) -> None:
    version = await api.version(PODS)
    await api.given(PODS, pod("a", node="n1"))
    await api.given_status(PODS, "a", {"phase": "Running"})
    await api.given_status(PODS, "a", {"phase": "Succeeded"})
    query = {"resourceVersion": version, "fieldSelector": "status.phase=Running"}
    events = await api.watch(PODS, query, 2)
    assert types_and_names(events) == [("ADDED", "a"), ("DELETED", "a")]
    assert events[1].obj["status"]["phase"] == "Running"


async def test_one_name(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    await make(api, "a", "b")
    await api.given_patch(CONFIGMAPS, "b", {"data": {"k": "v"}})
    query = {"resourceVersion": version, "fieldSelector": "metadata.name=b"}
    events = await api.watch(CONFIGMAPS, query, 2)
    assert types_and_names(events) == [("ADDED", "b"), ("MODIFIED", "b")]


async def test_one_namespace_sees_nothing_of_others(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    other = {"metadata": {"name": api.unique("x"), "labels": {"mine": "yes"}}}
    await api.arm.given("POST", CONFIGMAPS.collection_path("default"), other)
    await make(api, "mine")
    events = await api.watch(CONFIGMAPS, {"resourceVersion": version, **MINE}, 1)
    await api.arm.drop(CONFIGMAPS.object_path(api.unique("x"), "default"))
    assert types_and_names(events) == [("ADDED", "mine")]


async def test_streamed_list(api: CaseApi) -> None:
    created = await make(api, "b", "a")
    events = await api.watch(CONFIGMAPS, {**STREAMED, **MINE}, 3)
    assert sorted(types_and_names(events[:2])) == [("ADDED", "a"), ("ADDED", "b")]
    end = events[2]
    assert end.type == "BOOKMARK"
    assert end.obj["metadata"]["annotations"] == INITIAL_END
    assert end.version >= max(int(obj["metadata"]["resourceVersion"]) for obj in created)  # type: ignore[index]
    assert end.obj["kind"] == "ConfigMap"


async def test_streamed_list_not_older_than(api: CaseApi) -> None:
    (created,) = await make(api, "a")
    version = str(created["metadata"]["resourceVersion"])  # type: ignore[index]
    events = await api.watch(CONFIGMAPS, {**STREAMED, "resourceVersion": version, **MINE}, 2)
    assert [event.type for event in events] == ["ADDED", "BOOKMARK"]


async def test_ends_at_its_timeout(api: CaseApi) -> None:
    await make(api, "a")
    for seconds in ("1", "30"):  # a machine that stands still says nothing within the first
        if events := await api.watch(CONFIGMAPS, {"timeoutSeconds": seconds, **MINE}):
            break
    assert types_and_names(events) == [("ADDED", "a")]


async def test_no_bookmarks_unless_asked_for(api: CaseApi) -> None:
    await make(api, "a")
    query = {"timeoutSeconds": "1", "resourceVersion": await api.version(CONFIGMAPS), **MINE}
    assert await api.watch(CONFIGMAPS, query) == []


@ALTERS_THE_SERVER
async def test_a_revision_that_is_gone(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    await make(api, "a", "b")
    await api.arm.forget_history()
    (event,) = await api.watch(CONFIGMAPS, {"resourceVersion": version})
    assert event.type == "ERROR"
    assert (event.obj["kind"], event.obj["code"], event.obj["reason"]) == ("Status", 410, "Expired")
    assert event.obj["message"].startswith("too old resource version: ")


async def test_a_revision_that_is_no_number(api: CaseApi) -> None:
    answer = await api.ask("GET", CONFIGMAPS, query={"watch": "true", "resourceVersion": "x"})
    answer.refused(500, "", starting='resourceVersion: Invalid value: "x": ')


FORBIDDEN = "resourceVersionMatch: Forbidden: "
WRONG_OPTIONS = {
    "match-without-initial-events": (
        {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"},
        [f"{FORBIDDEN}resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"],
    ),
    "initial-events-without-match": (
        {"sendInitialEvents": "true"},
        [f"{FORBIDDEN}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
    ),
    "exact": (
        {"sendInitialEvents": "true", "resourceVersionMatch": "Exact"},
        [
            f"{FORBIDDEN}sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            'resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"',
        ],
    ),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
async def test_options_that_do_not_fit(api: CaseApi, case: str) -> None:
    query, field_errors = WRONG_OPTIONS[case]
    answer = await api.ask("GET", CONFIGMAPS, query={"watch": "true", **query})
    listed = field_errors[0] if len(field_errors) == 1 else f"[{', '.join(field_errors)}]"
    answer.refused(
        422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {listed}', field_errors=field_errors
    )


async def test_a_bad_selector(api: CaseApi) -> None:
    answer = await api.ask("GET", CONFIGMAPS, query={"watch": "true", "labelSelector": "a=b,"})
    answer.refused(400, "BadRequest", "found '', expected: identifier after ','")
