"""The pods of a node agent, as the shutdown manager sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vacate.eviction.registration import registered_names
from vacate.nodeagent.adopt import GRACE, PRIORITY
from vacate.nodeagent.held import HeldPod, is_active
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.nodeagent.shutdown.machine import TerminatePod
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.view import DEFAULT_GRACE_SECONDS, AgentPod


class AgentPods:
    """Ends pods by the agent's own way of ending them, with less time where the shutdown grants less."""

    def __init__(self, pods: PodReconciler, requests: ShutdownRequests) -> None:
        self._pods = pods
        self._requests = requests

    def running(self) -> list[ShutdownPod]:
        """Every pod that has a process or would get one."""
        return [_described(one) for one in self._pods.held.values() if is_active(one)]

    def end(self, order: TerminatePod) -> None:
        """Begin to end it; interceptors are asked first, where they have time."""
        pod, seconds = order.pod, order.seconds
        self._pods.end(pod.uid, seconds, order.prepare)
        if order.prepare > 0:
            grace = min(pod.grace_seconds, seconds)
            self._requests.request(pod, order.prepare, lambda: self._pods.end(pod.uid, grace))

    def cancel(self) -> None:
        """Leave alone what was not asked to end, and take back its requests."""
        self._pods.spare()
        self._requests.withdraw_all()

    def gone(self, uids: Iterable[str]) -> set[str]:
        """Those without a process that will not get one either."""
        held = self._pods.held
        return {uid for uid in uids if uid not in held or not self._pods.may_run(held[uid])}

    def on_change(self, callback: Callable[[], None]) -> None:
        """Subscribe to ends of containers."""
        self._pods.changed = callback

    async def flush(self) -> None:
        """Wait until every status of a terminated pod is written."""
        while any(_is_unwritten(one) for one in self._pods.held.values()):
            self._pods.status_written.clear()
            await self._pods.status_written.wait()


def _is_unwritten(held: HeldPod) -> bool:
    pod = held.pod
    if pod is None or held.end is None or held.released or held.progress.busy:
        return False
    return not pod.terminal and not pod.deleting


def _described(held: HeldPod) -> ShutdownPod:
    """From the API, or from what the runtime kept of it where the API was not heard yet."""
    if held.pod is not None:
        priority, grace = held.pod.spec.priority or 0, held.pod.grace_seconds
    else:
        priority, grace = _integer(held.labels.get(PRIORITY)), _seconds(held.labels.get(GRACE))
    intercepted = held.pod is not None and has_interceptors(held.pod)
    return ShutdownPod(held.uid, held.key.namespace, held.key.name, priority, grace, intercepted)


def has_interceptors(pod: AgentPod) -> bool:
    """Whether someone is registered to prepare the pod's end, by its spec or by annotations."""
    annotations = {"metadata": {"annotations": dict(pod.metadata.annotations)}}
    return bool(pod.spec.eviction_interceptors or registered_names(annotations))


def _integer(text: str | None) -> int:
    try:
        return int(text or 0)
    except ValueError:
        return 0


def _seconds(text: str | None) -> float:
    try:
        return float(text or DEFAULT_GRACE_SECONDS)
    except ValueError:
        return float(DEFAULT_GRACE_SECONDS)
