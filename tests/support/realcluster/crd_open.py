"""What is still open where the webhook is not there: each row is shown to be accepted, and is in the docs."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from support.arms.arm import MERGE_PATCH, Answer, As, Obj
from support.arms.kube import KubeArm
from support.realcluster.crd_steps import A, B, at, complete, condition, named, request, status, turn
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.types.evictionrequest import ADMITTED_STAMP

DOCUMENTED = Path(__file__).parents[3] / "docs/reference/deploy.md"
COLLECTION = KIND.collection_path("default")
STAMP = {"metadata": {"annotations": {ADMITTED_STAMP: "true"}}}
NO_RIGHT = As("asks-only")
"""Someone with the role of a requester and no right to delete pods."""

WRITER = As("writes-statuses", ("system:masters",))
"""Someone with the role of an interceptor."""

CONTROLLER = As("system:serviceaccount:vacate-system:vacate-manager", ("system:masters",))
"""The manager, as whom requests take their steps here."""

Attempt = Callable[[KubeArm], Awaitable[Answer]]
_FORBID = {"evictionRequestCancellationPolicy": "Forbid"}


@dataclass(frozen=True)
class Open:
    """Something that only the webhook refuses, or the policies do as well."""

    title: str
    attempt: Attempt
    held_by_policies: bool = False


def documented() -> dict[str, bool]:
    """The rows of the table in the docs: what is open, and whether the policies hold it."""
    text = DOCUMENTED.read_text().partition("| open without the webhook |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (.+?) \| (yes|no) \|", text, re.MULTILINE)
    return {title: held == "yes" for title, held in rows}


async def _create(arm: KubeArm, obj: Obj, who: As | None = None) -> Answer:
    return await arm.call("POST", COLLECTION, body=obj, as_user=who)


async def _made(arm: KubeArm, *steps: Obj, finalizers: tuple[str, ...] = (), **spec: object) -> str:
    """The path of a request that has taken these steps."""
    obj = request(**spec)
    obj["metadata"]["finalizers"] = list(finalizers)
    made = (await _create(arm, obj)).ok(201)
    path = KIND.object_path(made["metadata"]["name"], "default")
    for step in steps:
        (await _patch(arm, path, step, CONTROLLER)).ok()
    return path


async def _patch(arm: KubeArm, path: str, step: Obj, who: As | None = None) -> Answer:
    where = f"{path}/status" if "status" in step else path
    return await arm.call("PATCH", where, body=step, content_type=MERGE_PATCH, as_user=who)


async def _without_right(arm: KubeArm) -> Answer:
    return await _create(arm, request(), NO_RIGHT)


async def _change_without_right(arm: KubeArm) -> Answer:
    return await _patch(arm, await _made(arm), {"spec": {"requesters": []}}, NO_RIGHT)


async def _delete_without_right(arm: KubeArm) -> Answer:
    return await arm.call("DELETE", await _made(arm), as_user=NO_RIGHT)


async def _any_pod(arm: KubeArm) -> Answer:
    return await _create(arm, request())


async def _given_interceptors(arm: KubeArm) -> Answer:
    return await _create(arm, request(interceptors=named(A)))


async def _own_stamp(arm: KubeArm) -> Answer:
    obj = request()
    obj["metadata"] |= STAMP["metadata"]
    return await _create(arm, obj)


async def _later_stamp(arm: KubeArm) -> Answer:
    return await _patch(arm, await _made(arm), STAMP)


async def _future(arm: KubeArm) -> Answer:
    path = await _made(arm, turn(B, 0), interceptors=named(A, B))
    return await _patch(arm, path, status(heartbeatTime=at(3600)))


async def _fall_back(arm: KubeArm) -> Answer:
    path = await _made(arm, turn(B, 0), interceptors=named(A, B))
    return await _patch(arm, path, status(heartbeatTime=at(-11)), WRITER)


async def _forged_end(arm: KubeArm) -> Answer:
    return await _patch(arm, await _made(arm), complete(), WRITER)


async def _forged_progress(arm: KubeArm) -> Answer:
    frozen = status(conditions=[condition("Progressing", reason="Terminating")])
    return await _patch(arm, await _made(arm), frozen, WRITER)


async def _forged_turn(arm: KubeArm) -> Answer:
    path = await _made(arm, turn(B, 0), interceptors=named(A, B))
    return await _patch(arm, path, turn(A, 1800), WRITER)


async def _old_turn(arm: KubeArm) -> Answer:
    return await _patch(arm, await _made(arm, interceptors=named(A, B)), turn(B, -3600), CONTROLLER)


async def _forbid_on_the_way_out(arm: KubeArm) -> Answer:
    path = await _made(arm, finalizers=("example.com/stays",))
    (await arm.call("DELETE", path)).ok()
    try:
        return await _patch(arm, path, status(**_FORBID))
    finally:
        (await _patch(arm, path, {"metadata": {"finalizers": []}})).ok()


async def _delete_guarded(arm: KubeArm) -> Answer:
    return await arm.call("DELETE", await _made(arm, status(**_FORBID)))


async def _reordered(arm: KubeArm) -> Answer:
    both = [condition("Mine"), *complete()["status"]["conditions"]]
    path = await _made(arm, status(conditions=both))
    return await _patch(arm, path, status(conditions=both[::-1]), CONTROLLER)


OPEN = (
    Open("creating a request without the right to delete the pod", _without_right, held_by_policies=True),
    Open("changing a request without that right", _change_without_right, held_by_policies=True),
    Open("deleting a request without that right", _delete_without_right, held_by_policies=True),
    Open("a pod that does not exist, or has another UID", _any_pod),
    Open("interceptors that the requester names", _given_interceptors),
    Open("the stamp of admission on a new request", _own_stamp),
    Open("the stamp of admission on a request that is there", _later_stamp, held_by_policies=True),
    Open("a heartbeat in the future", _future),
    Open("a heartbeat that falls back", _fall_back, held_by_policies=True),
    Open("the end of a request, from another than the controller", _forged_end, held_by_policies=True),
    Open("its progress, from another than the controller", _forged_progress, held_by_policies=True),
    Open("a turn that passes on early, with a heartbeat in the future", _forged_turn, held_by_policies=True),
    Open("a turn that begins with an old heartbeat", _old_turn),
    Open("`Forbid` on a request that is being deleted", _forbid_on_the_way_out, held_by_policies=True),
    Open("deleting a request whose policy is `Forbid`", _delete_guarded),
    Open("conditions in another order after completion", _reordered),
)
