"""Finalizers hold objects; propagation policies are finalizers that a deletion leaves."""

from __future__ import annotations

import pytest

from support.arms.arm import JSON_PATCH, Obj
from support.arms.caseapi import CaseApi, types_and_names
from support.arms.marks import CONFORMANCE
from support.arms.objects import config_map, named, workload
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, ROLES, Kind

pytestmark = CONFORMANCE

HOLD = "example.com/hold"


def held(name: str, *finalizers: str) -> Obj:
    obj = config_map(name)
    obj["metadata"]["finalizers"] = list(finalizers or (HOLD,))
    return obj


async def release(api: CaseApi, name: str) -> None:
    await api.given_patch(CONFIGMAPS, name, {"metadata": {"finalizers": None}})


async def test_a_deletion_leaves_a_mark(api: CaseApi) -> None:
    created = await api.given(CONFIGMAPS, held("m"))
    answer = (await api.delete(CONFIGMAPS, "m")).ok()
    assert answer["kind"] == "ConfigMap"
    read = await api.get(CONFIGMAPS, "m")
    assert read["metadata"]["deletionTimestamp"].endswith("Z")
    assert read["metadata"]["deletionGracePeriodSeconds"] == 0
    assert read["metadata"]["uid"] == created["metadata"]["uid"]
    await release(api, "m")


async def test_the_last_finalizer_takes_the_object_along(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, held("m", HOLD, "example.com/two"))
    await api.arm.drop(api.at(CONFIGMAPS, "m"))
    first = [{"op": "remove", "path": "/metadata/finalizers/0"}]
    left = (await api.patch(CONFIGMAPS, "m", first, JSON_PATCH)).ok()
    assert left["metadata"]["finalizers"] == ["example.com/two"]
    (await api.patch(CONFIGMAPS, "m", {"metadata": {"finalizers": None}})).ok()
    await api.gone(CONFIGMAPS, "m")


async def test_the_mark_is_not_taken_back(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, held("m"))
    await api.arm.drop(api.at(CONFIGMAPS, "m"))
    obj = await api.get(CONFIGMAPS, "m")
    marked = obj["metadata"].pop("deletionTimestamp")
    obj["metadata"].pop("deletionGracePeriodSeconds")
    obj["data"] = {"a": "1"}
    new = (await api.put(CONFIGMAPS, obj)).ok()
    assert (new["metadata"]["deletionTimestamp"], new["data"]) == (marked, {"a": "1"})
    await release(api, "m")


async def test_no_finalizer_joins_later(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, held("m"))
    await api.arm.drop(api.at(CONFIGMAPS, "m"))
    answer = await api.patch(CONFIGMAPS, "m", {"metadata": {"finalizers": [HOLD, "example.com/late"]}})
    field_error = (
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"example.com/late"}'
    )
    answer.refused(422, "Invalid", f'ConfigMap "m" is invalid: {field_error}', field_errors=[field_error])
    await release(api, "m")


async def test_a_second_deletion_changes_nothing(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, held("m"))
    await api.arm.drop(api.at(CONFIGMAPS, "m"))
    first = await api.get(CONFIGMAPS, "m")
    (await api.delete(CONFIGMAPS, "m")).ok()
    assert (await api.get(CONFIGMAPS, "m"))["metadata"] == first["metadata"]
    await release(api, "m")


async def test_watchers_see_the_mark_and_the_end(api: CaseApi) -> None:
    created = await api.given(CONFIGMAPS, held("m"))
    await api.arm.drop(api.at(CONFIGMAPS, "m"))
    await release(api, "m")
    query = {"resourceVersion": created["metadata"]["resourceVersion"]}
    events = await api.watch(CONFIGMAPS, query, 2)
    assert types_and_names(events) == [("MODIFIED", "m"), ("DELETED", "m")]
    assert events[0].obj["metadata"]["deletionTimestamp"]


async def test_a_name_is_taken_until_the_object_is_gone(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, held("m"))
    await api.arm.drop(api.at(CONFIGMAPS, "m"))
    answer = await api.post(CONFIGMAPS, config_map("m"))
    answer.refused(409, "AlreadyExists", 'object is being deleted: configmaps "m" already exists')
    await release(api, "m")


@pytest.mark.parametrize("kind", [CONFIGMAPS, ROLES], ids=lambda kind: kind.plural)
async def test_names_without_a_prefix_belong_to_kubernetes(api: CaseApi, kind: Kind) -> None:
    answer = await api.post(kind, named("m", meta={"finalizers": ["hold"]}))
    detail = "name is neither a standard finalizer name nor is it fully qualified"
    answer.refused(422, "Invalid", field_errors=[f'metadata.finalizers[0]: Invalid value: "hold": {detail}'])


POLICIES: dict[str, tuple[Obj, list[str]]] = {
    "Foreground": ({"propagationPolicy": "Foreground"}, ["foregroundDeletion"]),
    "Orphan": ({"propagationPolicy": "Orphan"}, ["orphan"]),
    "orphanDependents": ({"orphanDependents": True}, ["orphan"]),
}


@pytest.mark.parametrize("policy", POLICIES)
async def test_policies_are_finalizers(api: CaseApi, policy: str) -> None:
    options, finalizers = POLICIES[policy]
    created = await api.given(DEPLOYMENTS, workload("w"))
    answer = (await api.delete(DEPLOYMENTS, "w", options)).ok()
    assert answer["metadata"]["finalizers"] == finalizers
    assert answer["metadata"]["generation"] == created["metadata"]["generation"] + 1
    assert answer["metadata"]["deletionTimestamp"]


async def test_background_removes_at_once(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    (await api.delete(DEPLOYMENTS, "w", {"propagationPolicy": "Background"})).ok()
    await api.gone(DEPLOYMENTS, "w")


async def test_a_policy_in_the_query(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    answer = await api.delete(DEPLOYMENTS, "w", query={"propagationPolicy": "Foreground"})
    assert answer.ok()["metadata"]["finalizers"] == ["foregroundDeletion"]


KNOWN_POLICIES = '"Foreground", "Background", "Orphan", "nil"'
NOT_BOTH = "orphanDependents and deletionPropagation cannot be both set"
WRONG_OPTIONS: dict[str, tuple[Obj, list[str]]] = {
    "unknown": (
        {"propagationPolicy": "Sideways"},
        [f'propagationPolicy: Unsupported value: "Sideways": supported values: {KNOWN_POLICIES}'],
    ),
    "both": (
        {"propagationPolicy": "Orphan", "orphanDependents": True},
        [f'propagationPolicy: Invalid value: "Orphan": {NOT_BOTH}'],
    ),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
async def test_policies_that_do_not_fit(api: CaseApi, case: str) -> None:
    options, field_errors = WRONG_OPTIONS[case]
    await api.given(DEPLOYMENTS, workload("w"))
    answer = await api.delete(DEPLOYMENTS, "w", options)
    answer.refused(
        422,
        "Invalid",
        f'DeleteOptions.meta.k8s.io "" is invalid: {field_errors[0]}',
        field_errors=field_errors,
    )
    await api.get(DEPLOYMENTS, "w")


async def test_preconditions(api: CaseApi) -> None:
    created = await api.given(CONFIGMAPS, config_map("m"))
    uid, version = created["metadata"]["uid"], created["metadata"]["resourceVersion"]
    answer = await api.delete(CONFIGMAPS, "m", {"preconditions": {"uid": "other"}})
    why = (
        f"the UID in the precondition (other) does not match the UID in record ({uid}). "
        "The object might have been deleted and then recreated"
    )
    answer.refused(409, "Conflict", f'Operation cannot be fulfilled on ConfigMap "m": {why}')
    answer = await api.delete(CONFIGMAPS, "m", {"preconditions": {"resourceVersion": "1"}})
    why = (
        "the ResourceVersion in the precondition (1) does not match "
        f"the ResourceVersion in record ({version}). The object might have been modified"
    )
    answer.refused(409, "Conflict", f'Operation cannot be fulfilled on ConfigMap "m": {why}')
    met = {"preconditions": {"uid": uid, "resourceVersion": version}}
    (await api.delete(CONFIGMAPS, "m", met)).ok()
    await api.gone(CONFIGMAPS, "m")
