"""PURE. What the agent may do beside the kubelet of its node, which can act on the same signal.

Two ways work. The kubelet's graceful shutdown is off, and the agent terminates all pods. Or it is on, by
priority, and the agent's pod is alone in the lowest bucket: the kubelet terminates the agent first and waits
for it, and the agent stays until interceptors have prepared their pods. Anything else would be a race.
"""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.durations import format_duration
from vacate.nodeagent.shutdown.buckets import ShutdownPod
from vacate.nodeagent.shutdown.config import BY_PRIORITY, CRITICAL, TOTAL, ShutdownConfig
from vacate.nodeagent.shutdown.protocol import Inhibitor, ShutdownRefused
from vacate.nodeagent.view import AgentPod
from vacate.runtime.recorder import SHUTDOWN_FLUSH_SECONDS

LOWEST_PRIORITY = -1_000_000_000
"""Of the agent's PriorityClass for clusters whose kubelets shut down by themselves."""
EXIT_SECONDS = SHUTDOWN_FLUSH_SECONDS + 1.0
"""Of the agent's bucket: what it needs itself, from its last request to the end of its process."""

_OFF = f"switch the kubelet's feature off ({TOTAL}, {CRITICAL} and {BY_PRIORITY} unset)"
_OWN_BUCKET = (
    f"give the agent a bucket of its own: {{priority: {LOWEST_PRIORITY}, shutdownGracePeriodSeconds: 300}} "
    f"in the kubelet's {BY_PRIORITY}, and vacate install --shutdown-agent=beside-kubelet"
)


def holds_lock(inhibitors: Iterable[Inhibitor]) -> bool:
    """Whether the kubelet delays shutdowns: its feature is on, and works."""
    return any(
        one.who == "kubelet" and one.mode == "delay" and "shutdown" in one.what.split(":") and one.uid == 0
        for one in inhibitors
    )


def beside_kubelet(kubelet: ShutdownConfig, own: AgentPod) -> ShutdownConfig:
    """How interceptors share the time for which the agent holds the kubelet back, or ShutdownRefused."""
    if not kubelet.enabled:
        raise ShutdownRefused(
            "the kubelet holds a shutdown lock although its configuration has no periods: restart the kubelet"
        )
    first, *others = sorted(kubelet.buckets, key=lambda one: one.priority)
    if not others or others[0].priority > 0 or first.priority >= 0:
        buckets = ", ".join(f"{one.priority}: {format_duration(one.seconds)}" for one in kubelet.buckets)
        raise ShutdownRefused(
            f"the kubelet terminates pods itself, in the buckets {buckets}, and none is "
            f"below priority 0: it would terminate pods while the agent does. Either {_OFF}, or {_OWN_BUCKET}"
        )
    priority = own.spec.priority or 0
    if priority >= others[0].priority:
        raise ShutdownRefused(
            f"the agent's priority {priority} is not in the kubelet's lowest bucket, so that the kubelet "
            "does not wait for it: use the PriorityClass of vacate install --shutdown-agent=beside-kubelet"
        )
    seconds = min(first.seconds, own.grace_seconds) - EXIT_SECONDS
    if seconds <= 0:
        raise ShutdownRefused(
            f"the kubelet waits {format_duration(seconds + EXIT_SECONDS)} for the agent, which "
            f"is too short: set shutdownGracePeriodSeconds of priority {first.priority} and the agent's "
            "terminationGracePeriodSeconds to some minutes"
        )
    return ShutdownConfig(tuple(others), "", seconds)


def shares_bucket(pod: ShutdownPod, config: ShutdownConfig) -> bool:
    """Beside a kubelet: whether that ends the pod together with the agent, before anyone can prepare it."""
    return pod.priority < config.buckets[0].priority
