"""pods/eviction: what it asks, what it does, and what it leaves."""

from __future__ import annotations

import asyncio

import pytest

from support.arms.caseapi import CaseApi
from support.arms.eviction import (
    BUDGETS,
    MARK,
    WOULD_VIOLATE,
    allowed_now,
    budgeted,
    evict,
    eviction,
    marks,
    running,
)
from support.arms.marks import CONFORMANCE, without
from support.arms.objects import pod
from vacate.api.kinds import PODS

pytestmark = CONFORMANCE


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
async def test_answers_with_a_status(api: CaseApi, version: str) -> None:
    await running(api)
    answer = await api.ask("POST", PODS, "p", "eviction", eviction(version=version))
    assert (answer.ok(201)["kind"], answer.obj["status"]) == ("Status", "Success")


async def test_is_a_graceful_deletion(api: CaseApi) -> None:
    await running(api, terminationGracePeriodSeconds=44)
    (await evict(api)).ok(201)
    read = await api.get(PODS, "p")
    assert read["metadata"]["deletionGracePeriodSeconds"] == 44
    assert marks(read) == MARK


async def test_takes_delete_options(api: CaseApi) -> None:
    await running(api)
    (await evict(api, gracePeriodSeconds=5)).ok(201)
    assert (await api.get(PODS, "p"))["metadata"]["deletionGracePeriodSeconds"] == 5


async def test_without_grace_removes(api: CaseApi) -> None:
    await running(api)
    (await evict(api, gracePeriodSeconds=0)).ok(201)
    await api.gone(PODS, "p")


async def test_of_another_name(api: CaseApi) -> None:
    await running(api)
    answer = await api.ask("POST", PODS, "p", "eviction", eviction("q"))
    answer.refused(400, "BadRequest", "name in URL does not match name in Eviction object")


async def test_of_a_missing_pod(api: CaseApi) -> None:
    (await evict(api)).refused(404, "NotFound", 'pods "p" not found')


async def test_in_a_version_that_nobody_knows(api: CaseApi) -> None:
    await running(api)
    answer = await api.ask("POST", PODS, "p", "eviction", eviction(version="policy/v2"))
    why = 'no kind "Eviction" is registered for version "policy/v2"'
    start = f'Eviction in version "v2" cannot be handled as a Eviction: {why}'
    answer.refused(400, "BadRequest", starting=start)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_by_another_method(api: CaseApi, method: str) -> None:
    await running(api)
    body = eviction() if method == "PUT" else None
    answer = await api.ask(method, PODS, "p", "eviction", body)
    message = "the server does not allow this method on the requested resource"
    answer.refused(405, "MethodNotAllowed", message)


async def test_with_an_option_that_breaks_clusters(api: CaseApi) -> None:
    await running(api)
    answer = await evict(api, ignoreStoreReadErrorWithClusterBreakingPotential=True)
    field = "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential"
    field_error = (
        f"{field}: Invalid value: true: can not be set for pod eviction, try after removing the option"
    )
    answer.refused(
        422, "Invalid", f'Eviction.policy "p" is invalid: {field_error}', field_errors=[field_error]
    )


@pytest.mark.parametrize(
    ("field", "what", "hint"),
    [
        ("uid", "UID", "The object might have been deleted and then recreated"),
        ("resourceVersion", "ResourceVersion", "The object might have been modified"),
    ],
)
async def test_preconditions(api: CaseApi, field: str, what: str, hint: str) -> None:
    found = (await running(api))["metadata"][field]
    answer = await evict(api, preconditions={field: "1"})
    why = f"the {what} in the precondition (1) does not match the {what} in record ({found}). {hint}"
    answer.refused(409, "Conflict", f'Operation cannot be fulfilled on Pod "p": {why}')
    (await evict(api, preconditions={field: found})).ok(201)


async def test_spends_from_the_budget(api: CaseApi) -> None:
    await running(api)
    await budgeted(api, 2)
    (await evict(api)).ok(201)
    status = (await api.get(BUDGETS, "b"))["status"]
    assert status["disruptionsAllowed"] == 1
    assert list(status["disruptedPods"]) == ["p"]


async def test_the_last_disruption_says_so(api: CaseApi) -> None:
    await running(api)
    await budgeted(api, 1)
    (await evict(api)).ok(201)
    status = (await api.get(BUDGETS, "b"))["status"]
    conditions = {one["type"]: (one["status"], one["reason"]) for one in status["conditions"]}
    assert conditions["DisruptionAllowed"] == ("False", "InsufficientPods")


async def test_a_refused_deletion_has_spent(api: CaseApi) -> None:
    await running(api)
    await budgeted(api, 1)
    (await evict(api, preconditions={"uid": "other"})).refused(409, "Conflict")
    assert await allowed_now(api) == 0
    assert marks(await api.get(PODS, "p")) == []


async def test_ten_at_once_spend_what_is_there(api: CaseApi) -> None:
    names = [f"p{number}" for number in range(10)]
    for name in names:
        await running(api, name)
    await budgeted(api, 3, status={"currentHealthy": 10, "desiredHealthy": 7, "expectedPods": 10})
    answers = await asyncio.gather(*(evict(api, name) for name in names))
    assert sum(not answer.failed for answer in answers) == 3
    for answer in answers:
        if answer.failed:
            answer.refused(429, "TooManyRequests", WOULD_VIOLATE)
    assert await allowed_now(api) == 0


async def test_several_budgets(api: CaseApi) -> None:
    await running(api, ready=False)
    await budgeted(api, 1, "a", spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})
    await budgeted(api, 1, "b", spec={"unhealthyPodEvictionPolicy": "AlwaysAllow"})
    message = (
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    )
    (await evict(api)).refused(500, "", message)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded", "Failed"])
async def test_pods_that_nobody_counts(api: CaseApi, phase: str) -> None:
    held = pod("p", node="n")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.given(PODS, held)
    await api.given_status(PODS, "p", {"phase": phase})
    await budgeted(api, 0, "a")
    await budgeted(api, 0, "b")
    (await evict(api)).ok(201)
    read = await api.get(PODS, "p")
    assert read["metadata"]["deletionTimestamp"]
    assert marks(read) == MARK
    await api.given_patch(PODS, "p", {"metadata": {"finalizers": None}})


async def test_a_pod_that_goes_anyway(api: CaseApi) -> None:
    await running(api)
    await budgeted(api, 0, "a")
    await budgeted(api, 0, "b")
    await api.arm.drop(api.at(PODS, "p"))
    (await evict(api)).ok(201)


async def test_dry_run(api: CaseApi) -> None:
    before = await running(api)
    await budgeted(api, 1)
    (await evict(api, query={"dryRun": "All"})).ok(201)
    (await evict(api, dryRun=["All"])).ok(201)
    read = await api.get(PODS, "p")
    assert read["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert await allowed_now(api) == 1


async def test_dry_run_asks_the_budget(api: CaseApi) -> None:
    await running(api)
    await budgeted(api, 0)
    answer = await evict(api, query={"dryRun": "All"})
    answer.refused(429, "TooManyRequests", WOULD_VIOLATE)


async def test_dry_runs_that_differ(api: CaseApi) -> None:
    await running(api)
    answer = await evict(api, query={"dryRun": "All"}, dryRun=["All", "All"])
    answer.refused(500, "", "Non-matching dry-run options in request and content: [All] and [All All]")


@without("kubectl", because="kubectl waits ten seconds and tries again, ten times")
async def test_a_budget_that_nobody_has_looked_at(api: CaseApi) -> None:
    await running(api)
    await budgeted(api, 1, status={"observedGeneration": 0})
    answer = (await evict(api)).refused(429, "TooManyRequests", WOULD_VIOLATE)
    message = "The disruption budget b is still being processed by the server."
    answer.caused_by(("DisruptionBudget", message))
    assert answer.header("Retry-After") == "10"
    assert answer.details is not None
    assert answer.details["retryAfterSeconds"] == 10


async def test_too_many_unconfirmed(api: CaseApi) -> None:
    await running(api)
    pods = {f"pod-{number}": "2026-01-01T00:00:00Z" for number in range(2001)}
    await budgeted(api, 1, status={"disruptedPods": pods})
    why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
    answer = await evict(api)
    answer.refused(403, "Forbidden", f'poddisruptionbudget.policy "b" is forbidden: {why}')
    cause = "too many pending evictions not confirmed by PDB controller"
    answer.caused_by(
        ("DisruptionBudget", f"The disruption budget b does not allow evicting pods currently: {cause}")
    )


async def test_as_many_unconfirmed_as_may_be(api: CaseApi) -> None:
    await running(api)
    pods = {f"pod-{number}": "2026-01-01T00:00:00Z" for number in range(2000)}
    await budgeted(api, 1, status={"disruptedPods": pods})
    (await evict(api)).ok(201)
