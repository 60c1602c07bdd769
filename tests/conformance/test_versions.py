"""resourceVersion: who may overwrite whom."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from support.arms.arm import Obj
from support.arms.caseapi import CaseApi
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import budget, config_map, named, workload
from support.oddversions import VERSIONS, WRITES, answers_to, code_of
from vacate.api.kinds import CONFIGMAPS, DEPLOYMENTS, LEASES, NODES, PODDISRUPTIONBUDGETS, ROLES, Kind

pytestmark = CONFORMANCE

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: str, name: str, why: str = MODIFIED) -> str:
    return f'Operation cannot be fulfilled on {resource} "{name}": {why}'


async def test_put_with_the_newest_version(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    old["data"] = {"a": "2"}
    new = (await api.put(CONFIGMAPS, old)).ok()
    assert new["data"] == {"a": "2"}


async def test_put_with_a_stale_version(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    await api.given_patch(CONFIGMAPS, "m", {"data": {"a": "2"}})
    old["data"] = {"a": "3"}
    (await api.put(CONFIGMAPS, old)).refused(409, "Conflict", conflict("configmaps", "m"))
    assert (await api.get(CONFIGMAPS, "m"))["data"] == {"a": "2"}


async def test_put_without_a_version_wins(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m", a="1"))
    await api.given_patch(CONFIGMAPS, "m", {"data": {"a": "2"}})
    new = (await api.put(CONFIGMAPS, config_map("m", a="3"))).ok()
    assert new["data"] == {"a": "3"}


@pytest.mark.parametrize(
    ("kind", "obj"),
    [(PODDISRUPTIONBUDGETS, budget("x")), (LEASES, named("x", spec={"holderIdentity": "me"}))],
    ids=["poddisruptionbudgets", "leases"],
)
async def test_put_without_a_version_refused(api: CaseApi, kind: Kind, obj: dict[str, object]) -> None:
    await api.given(kind, obj)
    answer = await api.put(kind, obj)
    field_error = "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    answer.refused(
        422, "Invalid", f'{kind.resource} "x" is invalid: {field_error}', field_errors=[field_error]
    )


async def test_put_that_changes_nothing_keeps_the_version(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    new = (await api.put(CONFIGMAPS, old)).ok()
    assert new["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]


async def test_patch_that_changes_nothing_keeps_the_version(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    new = (await api.patch(CONFIGMAPS, "m", {"data": {"a": "1"}})).ok()
    assert new["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"]


async def test_patch_with_a_stale_version(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    await api.given_patch(CONFIGMAPS, "m", {"data": {"a": "2"}})
    stale = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {"a": "3"}}
    (await api.patch(CONFIGMAPS, "m", stale)).refused(409, "Conflict", conflict("configmaps", "m"))


async def test_patch_with_the_newest_version(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    fresh = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "data": {"a": "3"}}
    assert (await api.patch(CONFIGMAPS, "m", fresh)).ok()["data"] == {"a": "3"}


async def test_put_with_another_uid(api: CaseApi) -> None:
    old = await api.given(CONFIGMAPS, config_map("m", a="1"))
    uid = old["metadata"]["uid"]
    new = config_map("m", a="2")
    new["metadata"]["uid"] = "other"
    answer = await api.put(CONFIGMAPS, new)
    answer.refused(409, "Conflict", starting=conflict("configmaps", "m", "StorageError: invalid object, "))
    why = f"Precondition failed: UID in precondition: other, UID in object meta: {uid}"
    assert str(answer.message).endswith(why)


async def test_patch_with_another_uid(api: CaseApi) -> None:
    await api.given(CONFIGMAPS, config_map("m", a="1"))
    answer = await api.patch(CONFIGMAPS, "m", {"metadata": {"uid": "other"}})
    field_error = 'metadata.uid: Invalid value: "other": field is immutable'
    answer.refused(422, "Invalid", field_errors=[field_error])


async def test_put_of_something_that_is_not_there(api: CaseApi) -> None:
    answer = await api.put(CONFIGMAPS, config_map("m"))
    answer.refused(404, "NotFound", 'configmaps "m" not found')


async def test_put_creates_kinds_that_allow_it(api: CaseApi) -> None:
    created = (await api.put(ROLES, named("r", rules=[]))).ok(201)
    assert created["metadata"]["uid"]


async def test_create_with_a_version_is_refused(api: CaseApi) -> None:
    obj = config_map("m")
    obj["metadata"]["resourceVersion"] = "1"
    answer = await api.post(CONFIGMAPS, obj)
    answer.refused(500, "", "resourceVersion should not be set on objects to be created")


async def test_versions_grow_across_kinds(api: CaseApi) -> None:
    first = await api.create(CONFIGMAPS, config_map("a"))
    second = await api.create(ROLES, named("b", rules=[]))
    third = await api.create(CONFIGMAPS, config_map("c"))
    versions = [int(obj["metadata"]["resourceVersion"]) for obj in (first, second, third)]
    assert versions == sorted(set(versions))


async def test_get_not_older_than_a_version(api: CaseApi) -> None:
    created = await api.create(CONFIGMAPS, config_map("m", a="1"))
    query = {"resourceVersion": created["metadata"]["resourceVersion"]}
    assert (await api.get(CONFIGMAPS, "m", query=query))["data"] == {"a": "1"}
    assert (await api.get(CONFIGMAPS, "m", query={"resourceVersion": "0"}))["data"] == {"a": "1"}


@dataclass(frozen=True)
class Versioned:
    """One kind that is changed, and where."""

    kind: Kind
    obj: Obj
    change: Obj
    sub: str = ""
    unconditional: bool = False


VERSIONED = {
    "configmaps": Versioned(CONFIGMAPS, config_map("x", a="1"), {"data": {"a": "2"}}, unconditional=True),
    "leases": Versioned(LEASES, named("x", spec={"holderIdentity": "a"}), {"spec": {"holderIdentity": "b"}}),
    "budgets": Versioned(
        PODDISRUPTIONBUDGETS, budget("x"), {"status": {"observedGeneration": 7}}, sub="status"
    ),
}


@without("kubectl", because="kubectl sends versions in ways of its own")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("given", VERSIONED.values(), ids=VERSIONED.keys())
async def test_versions_as_clients_may_write_them(api: CaseApi, given: Versioned, write: str) -> None:
    read = await api.given(given.kind, given.obj)
    path, unconditional = api.at(given.kind, "x", given.sub), given.unconditional
    answers = await answers_to(api.arm, path, write, read, given.change)
    codes = {version: answer.code for version, answer in answers.items()}
    assert codes == {one: code_of(one, write, unconditional=unconditional) for one in VERSIONS}


@without("kubectl", because="kubectl prints no causes")
async def test_errors_of_an_update_are_reported_once(api: CaseApi) -> None:
    await api.given(DEPLOYMENTS, workload("w"))
    patch = {"spec": {"replicas": -1}}
    answer = await api.patch(DEPLOYMENTS, "w", patch)
    answer.refused(422, "Invalid").caused_by(
        ("FieldValueInvalid", "Invalid value: -1: must be greater than or equal to 0")
    )


async def test_putting_something_new_with_a_uid(api: CaseApi) -> None:
    wanted = named("l", meta={"uid": "7"}, spec={"holderIdentity": "me"})
    answer = await api.put(LEASES, wanted)
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/leases/{api.namespace}/l, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: 7, "
        "UID in object meta:"
    )
    answer.refused(409, "Conflict", starting=conflict("leases.coordination.k8s.io", "l", why))


async def test_putting_something_new_with_a_version(api: CaseApi) -> None:
    answer = await api.put(LEASES, named("l", meta={"resourceVersion": "x"}, spec={}))
    answer.refused(500, "")
    wanted = named("l", meta={"resourceVersion": "7"}, spec={})
    tried = (await api.put(LEASES, wanted, query={"dryRun": "All"})).ok(201)
    assert tried["metadata"]["resourceVersion"] == "7"
    (await api.put(LEASES, wanted)).ok(201)


async def test_putting_something_new_does_not_make_it_terminate(api: CaseApi) -> None:
    going = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
    made = (await api.put(LEASES, named("l", meta=going, spec={}))).ok(201)
    assert not going.keys() & made["metadata"].keys()


async def test_nodes_are_stored_under_their_first_name(api: CaseApi) -> None:
    name = api.unique("n")
    await api.given(NODES, named(name))
    answer = await api.put(NODES, named(name, meta={"uid": "7"}))
    why = f"StorageError: invalid object, Code: 4, Key: /registry/minions/{name}, ResourceVersion: 0, "
    answer.refused(409, "Conflict", starting=conflict("nodes", name, why))
