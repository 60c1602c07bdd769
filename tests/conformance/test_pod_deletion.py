"""Pods go in their own time: the grace period, its shortening, and its end."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi, types_and_names
from support.arms.marks import CONFORMANCE
from support.arms.objects import pod
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE


def seconds(obj: Obj) -> int:
    return int(obj["metadata"]["deletionGracePeriodSeconds"])


def moment(obj: Obj) -> dt.datetime:
    return dt.datetime.fromisoformat(obj["metadata"]["deletionTimestamp"].replace("Z", "+00:00"))


async def running(api: CaseApi, **spec: Any) -> Obj:
    """A pod that has a node: nobody but its node ends it."""
    await api.given(PODS, pod("p", node="n", **spec))
    return await api.given_status(PODS, "p", {"phase": "Running"})


async def test_the_grace_is_the_pods(api: CaseApi) -> None:
    before = await running(api, terminationGracePeriodSeconds=77)
    answer = (await api.delete(PODS, "p")).ok()
    assert seconds(answer) == 77
    ahead = (moment(answer) - dt.datetime.now(dt.UTC)).total_seconds()
    assert 70 < ahead < 79
    assert answer["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert answer["metadata"]["uid"] == before["metadata"]["uid"]


async def test_the_grace_period_is_thirty_seconds_by_default(api: CaseApi) -> None:
    await running(api)
    assert seconds((await api.delete(PODS, "p")).ok()) == 30


@pytest.mark.parametrize("asked", [5, 120])
async def test_the_client_says_the_grace(api: CaseApi, asked: int) -> None:
    await running(api)
    assert seconds((await api.delete(PODS, "p", {"gracePeriodSeconds": asked})).ok()) == asked


async def test_the_grace_in_the_query(api: CaseApi) -> None:
    await running(api)
    assert seconds((await api.delete(PODS, "p", query={"gracePeriodSeconds": "7"})).ok()) == 7


async def test_a_negative_grace_is_one_second(api: CaseApi) -> None:
    await running(api)
    assert seconds((await api.delete(PODS, "p", {"gracePeriodSeconds": -5})).ok()) == 1


async def test_the_grace_is_shortened(api: CaseApi) -> None:
    await running(api)
    first = (await api.delete(PODS, "p", {"gracePeriodSeconds": 60})).ok()
    second = (await api.delete(PODS, "p", {"gracePeriodSeconds": 20})).ok()
    assert seconds(second) == 20
    assert moment(first) - moment(second) == dt.timedelta(seconds=40)
    assert first["metadata"]["generation"] == second["metadata"]["generation"]


async def test_the_grace_is_never_lengthened(api: CaseApi) -> None:
    await running(api)
    first = (await api.delete(PODS, "p", {"gracePeriodSeconds": 20})).ok()
    (await api.delete(PODS, "p", {"gracePeriodSeconds": 60})).ok()
    read = await api.get(PODS, "p")
    assert (seconds(read), moment(read)) == (20, moment(first))
    assert read["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_second_deletion_without_a_grace_changes_nothing(api: CaseApi) -> None:
    await running(api)
    first = (await api.delete(PODS, "p", {"gracePeriodSeconds": 20})).ok()
    (await api.delete(PODS, "p")).ok()
    read = await api.get(PODS, "p")
    assert read["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_nothing_removes_at_once(api: CaseApi) -> None:
    await running(api)
    (await api.delete(PODS, "p", {"gracePeriodSeconds": 0})).ok()
    await api.gone(PODS, "p")


async def test_nothing_ends_a_grace(api: CaseApi) -> None:
    await running(api)
    (await api.delete(PODS, "p")).ok()
    (await api.delete(PODS, "p", {"gracePeriodSeconds": 0})).ok()
    await api.gone(PODS, "p")


async def test_a_pod_without_a_node_goes_at_once(api: CaseApi) -> None:
    await api.given(PODS, pod("p"))
    (await api.delete(PODS, "p", {"gracePeriodSeconds": 60})).ok()
    await api.gone(PODS, "p")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
async def test_a_pod_that_has_ended_goes_at_once(api: CaseApi, phase: str) -> None:
    await api.given(PODS, pod("p", node="n"))
    await api.given_status(PODS, "p", {"phase": phase})
    (await api.delete(PODS, "p")).ok()
    await api.gone(PODS, "p")


async def test_finalizers_outlast_the_grace(api: CaseApi) -> None:
    await running(api)
    await api.given_patch(PODS, "p", {"metadata": {"finalizers": ["example.com/hold"]}})
    (await api.delete(PODS, "p", {"gracePeriodSeconds": 0})).ok()
    read = await api.get(PODS, "p")
    assert seconds(read) == 0
    (await api.patch(PODS, "p", {"metadata": {"finalizers": None}})).ok()
    await api.gone(PODS, "p")


async def test_a_grace_outlasts_finalizers(api: CaseApi) -> None:
    await running(api)
    await api.given_patch(PODS, "p", {"metadata": {"finalizers": ["example.com/hold"]}})
    (await api.delete(PODS, "p")).ok()
    (await api.patch(PODS, "p", {"metadata": {"finalizers": None}})).ok()
    assert seconds(await api.get(PODS, "p")) == 30
    (await api.delete(PODS, "p", {"gracePeriodSeconds": 0})).ok()
    await api.gone(PODS, "p")


@pytest.mark.parametrize(
    ("field", "what", "hint"),
    [
        ("uid", "UID", "The object might have been deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "The object might have been modified"),
    ],
)
async def test_preconditions(api: CaseApi, field: str, what: str, hint: str) -> None:
    found = (await running(api))["metadata"][field]
    answer = await api.delete(PODS, "p", {"preconditions": {field: "other"}})
    why = f"the {what} in the precondition (other) does not match the {what} in record ({found}). {hint}"
    answer.refused(409, "Conflict", f'Operation cannot be fulfilled on Pod "p": {why}')
    assert "deletionTimestamp" not in (await api.get(PODS, "p"))["metadata"]
    (await api.delete(PODS, "p", {"preconditions": {field: found}})).ok()


async def test_watchers_see_every_step(api: CaseApi) -> None:
    before = await running(api)
    await api.arm.drop(api.at(PODS, "p"))
    await api.arm.given("DELETE", api.at(PODS, "p"), {"gracePeriodSeconds": 0})
    query = {"resourceVersion": before["metadata"]["resourceVersion"]}
    events = await api.watch(PODS, query, lambda event: event.type == "DELETED")
    assert types_and_names(events)[0] == ("MODIFIED", "p")
    assert seconds(events[0].obj) == 30
    assert types_and_names(events)[-1] == ("DELETED", "p")
    assert seconds(events[-1].obj) == 0


async def test_a_terminating_pod_may_still_change(api: CaseApi) -> None:
    await running(api)
    (await api.delete(PODS, "p")).ok()
    await api.given_status(PODS, "p", {"phase": "Succeeded"})
    read = await api.get(PODS, "p")
    assert (read["status"]["phase"], seconds(read)) == ("Succeeded", 30)


async def test_a_collection_has_one_grace(api: CaseApi) -> None:
    await running(api)
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 9}
    (await api.ask("DELETE", PODS, body=options)).ok()
    assert seconds(await api.get(PODS, "p")) == 9
