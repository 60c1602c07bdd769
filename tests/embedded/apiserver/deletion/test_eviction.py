"""POST pods/NAME/eviction through the server: the whole list of answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.embedded import POD_PATH, Answer, Embedded, a_budget, a_pod, embedded, namespace
from vacate.api.kinds import NAMESPACES, PODDISRUPTIONBUDGETS, PODS
from vacate.api.objects import Obj

pytestmark = pytest.mark.unit

STAMP = "2026-03-01T12:00:00Z"
VIOLATE = "Cannot evict pod as it would violate the pod's disruption budget."
SUCCESS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
UNREADY = {"conditions": [{"type": "Ready", "status": "False"}]}


@pytest.fixture
async def server() -> AsyncIterator[Embedded]:
    async with embedded() as one:
        yield one


def an_eviction(name: str = "p", *, version: str = "policy/v1", **options: Any) -> Obj:
    body: Obj = {"kind": "Eviction", "apiVersion": version, "metadata": {"name": name, "namespace": "d"}}
    if options:
        body["deleteOptions"] = options
    return body


async def evict(server: Embedded, body: Any = None, *, name: str = "p", **query: str) -> Answer:
    sent = an_eviction(name) if body is None else body
    return await server.ask("POST", f"{POD_PATH}/{name}/eviction", sent, query=query)


def found(server: Embedded, name: str = "p") -> Obj:
    obj = server.stored(PODS, name)
    assert obj is not None
    return obj


def budget(server: Embedded) -> Obj:
    obj = server.stored(PODDISRUPTIONBUDGETS, "b")
    assert obj is not None
    status: Obj = obj["status"]
    return status


def mark(pod: Obj) -> Obj | None:
    conditions = pod["status"].get("conditions", [])
    return next((one for one in conditions if one["type"] == "DisruptionTarget"), None)


# Success


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1", ""])
async def test_an_eviction_marks_and_deletes(server: Embedded, version: str) -> None:
    await server.seed(PODS, a_pod())
    revision = server.store.revision
    body = an_eviction(version=version) if version else {"metadata": {"name": "p"}}
    answer = await evict(server, body)
    assert (answer.code, answer.body) == (201, SUCCESS)
    pod = found(server)
    assert mark(pod) == {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": STAMP,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    assert pod["metadata"]["deletionTimestamp"] == "2026-03-01T12:00:30Z"
    changes = await server.changes(PODS, revision)
    assert [("deletionTimestamp" in obj["metadata"], mark(obj) is not None) for _, obj in changes] == [
        (False, True),
        (True, True),
    ]


async def test_the_grace_of_the_eviction_counts(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    assert (await evict(server, an_eviction(gracePeriodSeconds=4))).code == 201
    assert found(server)["metadata"]["deletionGracePeriodSeconds"] == 4


async def test_an_eviction_without_grace_removes(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    revision = server.store.revision
    assert (await evict(server, an_eviction(gracePeriodSeconds=0))).code == 201
    assert server.stored(PODS, "p") is None
    changes = await server.changes(PODS, revision)
    assert [kind for kind, _ in changes] == ["MODIFIED", "MODIFIED", "DELETED"]


async def test_the_budget_is_spent_before_the_pod_goes(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=1))
    assert (await evict(server)).code == 201
    status = budget(server)
    assert (status["disruptionsAllowed"], status["disruptedPods"]) == (0, {"p": STAMP})
    (condition,) = status["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")
    spent = server.stored(PODDISRUPTIONBUDGETS, "b")
    assert spent is not None
    pod_version = found(server)["metadata"]["resourceVersion"]
    assert int(spent["metadata"]["resourceVersion"]) < int(pod_version)
    assert spent["metadata"]["generation"] == 1


# Refusals before anything is asked


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (an_eviction("q"), "name in URL does not match name in Eviction object"),
        ({"metadata": {}}, "name in URL does not match name in Eviction object"),
        (
            {"metadata": {"name": "p", "namespace": "other"}},
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            an_eviction(version="policy/v2"),
            (
                'Eviction in version "v2" cannot be handled as a Eviction: no kind "Eviction" is '
                'registered for version "policy/v2"'
            ),
        ),
        (
            {"metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": "x"}},
            "gracePeriodSeconds: expected",
        ),
        ({"metadata": {"name": 3}}, 'Eviction in version "v1" cannot be handled as a Eviction: '),
        ([], "couldn't get version/kind; json parse error"),
        (b"{", "couldn't get version/kind; json parse error"),
    ],
)
async def test_bad_requests(server: Embedded, body: Any, message: str) -> None:
    await server.seed(PODS, a_pod())
    revision = server.store.revision
    answer = await evict(server, body)
    assert (answer.code, answer.body["reason"]) == (400, "BadRequest")
    assert message in answer.message
    assert server.store.revision == revision


async def test_a_missing_pod(server: Embedded) -> None:
    answer = await evict(server)
    assert (answer.code, answer.message) == (404, 'pods "p" not found')


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
async def test_other_methods(server: Embedded, method: str) -> None:
    await server.seed(PODS, a_pod())
    answer = await server.ask(method, f"{POD_PATH}/p/eviction", an_eviction())
    assert (answer.code, answer.body["reason"]) == (405, "MethodNotAllowed")


async def test_the_unsafe_option_is_invalid(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    answer = await evict(server, an_eviction(ignoreStoreReadErrorWithClusterBreakingPotential=True))
    assert answer.code == 422
    assert answer.message == (
        'Eviction.policy "p" is invalid: deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: '
        "Invalid value: true: can not be set for pod eviction, try after removing the option"
    )


async def test_a_namespace_on_its_way_out(server: Embedded) -> None:
    await server.seed(NAMESPACES, namespace("t", phase="Terminating"))
    body = {"metadata": {"name": "p", "namespace": "t"}}
    answer = await server.ask("POST", "/api/v1/namespaces/t/pods/p/eviction", body)
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == (
        'pods "p" is forbidden: unable to create new content in namespace t because it is being terminated'
    )
    assert answer.body["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace t is being terminated",
            "field": "metadata.namespace",
        }
    ]


async def test_a_namespace_that_is_not_there(server: Embedded) -> None:
    answer = await server.ask("POST", "/api/v1/namespaces/no/pods/p/eviction", {"metadata": {"name": "p"}})
    assert (answer.code, answer.message) == (404, 'namespaces "no" not found')


# Preconditions


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded"])
@pytest.mark.parametrize("wanted", [{"uid": "other"}, {"resourceVersion": "1"}])
async def test_preconditions_conflict(server: Embedded, wanted: Obj, phase: str) -> None:
    await server.seed(PODS, a_pod(status={"phase": phase}))
    answer = await evict(server, an_eviction(preconditions=wanted))
    assert (answer.code, answer.body["reason"]) == (409, "Conflict")
    assert answer.message.startswith('Operation cannot be fulfilled on Pod "p": the ')
    assert answer.body["details"] == {"name": "p", "kind": "Pod"}
    assert mark(found(server)) is None


async def test_preconditions_that_hold(server: Embedded) -> None:
    pod = await server.seed(PODS, a_pod())
    wanted = {"uid": "uid-p", "resourceVersion": pod["metadata"]["resourceVersion"]}
    assert (await evict(server, an_eviction(preconditions=wanted))).code == 201
    assert "deletionTimestamp" in found(server)["metadata"]


async def test_a_refused_deletion_leaves_the_budget_spent(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=1))
    assert (await evict(server, an_eviction(preconditions={"uid": "other"}))).code == 409
    assert "deletionTimestamp" not in found(server)["metadata"]
    assert budget(server)["disruptedPods"] == {"p": STAMP}
    assert (await evict(server)).code == 429


async def test_a_conflict_over_an_unready_pod_asks_to_wait(server: Embedded) -> None:
    await server.seed(PODS, a_pod(status=UNREADY))
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=0))
    answer = await evict(server, an_eviction(preconditions={"uid": "other"}))
    assert (answer.code, answer.headers["Retry-After"]) == (429, "10")
    assert budget(server)["disruptionsAllowed"] == 0


# The budget says no


async def test_a_spent_budget(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=0, status={"currentHealthy": 2}))
    revision = server.store.revision
    answer = await evict(server)
    assert (answer.code, answer.body["reason"], answer.message) == (429, "TooManyRequests", VIOLATE)
    assert "Retry-After" not in answer.headers
    assert answer.body["details"] == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget b needs 2 healthy pods and has 2 currently",
            }
        ]
    }
    assert server.store.revision == revision


async def test_a_budget_that_was_not_seen_yet(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(meta={"generation": 2}))
    answer = await evict(server)
    assert (answer.code, answer.headers["Retry-After"]) == (429, "10")
    assert answer.body["details"]["retryAfterSeconds"] == 10


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"disruptionsAllowed": -1}, "pdb disruptions allowed is negative"),
        (
            {"disruptedPods": {f"x{number}": STAMP for number in range(2001)}},
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ),
    ],
)
async def test_budgets_that_are_out_of_order(server: Embedded, status: Obj, why: str) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(status=status))
    answer = await evict(server)
    assert (answer.code, answer.body["reason"]) == (403, "Forbidden")
    assert answer.message == f'poddisruptionbudget.policy "b" is forbidden: {why}'
    assert [one["reason"] for one in answer.body["details"]["causes"]] == ["DisruptionBudget"]


@pytest.mark.parametrize("policy", [{}, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}])
@pytest.mark.parametrize("status", [{}, UNREADY])
async def test_two_budgets(server: Embedded, policy: Obj, status: Obj) -> None:
    await server.seed(PODS, a_pod(status=status))
    for name in ("b", "c"):
        await server.seed(PODDISRUPTIONBUDGETS, a_budget(name, spec=policy))
    answer = await evict(server)
    assert answer.code == 500
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": (
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        ),
        "code": 500,
    }


async def test_budgets_of_other_namespaces_and_selectors_do_not_count(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    elsewhere = {"meta": {"namespace": "e"}, "allowed": 0}
    broken = {"matchExpressions": [{"key": "app", "operator": "Sideways"}]}
    await server.seed(PODDISRUPTIONBUDGETS, a_budget("elsewhere", **elsewhere))  # type: ignore[arg-type]
    await server.seed(PODDISRUPTIONBUDGETS, a_budget("broken", allowed=0, spec={"selector": broken}))
    await server.seed(PODDISRUPTIONBUDGETS, a_budget("none", allowed=0, spec={"selector": None}))
    await server.seed(PODDISRUPTIONBUDGETS, a_budget("b", spec={"selector": {}}))
    assert (await evict(server)).code == 201
    assert budget(server)["disruptedPods"] == {"p": STAMP}


# Who does not ask


@pytest.mark.parametrize(
    "changes",
    [
        {"status": {"phase": "Pending"}},
        {"status": {"phase": "Succeeded"}},
        {"status": {"phase": "Failed"}},
        {"meta": {"deletionTimestamp": "2026-03-01T12:00:20Z", "deletionGracePeriodSeconds": 30}},
    ],
)
@pytest.mark.parametrize("budgets", [1, 2])
async def test_pods_that_bypass_budgets(server: Embedded, changes: Obj, budgets: int) -> None:
    await server.seed(PODS, a_pod(**changes))
    for name in ("b", "c")[:budgets]:
        await server.seed(PODDISRUPTIONBUDGETS, a_budget(name, allowed=0))
    assert (await evict(server)).code == 201
    assert "disruptedPods" not in budget(server)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Running"])
async def test_pods_that_finalizers_hold_get_the_mark(server: Embedded, phase: str) -> None:
    await server.seed(PODS, a_pod(meta={"finalizers": ["example.com/hold"]}, status={"phase": phase}))
    assert (await evict(server)).code == 201
    pod = found(server)
    assert mark(pod) is not None
    assert pod["metadata"]["deletionGracePeriodSeconds"] == (30 if phase == "Running" else 0)


async def test_a_terminating_pod_is_evicted_again_without_a_write(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    await evict(server)
    revision = server.store.revision
    server.clock.move(2)
    assert (await evict(server)).code == 201
    assert server.store.revision == revision


@pytest.mark.parametrize(
    ("policy", "current", "code"),
    [
        ("AlwaysAllow", 0, 201),
        ("IfHealthyBudget", 2, 201),
        (None, 2, 201),
        ("IfHealthyBudget", 1, 429),
        (None, 1, 429),
    ],
)
async def test_unready_pods(server: Embedded, policy: str | None, current: int, code: int) -> None:
    spec = {"unhealthyPodEvictionPolicy": policy} if policy else {}
    await server.seed(PODS, a_pod(status=UNREADY))
    counts = {"currentHealthy": current}
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=0, spec=spec, status=counts))
    assert (await evict(server)).code == code
    assert "disruptedPods" not in budget(server)
    assert ("deletionTimestamp" in found(server)["metadata"]) is (code == 201)


# Dry runs


@pytest.mark.parametrize("dry", [{"options": {"dryRun": ["All"]}}, {"query": {"dryRun": "All"}}])
async def test_a_dry_run_checks_and_writes_nothing(server: Embedded, dry: Obj) -> None:
    await server.seed(PODS, a_pod())
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=1))
    revision = server.store.revision
    body, query = an_eviction(**dry.get("options", {})), dry.get("query", {})
    for _ in range(3):
        assert (await evict(server, body, **query)).code == 201
    assert server.store.revision == revision


async def test_a_dry_run_asks_the_budget_and_preconditions(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    assert (await evict(server, an_eviction(preconditions={"uid": "x"}), dryRun="All")).code == 409
    await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=0))
    assert (await evict(server, dryRun="All")).code == 429


async def test_dry_runs_that_differ(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    answer = await evict(server, an_eviction(dryRun=["All", "All"]), dryRun="All")
    assert answer.code == 500
    assert answer.message == "Non-matching dry-run options in request and content: [All] and [All All]"


async def test_a_dry_run_that_is_not_known(server: Embedded) -> None:
    await server.seed(PODS, a_pod())
    answer = await evict(server, an_eviction(dryRun=["Some"]))
    assert answer.code == 422
    assert 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value' in answer.message


# Many at once


async def test_ten_at_once_spend_exactly_what_there_is() -> None:
    async with embedded(slow=3) as server:
        await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=4))
        for number in range(10):
            await server.seed(PODS, a_pod(f"p{number}"))
        answers = await asyncio.gather(*(evict(server, name=f"p{number}") for number in range(10)))
        assert sorted(answer.code for answer in answers) == [201] * 4 + [429] * 6
        status = budget(server)
        assert status["disruptionsAllowed"] == 0
        assert len(status["disruptedPods"]) == 4
        gone = [f"p{number}" for number in range(10) if answers[number].code == 201]
        assert sorted(status["disruptedPods"]) == gone
        for number in range(10):
            pod = found(server, f"p{number}")
            assert ("deletionTimestamp" in pod["metadata"]) is (f"p{number}" in gone)


async def test_one_pod_evicted_ten_times_at_once_spends_once() -> None:
    async with embedded(slow=3) as server:
        await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=5))
        await server.seed(PODS, a_pod())
        answers = await asyncio.gather(*(evict(server) for _ in range(10)))
        assert [answer.code for answer in answers] == [201] * 10
        assert budget(server)["disruptionsAllowed"] == 4


async def test_a_failing_disk_acknowledges_nothing() -> None:
    async with embedded() as server:
        await server.seed(PODDISRUPTIONBUDGETS, a_budget(allowed=5))
        await server.seed(PODS, a_pod())
        server.log.fail_after(0)
        answer = await evict(server)
        assert answer.code == 503
        assert "deletionTimestamp" not in found(server)["metadata"]
        assert "disruptedPods" not in budget(server)
