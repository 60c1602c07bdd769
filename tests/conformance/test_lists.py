"""Lists: pages, revisions, and the options that do not fit together."""

from __future__ import annotations

import base64
import json

import pytest

from support.arms.caseapi import CaseApi, names
from support.arms.marks import ALTERS_THE_SERVER, CONFORMANCE, without
from support.arms.objects import config_map
from vacate.api.kinds import CONFIGMAPS

pytestmark = CONFORMANCE

# Real clusters put a config map of their own into every namespace; ours are distinguished by a label.
MINE = {"labelSelector": "mine"}


async def some(api: CaseApi, *wanted: str) -> list[dict[str, object]]:
    return [await api.given(CONFIGMAPS, config_map(name, {"mine": "yes"})) for name in wanted]


def token(**changes: object) -> str:
    content = {"v": "meta.k8s.io/v1", "rv": 1, "start": "a\0", **changes}
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


async def test_items_come_in_order_of_names(api: CaseApi) -> None:
    await some(api, "b", "a", "a-b", "a.b", "c")
    assert names(await api.listed(CONFIGMAPS, MINE)) == ["a", "a-b", "a.b", "b", "c"]


async def test_items_have_no_kind_of_their_own(api: CaseApi) -> None:
    await some(api, "a")
    (item,) = (await api.listed(CONFIGMAPS, MINE))["items"]
    assert "kind" not in item
    assert "apiVersion" not in item


async def test_an_empty_list_has_items(api: CaseApi) -> None:
    listed = await api.listed(CONFIGMAPS, {"labelSelector": "nobodys"})
    assert listed["items"] == []


@pytest.mark.parametrize("size", [1, 2, 3, 5])
async def test_pages(api: CaseApi, size: int) -> None:
    await some(api, "a", "b", "c", "d")
    found: list[str] = []
    query = {"limit": str(size), **MINE}
    versions = set()
    while True:
        page = await api.listed(CONFIGMAPS, query)
        found += names(page)
        versions.add(page["metadata"]["resourceVersion"])
        if not page["metadata"].get("continue"):
            break
        assert len(page["items"]) == size
        query["continue"] = page["metadata"]["continue"]
    assert found == ["a", "b", "c", "d"]
    assert len(versions) == 1


async def test_pages_show_one_moment(api: CaseApi) -> None:
    await some(api, "a", "b", "c")
    first = await api.listed(CONFIGMAPS, {"limit": "1", **MINE})
    await api.arm.drop(api.at(CONFIGMAPS, "b"))
    await some(api, "bb")
    rest = await api.listed(CONFIGMAPS, {"continue": first["metadata"]["continue"], **MINE})
    assert names(first) + names(rest) == ["a", "b", "c"]
    assert first["metadata"]["resourceVersion"] == rest["metadata"]["resourceVersion"]


async def test_remaining_items_are_counted_without_a_selector(api: CaseApi) -> None:
    await some(api, "a", "b", "c")
    whole = await api.listed(CONFIGMAPS)
    page = await api.listed(CONFIGMAPS, {"limit": "1"})
    assert page["metadata"]["remainingItemCount"] == len(whole["items"]) - 1


async def test_remaining_items_are_not_counted_with_a_selector(api: CaseApi) -> None:
    await some(api, "a", "b", "c")
    page = await api.listed(CONFIGMAPS, {"limit": "1", **MINE})
    assert page["metadata"]["continue"]
    assert "remainingItemCount" not in page["metadata"]


async def test_exactly_at_a_revision(api: CaseApi) -> None:
    _, second = await some(api, "a", "b")
    await some(api, "c")
    version = str(second["metadata"]["resourceVersion"])  # type: ignore[index]
    query = {"resourceVersion": version, "resourceVersionMatch": "Exact", **MINE}
    listed = await api.listed(CONFIGMAPS, query)
    assert names(listed) == ["a", "b"]
    assert listed["metadata"]["resourceVersion"] == version


async def test_exactly_at_a_revision_shows_old_states(api: CaseApi) -> None:
    (first,) = await some(api, "a")
    await api.given_patch(CONFIGMAPS, "a", {"data": {"k": "new"}})
    version = str(first["metadata"]["resourceVersion"])  # type: ignore[index]
    listed = await api.listed(
        CONFIGMAPS, {"resourceVersion": version, "resourceVersionMatch": "Exact", **MINE}
    )
    assert "data" not in listed["items"][0]


async def test_not_older_than_a_revision(api: CaseApi) -> None:
    (first,) = await some(api, "a")
    version = str(first["metadata"]["resourceVersion"])  # type: ignore[index]
    query = {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan", **MINE}
    listed = await api.listed(CONFIGMAPS, query)
    assert names(listed) == ["a"]
    assert int(listed["metadata"]["resourceVersion"]) >= int(version)


@pytest.mark.parametrize("match", ["", "NotOlderThan"], ids=["plain", "not-older"])
async def test_any_revision(api: CaseApi, match: str) -> None:
    await some(api, "a")
    query = {"resourceVersion": "0", **({"resourceVersionMatch": match} if match else {})}
    assert (await api.listed(CONFIGMAPS, {**query, **MINE}))["kind"] == "ConfigMapList"


@without("kubectl", because="kubectl tries again for a long time when it is asked to come back in a second")
async def test_a_revision_of_the_future(api: CaseApi) -> None:
    future = str(int(await api.version(CONFIGMAPS)) + 1_000_000)
    answer = await api.ask("GET", CONFIGMAPS, query={"resourceVersion": future})
    answer.refused(504, "Timeout", starting=f"Timeout: Too large resource version: {future}, current: ")
    answer.caused_by(("ResourceVersionTooLarge", "Too large resource version"))
    assert answer.header("Retry-After") == "1"


async def test_a_revision_that_is_no_number(api: CaseApi) -> None:
    answer = await api.ask("GET", CONFIGMAPS, query={"resourceVersion": "x"})
    answer.refused(
        400, "BadRequest", starting='invalid resource version: resourceVersion: Invalid value: "x": '
    )


FORBIDDEN = "resourceVersionMatch: Forbidden: "
UNKNOWN_MATCH = (
    'resourceVersionMatch: Unsupported value: "Latest": supported values: "Exact", "NotOlderThan", ""'
)
WRONG_OPTIONS = {
    "match-alone": (
        {"resourceVersionMatch": "Exact"},
        [f"{FORBIDDEN}resourceVersionMatch is forbidden unless resourceVersion is provided"],
    ),
    "exact-zero": (
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        [f'{FORBIDDEN}resourceVersionMatch "exact" is forbidden for resourceVersion "0"'],
    ),
    "unknown-match": (
        {"resourceVersionMatch": "Latest", "resourceVersion": "1"},
        [UNKNOWN_MATCH],
    ),
    "match-and-continue": (
        {"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1", "continue": "x"},
        [f"{FORBIDDEN}resourceVersionMatch is forbidden when continue is provided"],
    ),
    "initial-events": (
        {"sendInitialEvents": "true"},
        ["sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"],
    ),
    "two-at-once": (
        {"resourceVersionMatch": "Latest"},
        [
            f"{FORBIDDEN}resourceVersionMatch is forbidden unless resourceVersion is provided",
            UNKNOWN_MATCH,
        ],
    ),
}


@pytest.mark.parametrize("case", WRONG_OPTIONS)
async def test_options_that_do_not_fit(api: CaseApi, case: str) -> None:
    query, field_errors = WRONG_OPTIONS[case]
    answer = await api.ask("GET", CONFIGMAPS, query=query)
    listed = field_errors[0] if len(field_errors) == 1 else f"[{', '.join(field_errors)}]"
    answer.refused(
        422, "Invalid", f'ListOptions.meta.k8s.io "" is invalid: {listed}', field_errors=field_errors
    )


BAD_TOKEN = "invalid continue token: continue key is not valid"
BAD_TOKENS = {
    "no-base64": ("!", BAD_TOKEN),
    "no-json": ("eA", BAD_TOKEN),
    "no-revision": (
        token(rv=0),
        f"{BAD_TOKEN}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    ),
    "no-start": (token(start=""), f"{BAD_TOKEN}: encoded start key empty (version meta.k8s.io/v1)"),
    "other-version": (
        token(v="meta.k8s.io/v9"),
        f"{BAD_TOKEN}: server does not recognize this encoded version",
    ),
    "upwards": (token(start="../../secrets/x"), f"{BAD_TOKEN}: ../../secrets/x"),
}


@pytest.mark.parametrize("case", BAD_TOKENS)
async def test_bad_continue_tokens(api: CaseApi, case: str) -> None:
    text, message = BAD_TOKENS[case]
    answer = await api.ask("GET", CONFIGMAPS, query={"limit": "1", "continue": text})
    answer.refused(400, "BadRequest", starting=message)


async def test_continue_with_a_revision(api: CaseApi) -> None:
    await some(api, "a", "b")
    page = await api.listed(CONFIGMAPS, {"limit": "1"})
    query = {"continue": page["metadata"]["continue"], "resourceVersion": page["metadata"]["resourceVersion"]}
    answer = await api.ask("GET", CONFIGMAPS, query=query)
    answer.refused(400, "BadRequest", "specifying resource version is not allowed when using continue")


@ALTERS_THE_SERVER
async def test_an_expired_continue_token(api: CaseApi) -> None:
    await some(api, "a", "b", "c")
    page = await api.listed(CONFIGMAPS, {"limit": "1"})
    await some(api, "d")
    await api.arm.forget_history()
    answer = await api.ask("GET", CONFIGMAPS, query={"continue": page["metadata"]["continue"]})
    answer.refused(
        410, "Expired", starting="The provided continue parameter is too old to display a consistent list"
    )
    if answer.obj:
        rest = await api.listed(CONFIGMAPS, {"continue": answer.obj["metadata"]["continue"]})
        assert names(rest) == ["b", "c", "d"]


@ALTERS_THE_SERVER
async def test_an_expired_revision(api: CaseApi) -> None:
    version = await api.version(CONFIGMAPS)
    await some(api, "a")
    await api.arm.forget_history()
    query = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    answer = await api.ask("GET", CONFIGMAPS, query=query)
    answer.refused(410, "Expired", "The resourceVersion for the provided list is too old.")


async def test_limit_that_is_no_number(api: CaseApi) -> None:
    answer = await api.ask("GET", CONFIGMAPS, query={"limit": "many"})
    answer.refused(400, "BadRequest")
