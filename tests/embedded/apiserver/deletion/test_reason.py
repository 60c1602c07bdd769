"""`DeleteOptions.reason` becomes `metadata.reason` when the deletion of a pod begins, and stays."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.embedded import POD_PATH, Embedded, a_pod, embedded
from vacate.api.kinds import CONFIGMAPS, PODS
from vacate.api.objects import Obj
from vacate.api.terminationreason import MAX_BYTES, clean_reason, reason_complaints
from vacate.features import parse_feature_gates

pytestmark = pytest.mark.unit

MERGE = "application/merge-patch+json"
WHY = "resolve issue 354961"


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        await one.seed(PODS, a_pod())
        yield one


def metadata(server: Embedded, name: str = "p") -> Obj:
    found = server.stored(PODS, name)
    assert found is not None
    meta: Obj = found["metadata"]
    return meta


async def created(server: Embedded, name: str) -> None:
    """A whole pod, that updates can be made of, on a node."""
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    assert (await server.ask("POST", POD_PATH, {"metadata": {"name": name}, "spec": spec})).code == 201


def an_eviction(**options: object) -> Obj:
    meta = {"name": "p", "namespace": "d"}
    return {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": meta, "deleteOptions": options}


async def test_a_delete_with_a_reason(server: Embedded) -> None:
    answer = await server.ask("DELETE", f"{POD_PATH}/p", {"reason": WHY})
    assert (answer.code, answer.body["metadata"]["reason"]) == (200, WHY)
    assert metadata(server)["reason"] == WHY


async def test_a_reason_in_the_query(server: Embedded) -> None:
    await server.ask("DELETE", f"{POD_PATH}/p", query={"reason": WHY})
    assert metadata(server)["reason"] == WHY


async def test_without_a_reason_there_is_none(server: Embedded) -> None:
    await server.ask("DELETE", f"{POD_PATH}/p", {"reason": ""})
    assert "reason" not in metadata(server)


async def test_a_collection_with_a_reason(server: Embedded) -> None:
    await server.seed(PODS, a_pod(meta={"name": "q", "uid": "u-q"}))
    await server.ask("DELETE", POD_PATH, {"reason": WHY})
    assert [metadata(server, name)["reason"] for name in "pq"] == [WHY, WHY]


async def test_an_eviction_is_a_reason_unless_it_says_another(server: Embedded) -> None:
    await server.seed(PODS, a_pod(meta={"name": "q", "uid": "u-q"}))
    assert (await server.ask("POST", f"{POD_PATH}/p/eviction", an_eviction())).code == 201
    assert metadata(server)["reason"] == "Eviction"
    other = an_eviction(reason=WHY) | {"metadata": {"name": "q", "namespace": "d"}}
    assert (await server.ask("POST", f"{POD_PATH}/q/eviction", other)).code == 201
    assert metadata(server, "q")["reason"] == WHY


async def test_a_dry_run_changes_nothing(server: Embedded) -> None:
    await server.ask("DELETE", f"{POD_PATH}/p", {"reason": WHY, "dryRun": ["All"]})
    await server.ask("POST", f"{POD_PATH}/p/eviction", an_eviction(dryRun=["All"]))
    assert "reason" not in metadata(server)


@pytest.mark.parametrize("first", ["", WHY])
async def test_the_first_reason_stays_even_where_it_is_none(server: Embedded, first: str) -> None:
    await server.ask("DELETE", f"{POD_PATH}/p", {"reason": first})
    await server.ask("DELETE", f"{POD_PATH}/p", {"reason": "another", "gracePeriodSeconds": 1})
    assert metadata(server).get("reason", "") == first
    assert metadata(server)["deletionGracePeriodSeconds"] == 1


async def test_no_client_takes_it_away_or_changes_it(server: Embedded) -> None:
    await created(server, "q")
    path = f"{POD_PATH}/q"
    await server.ask("DELETE", path, {"reason": WHY})
    change = {"metadata": {"reason": None, "labels": {"a": "b"}}}
    kept = await server.ask("PATCH", path, change, content_type=MERGE)
    assert (kept.code, metadata(server, "q")["reason"]) == (200, WHY)
    for where in (path, f"{path}/status"):
        refused = await server.ask("PATCH", where, {"metadata": {"reason": "mine"}}, content_type=MERGE)
        assert refused.code == 422, where
    assert metadata(server, "q")["reason"] == WHY


async def test_watchers_of_a_forced_deletion_see_it(server: Embedded) -> None:
    answer = await server.ask("DELETE", f"{POD_PATH}/p", {"reason": WHY, "gracePeriodSeconds": 0})
    assert answer.body["metadata"]["reason"] == WHY
    assert server.stored(PODS, "p") is None


async def test_other_kinds_take_no_notice(server: Embedded) -> None:
    held = {"metadata": {"name": "m", "namespace": "d", "uid": "u", "finalizers": ["a.b/c"]}}
    await server.seed(CONFIGMAPS, held)
    await server.ask("DELETE", f"{CONFIGMAPS.collection_path('d')}/m", {"reason": WHY})
    left = server.stored(CONFIGMAPS, "m")
    assert left is not None
    assert "deletionTimestamp" in left["metadata"]
    assert "reason" not in left["metadata"]


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("a\nb", "one line"),
        ("a\r\nSet-Cookie: b", "one line"),
        ("a\0b", "one line"),
        ("a\x1b[31mb", "one line"),
        ("abc\u202edef", "one line"),
        ("a\u2028b", "one line"),
        (" a", "begin or end"),
        ("--all", "option"),
        ("a" * (MAX_BYTES + 1), "1024 bytes"),
        ("ä" * (MAX_BYTES // 2 + 1), "1024 bytes"),
    ],
)
async def test_a_reason_that_could_do_harm_is_refused(server: Embedded, reason: str, why: str) -> None:
    for method, path, body in (
        ("DELETE", f"{POD_PATH}/p", {"reason": reason}),
        ("DELETE", POD_PATH, {"reason": reason}),
        ("POST", f"{POD_PATH}/p/eviction", an_eviction(reason=reason)),
    ):
        answer = await server.ask(method, path, body)
        assert (answer.code, answer.body["details"]["causes"][0]["field"]) == (422, "reason"), path
        assert why in answer.body["message"]
    assert "deletionTimestamp" not in metadata(server)
    assert reason_complaints(clean_reason(reason)) == []


async def test_a_refused_eviction_spends_nothing(server: Embedded) -> None:
    before = server.store.revision
    assert (await server.ask("POST", f"{POD_PATH}/p/eviction", an_eviction(reason="a\nb"))).code == 422
    assert server.store.revision == before


async def test_a_reason_is_a_text(server: Embedded) -> None:
    answer = await server.ask("DELETE", f"{POD_PATH}/p", {"reason": 5})
    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")


async def test_people_may_write_in_their_language(server: Embedded) -> None:
    await server.ask("DELETE", f"{POD_PATH}/p", {"reason": "Wartung läuft, 保守 100% $(PATH) `id`"})
    assert metadata(server)["reason"] == "Wartung läuft, 保守 100% $(PATH) `id`"


async def test_gate_off_it_is_dropped_and_kept_where_it_is(server: Embedded) -> None:
    await created(server, "q")
    await server.ask("DELETE", f"{POD_PATH}/q", {"reason": WHY})
    server.storage.gates = parse_feature_gates("PodTerminationReason=false")
    await server.ask("DELETE", f"{POD_PATH}/p", {"reason": "a\nb"})
    assert "deletionTimestamp" in metadata(server)
    assert "reason" not in metadata(server)
    change = {"metadata": {"labels": {"a": "b"}}}
    assert (await server.ask("PATCH", f"{POD_PATH}/q", change, content_type=MERGE)).code == 200
    assert metadata(server, "q")["reason"] == WHY
