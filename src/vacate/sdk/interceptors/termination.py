"""How a handler ends the pod: by an eviction that respects disruption budgets, or by deleting it."""

from __future__ import annotations

import datetime as dt

from vacate.admission.pods.bridge import INTERCEPTOR
from vacate.api.kinds import PODS
from vacate.api.options import DeleteOptions
from vacate.api.terminationreason import clean_reason
from vacate.api.types.core import Pod
from vacate.errors import ApiError, Conflict, NotFound, TransportError
from vacate.eviction.attempts import Answer, answer_of, delay, why_refused
from vacate.sdk.errors import EvictionRefused
from vacate.sdk.interceptors.turn import Turn
from vacate.sdk.values import Report

MAX_PAUSE = dt.timedelta(minutes=1)
_SPREAD = 0.2


async def evict(
    turn: Turn,
    pod: Pod,
    *,
    grace_period_seconds: int | None,
    give_up_after: dt.timedelta | None,
    reason: str = "",
) -> None:
    """Evict the pod; while budgets refuse it, say so and try again."""
    meta = pod.metadata
    began, refused = turn.clock.monotonic(), 0
    while True:
        await turn.persist(turn.status_writer.confirm)
        try:
            await turn.client.evict(
                meta.name,
                meta.namespace,
                DeleteOptions(uid=meta.uid, grace_period_seconds=grace_period_seconds, reason=reason),
                annotations={INTERCEPTOR: turn.name},  # or an eviction bridge would let it wait for itself
            )
            break
        except (ApiError, TransportError) as error:
            if await _is_going(turn, error):
                break
            refused += 1
            _report_refusal(turn, error)
            _give_up(turn, error, began, give_up_after)
        pause = min(delay(refused), MAX_PAUSE).total_seconds()
        await turn.clock.sleep(pause * turn.entropy.uniform(1 - _SPREAD, 1))
    turn.status_writer.pod_ended = True
    turn.event("PodEvicted", f"{turn.name} has evicted pod {meta.name}.")


async def delete(turn: Turn, pod: Pod, *, grace_period_seconds: int | None, reason: str) -> None:
    """Delete the pod past all budgets; the event says why."""
    meta = pod.metadata

    async def act() -> None:
        await turn.status_writer.confirm()
        try:
            await turn.client.delete(
                PODS,
                meta.name,
                meta.namespace,
                DeleteOptions(
                    uid=meta.uid, grace_period_seconds=grace_period_seconds, reason=clean_reason(reason)
                ),
            )
        except (NotFound, Conflict):
            if await turn.live_pod() is not None:
                raise

    await turn.persist(act)
    turn.status_writer.pod_ended = True
    turn.event("PodDeleted", f"{turn.name} has deleted pod {meta.name}: {reason}")


async def _is_going(turn: Turn, error: ApiError | TransportError) -> bool:
    """After an inconclusive answer, or none: whether the pod is terminating or gone all the same."""
    if isinstance(error, ApiError) and answer_of(error) is Answer.REFUSED:
        return False
    try:
        pod = await turn.live_pod()
    except (ApiError, TransportError):
        return False
    return pod is None or pod.terminating


def _report_refusal(turn: Turn, error: ApiError | TransportError) -> None:
    """A refusal goes into the status; that a server does not answer is not news about the pod."""
    if not isinstance(error, ApiError) or answer_of(error) is not Answer.REFUSED:
        return
    why = f"The eviction was refused: {why_refused(error)}"
    turn.event("EvictionRefused", why, warning=True)
    turn.status_writer.say(Report(message=why))
    turn.heartbeats.progress()


def _give_up(turn: Turn, error: Exception, began: float, give_up_after: dt.timedelta | None) -> None:
    if give_up_after is not None and turn.clock.monotonic() - began >= give_up_after.total_seconds():
        why = why_refused(error) if isinstance(error, ApiError) else str(error)
        raise EvictionRefused(why) from error
