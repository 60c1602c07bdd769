"""Admission on a stock API server: the webhook up, down, slow, restarted, and with an expired certificate."""

from __future__ import annotations

import base64
import datetime as dt
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from support.arms import objects as make
from support.arms.arm import MERGE_PATCH, As, Obj
from support.oddversions import WRITES, check_forms, check_request
from support.processes.webhook import WebhookProcess
from support.realcluster.definitions import until
from support.realcluster.webhook import HERE, NAMESPACE, PREFIX, STRANGER, Plane, admitting, control_plane
from vacate.admission.pods.forcedeletion import ENABLED, GUARD_LABEL
from vacate.api.identity import INSTALLED_CONTROLLER, MASTERS
from vacate.api.kinds import EVENTS, NAMESPACES, PODS, SECRETS
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.times import format_time
from vacate.clock import SystemClock
from vacate.eviction.callers import CALLERS
from vacate.pki.issue import KeyPair, new_authority, new_server
from vacate.webhook.certificates.rotator import CONFIGURATIONS

pytestmark = [
    pytest.mark.kube,
    pytest.mark.xdist_group("webhook"),
    pytest.mark.asyncio(loop_scope="module"),
]

STAMP = "vacate.dev/admitted"
FORCE: Obj = {"gracePeriodSeconds": 0}
TAINT_EVICTION = As("system:serviceaccount:kube-system:node-controller", (MASTERS,))
STATEFUL_SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s", "controller": True}
SECRET = SECRETS.object_path("vacate-webhook-tls", NAMESPACE)


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with control_plane(tmp_path_factory.mktemp("plane")) as path:
        yield path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def plane(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Plane]:
    async with admitting(kubeconfig, tmp_path_factory.mktemp("webhook")) as plane:
        yield plane


def later(**span: float) -> str:
    return format_time(SystemClock().now() + dt.timedelta(**span))


async def bundles(plane: Plane) -> list[bytes]:
    found = []
    for kind, name in CONFIGURATIONS:
        configuration = (await plane.arm.call("GET", kind.object_path(name))).ok()
        found += [hook["clientConfig"].get("caBundle", "") for hook in configuration["webhooks"]]
    return [base64.b64decode(one) for one in found]


async def configure(plane: Plane, change: Obj) -> None:
    """The same change in every webhook of both configurations."""
    for kind, name in CONFIGURATIONS:
        path = kind.object_path(name)
        hooks = (await plane.arm.call("GET", path)).ok()["webhooks"]
        client = change.get("clientConfig", {})
        changed = [{**hook, **change, "clientConfig": {**hook["clientConfig"], **client}} for hook in hooks]
        await plane.arm.given("PATCH", path, {"webhooks": changed}, content_type=MERGE_PATCH)


async def test_up(plane: Plane) -> None:
    async with plane.answering():
        annotations = {
            f"{PREFIX}/priority_first.example.com": "20",
            f"{PREFIX}/priority_last.example.com": "3",
        }
        pod = (await plane.pod("up", annotations)).ok(201)
        made = (await plane.request(pod)).ok(201)
        assert made["spec"]["interceptors"] == [{"name": "last.example.com"}, {"name": "first.example.com"}]
        assert made["metadata"]["labels"] == {"app": "web"}
        assert made["metadata"]["annotations"][STAMP] == "true"
        assert made["status"] == {"message": "", "evictionRequestCancellationPolicy": "Allow"}

        denied = 'admission webhook "evictionrequests.mutate.vacate.dev" denied the request: '
        answer = await plane.ask(
            {"type": "Hard", "requesters": [{"name": "A"}], "heartbeatDeadlineSeconds": 5}
        )
        answer.refused(422, "Invalid", starting=denied)
        assert answer.details is not None
        assert [one["field"] for one in answer.details["causes"]] == [
            "spec.type",
            "spec.heartbeatDeadlineSeconds",
            "spec.target.podRef.name",
        ]

        there, nowhere = await plane.request(pod, STRANGER), await plane.ask({}, STRANGER)
        for refused in (there, nowhere):
            refused.refused(403, "Forbidden", starting=denied)
            assert 'User "stranger" cannot delete resource "pods"' in (refused.message or "")
        (await plane.patch(made, {"spec": {"requesters": []}}, STRANGER)).refused(403, "Forbidden")

        stale = {"metadata": {"resourceVersion": "1"}, "spec": {"type": "Hard"}}
        (await plane.patch(made, stale)).refused(409, "Conflict")
        (await plane.patch(made, {"spec": {"type": "Hard"}})).refused(422, "Invalid")
        stripped = (await plane.patch(made, {"metadata": {"annotations": {STAMP: None}}})).ok()
        assert stripped["metadata"]["annotations"][STAMP] == "true"


async def test_steps_of_the_status(plane: Plane) -> None:
    async with plane.answering():
        pod = (await plane.pod("steps", {f"{PREFIX}/priority_a.example.com": "1"})).ok(201)
        made = (await plane.request(pod)).ok(201)
        turn = {"activeInterceptorName": "a.example.com", "heartbeatTime": later(minutes=5)}
        early = await plane.patch(made, {"status": turn})
        early.refused(422, "Invalid")
        assert "may not be more than 10 seconds in the future" in (early.message or "")
        turn["heartbeatTime"] = later()
        foreign = await plane.patch(made, {"status": turn})
        foreign.refused(422, "Invalid")
        assert "status.activeInterceptorName: Forbidden: written by the eviction request controller" in (
            foreign.message or ""
        )
        manager = As(INSTALLED_CONTROLLER, (MASTERS,))
        status = KIND.object_path(made["metadata"]["name"], HERE, "status")
        body = {"status": turn}
        (await plane.arm.call("PATCH", status, body=body, content_type=MERGE_PATCH, as_user=manager)).ok()
        (await plane.patch(made, {"status": {"evictionRequestCancellationPolicy": "Forbid"}})).ok()

        path = KIND.object_path(made["metadata"]["name"], HERE)
        guarded = await plane.arm.call("DELETE", path)
        guarded.refused(403, "Forbidden")
        assert 'the eviction goes on as long as pod "steps" has not ended' in (guarded.message or "")
        (
            await plane.arm.call("DELETE", PODS.object_path("steps", HERE), query={"gracePeriodSeconds": "0"})
        ).ok()
        (await plane.arm.call("DELETE", path)).ok()


@pytest.mark.parametrize("write", [*WRITES, "apply"])
async def test_no_version_passes_the_rules(plane: Plane, write: str) -> None:
    async with plane.answering():
        pod = (await plane.pod(f"odd-{write}", {f"{PREFIX}/priority_a.example.com": "1"})).ok(201)
        made = (await plane.request(pod)).ok(201)
        await check_request(plane.arm, KIND.object_path(made["metadata"]["name"], HERE), write, made)


async def test_no_form_of_a_body_passes_the_rules(plane: Plane) -> None:
    async with plane.answering():
        pod = (await plane.pod("odd-form", {f"{PREFIX}/priority_a.example.com": "1"})).ok(201)
        made = (await plane.request(pod)).ok(201)
        await check_forms(plane.arm, KIND.object_path(made["metadata"]["name"], HERE), made)


async def test_what_is_oversized_is_refused_and_costs_the_webhook_little(plane: Plane) -> None:
    """The mutating side is not asked about it. Schema and validating side refuse it, on update too."""
    async with plane.answering() as webhook:
        pod = (await plane.pod("oversized")).ok(201)
        made = (await plane.request(pod)).ok(201)
        before = _reviewed(webhook)
        names = [{"name": f"r{number}.example.com"} for number in range(101)]
        many = await plane.ask({"requesters": names})
        many.refused(422, "Invalid")
        assert many.field_errors[0] == "spec.requesters: Too many: 101: must have at most 100 items"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p"}
        owners = [{**owner, "uid": f"{number}"} for number in range(101)]
        forged = {"metadata": {"ownerReferences": owners, "annotations": {CALLERS: "forged"}}}
        owned = await plane.patch(made, forged)
        owned.refused(422, "Invalid")
        assert owned.field_errors == ("metadata.ownerReferences: Too many: 101: must have at most 100 items",)
        assert "evictionrequests.validate.vacate.dev" in (owned.message or "")
        after = _reviewed(webhook)
        assert after["mutate"] == before["mutate"]
        assert after["validate"] == before["validate"] + 1


def _reviewed(webhook: WebhookProcess) -> dict[str, float]:
    """How many reviews of requests each side has answered."""
    lines = [line for line in webhook.get("/metrics")[1].splitlines() if "webhook_requests_total{" in line]
    return {
        side: sum(float(line.split()[-1]) for line in lines if f'path="/{side}/evictionrequests"' in line)
        for side in ("mutate", "validate")
    }


async def test_pods(plane: Plane) -> None:
    async with plane.answering():
        ruled = (await plane.pod("ruled", app="by-rule")).ok(201)
        assert ruled["metadata"]["annotations"] == {f"{PREFIX}/priority_ruled.example.com": "5"}
        own = (await plane.pod("own", {f"{PREFIX}/priority_own.example.com": "1"}, app="by-rule")).ok(201)
        assert own["metadata"]["annotations"] == {f"{PREFIX}/priority_own.example.com": "1"}
        broken = await plane.pod("broken", {f"{PREFIX}/priority_own.example.com": "first"})
        broken.refused(422, "Invalid")


async def test_who_force_deletes_is_recorded(plane: Plane) -> None:
    """By the pod's own node none is: it removes every pod so. A new label counts after a moment.

    A member of a StatefulSet whose own grace period is 0 is removed at once by a deletion without options,
    as taint eviction makes it.
    """
    label = {"metadata": {"labels": {GUARD_LABEL: ENABLED}}}
    await plane.arm.given("PATCH", NAMESPACES.object_path(HERE), label, content_type=MERGE_PATCH)
    attempts = count()

    async def force(user: As, options: Obj | None = FORCE, owners: Sequence[Obj] = (), **spec: Any) -> None:
        name = f"forced-{next(attempts)}"
        body = {**(one := make.pod(name)), "spec": {**one["spec"], "nodeName": "node-1", **spec}}
        body["metadata"]["ownerReferences"] = list(owners)
        (await plane.arm.call("POST", PODS.collection_path(HERE), body=body)).ok(201)
        path = PODS.object_path(name, HERE)
        (await plane.arm.call("DELETE", path, body=options, as_user=user)).ok()
        assert (await plane.arm.call("GET", path)).code == 404

    async def recorded() -> list[str]:
        found = (await plane.arm.call("GET", EVENTS.collection_path(HERE))).ok()["items"]
        return [one["message"] for one in found if one["reason"] == "ForceDeleted"]

    async def jane_is_recorded() -> bool:
        await force(As("jane", (MASTERS,)))
        return bool(await recorded())

    async with plane.answering():
        await until(jane_is_recorded)
        await force(As("system:node:node-1", (MASTERS,)))
        assert all(text.startswith('User "jane" force deleted the pod') for text in await recorded())
        await force(TAINT_EVICTION, None, terminationGracePeriodSeconds=0)  # its author has chosen that
        assert not [text for text in await recorded() if TAINT_EVICTION.name in text]
        await force(TAINT_EVICTION, None, [STATEFUL_SET], terminationGracePeriodSeconds=0)
        (text,) = [text for text in await recorded() if TAINT_EVICTION.name in text]
        assert "the pod's own grace period is 0" in text


async def test_down_and_restarted(plane: Plane) -> None:
    async with plane.answering() as webhook:
        pod = (await plane.pod("down")).ok(201)
        made = (await plane.request(pod)).ok(201)
        before = await bundles(plane)
        assert webhook.stop() == 0
    down = await plane.ask({})
    assert (down.code, down.reason) == (500, "InternalError")
    assert "failed calling webhook" in (down.message or "")
    (await plane.patch(made, {"status": {"message": "still writable"}})).ok()
    (await plane.patch(made, {"spec": {"requesters": []}})).refused(500, "InternalError")
    (await plane.pod("while-down", app="by-rule")).ok(201)
    async with plane.answering():
        assert await bundles(plane) == before
        (await plane.patch(made, {"spec": {"requesters": []}})).ok()


async def test_slow(plane: Plane) -> None:
    async with plane.answering() as webhook:
        pod = (await plane.pod("slow")).ok(201)
        made = (await plane.request(pod)).ok(201)
        await configure(plane, {"timeoutSeconds": 1})
        webhook.process.send_signal(signal.SIGSTOP)
        try:
            await until(lambda: _times_out(plane))
            (await plane.patch(made, {"status": {"message": "still writable"}})).ok()
            (await plane.pod("while-slow", app="by-rule")).ok(201)
        finally:
            webhook.process.send_signal(signal.SIGCONT)
        await configure(plane, {"timeoutSeconds": 10})
        await until(plane.answered)


async def _times_out(plane: Plane) -> bool:
    answer = await plane.ask({})
    assert answer.failed
    return "context deadline exceeded" in (answer.message or "")


async def test_a_lost_secret_means_a_new_authority_everywhere(plane: Plane) -> None:
    async with plane.answering():
        with plane.rotating() as folder, plane.webhook(folder, port=0) as other:
            other.wait_ready()
            before = await bundles(plane)
            (await plane.arm.call("DELETE", SECRET)).ok()

            async def renewed() -> bool:
                found = await bundles(plane)
                return found != before and len(set(found)) == 1 and await plane.answered()

            await until(renewed)
            assert other.get("/readyz")[0] == 200


async def test_an_expired_certificate(plane: Plane, tmp_path: Path) -> None:
    now = SystemClock().now()
    authority = new_authority("test", now - dt.timedelta(days=3))
    before = await bundles(plane)

    def write(began: dt.datetime) -> None:
        pair: KeyPair = new_server(authority, "hook", ["127.0.0.1"], began, dt.timedelta(days=1))
        (tmp_path / "tls.crt").write_bytes(pair.certificate_pem)
        (tmp_path / "tls.key").write_bytes(pair.key_pem)

    write(now - dt.timedelta(days=2))
    trusted = base64.b64encode(authority.certificate_pem).decode()
    await configure(plane, {"clientConfig": {"caBundle": trusted}})
    try:
        with plane.webhook(tmp_path) as webhook:
            assert webhook.port

            async def ended() -> bool:
                answer = await plane.ask({})
                assert answer.failed
                return "certificate has expired or is not yet valid" in (answer.message or "")

            await until(ended)
            code, text = webhook.get("/readyz?verbose")
            assert code == 500
            assert "the certificate expired on" in text
            write(now)
            await until(plane.answered)
            webhook.wait_ready()
    finally:
        await configure(plane, {"clientConfig": {"caBundle": base64.b64encode(before[0]).decode()}})
