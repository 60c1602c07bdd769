"""The pods of a node agent, as the shutdown manager sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vacate.api.objects import Obj
from vacate.api.untyped import maps, text
from vacate.eviction.registration import registered_names, registers_responders_only
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.shutdown.buckets import ShutdownPod, TerminatePod
from vacate.nodeagent.shutdown.requests import ShutdownRequests
from vacate.nodeagent.status import SHUTDOWN
from vacate.nodeagent.view import DEFAULT_GRACE_SECONDS, AgentPod
from vacate.runtime.reconcile import Key


@dataclass(eq=False)
class AgentPods:
    """Ends pods by the agent's own way of ending them, with less time where the shutdown grants less."""

    pods: PodReconciler
    requests: ShutdownRequests

    def known(self) -> bool:
        """Whether the hooks and interceptors of all that runs are known, by record or API server."""
        return all(one.pod is not None for one in self.pods.held.values() if one.progress.busy)

    def running(self) -> list[ShutdownPod]:
        """Every pod that has a process or would get one."""
        return [_described(one) for one in self.pods.held.values() if one.active]

    def end(self, order: TerminatePod) -> None:
        """Begin to end it; interceptors are asked first, where they have time."""
        pod, key = order.pod, Key(order.pod.namespace, order.pod.name)
        self.pods.end(pod.uid, order.seconds, order.prepare, key=key, cause=SHUTDOWN)
        # An agent before this one may have asked it to end already, as nobody could be asked to prepare it.
        if order.prepare > 0 and not self.pods.held[pod.uid].ending:
            grace = min(pod.grace_seconds, order.seconds)
            at_once = lambda: self.pods.end(pod.uid, grace, cause=SHUTDOWN)  # noqa: E731
            self.requests.request(pod, order.prepare, at_once)

    def cancel(self) -> None:
        """Leave alone what was not asked to end, and take back its requests."""
        self.pods.spare()
        self.requests.withdraw_all()

    def gone(self, uids: Iterable[str]) -> set[str]:
        """Those without a process that will not get one either."""
        held = self.pods.held
        return {uid for uid in uids if uid not in held or not _may_run(held[uid])}

    def on_change(self, callback: Callable[[], None]) -> None:
        """Subscribe to ends of containers."""
        self.pods.changed = callback

    async def flush(self) -> None:
        """Wait until the API server knows how every pod has ended, also those that are being killed."""
        while any(one.unreported for one in self.pods.held.values()):
            self.pods.status_written.clear()
            await self.pods.status_written.wait()


def _may_run(held: PodWorker) -> bool:
    """Whether it has a process, or would get one: nothing has asked it to end."""
    return held.progress.busy or (held.active and not held.ending)


def _described(held: PodWorker) -> ShutdownPod:
    if held.pod is None:
        return ShutdownPod(held.uid, held.key.namespace, held.key.name, 0, float(DEFAULT_GRACE_SECONDS))
    return described(held.pod)


def described(pod: AgentPod) -> ShutdownPod:
    """What the order needs to know of it: also whether someone is registered to prepare its end."""
    meta, spec = pod.metadata, pod.spec
    listed = {
        "evictionInterceptors": spec.eviction_interceptors,
        "evictionResponders": spec.eviction_responders,
    }
    registering: Obj = {"metadata": {"annotations": dict(meta.annotations)}, "spec": listed}
    return ShutdownPod(
        meta.uid,
        meta.namespace,
        meta.name,
        spec.priority or 0,
        pod.grace_seconds,
        interceptors=any(listed.values()) or bool(registered_names(registering)),
        responders_only=registers_responders_only(registering),
        responder=next((text(one.get("name")) for one in maps(spec.eviction_responders)), ""),
    )
