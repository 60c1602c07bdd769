"""Every state that can be explained, reached by the engine itself."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from support.simulated.request import START, SimRequest
from vacate.api.times import format_time
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX

BACKUP, NOTIFY = "backup.example.com", "notify.example.com"
DRAIN = f"drain-node-1.{MAINTENANCE_SUFFIX}"
SPENT = (
    "Cannot evict pod as it would violate the pod's disruption budget. "
    "The disruption budget web needs 3 healthy pods and has 3 currently"
)
SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


def _asked(*interceptors: str, **options: Any) -> SimRequest:
    """The first interceptor has been asked, half a second after the request was made."""
    return SimRequest(*interceptors, **options).after(seconds=0.5).controller()


def _terminating(sim: SimRequest, grace: int, **metadata: Any) -> SimRequest:
    ends = sim.now.replace(microsecond=0)
    return sim.pod_is(
        metadata={"deletionTimestamp": format_time(ends), "deletionGracePeriodSeconds": grace, **metadata}
    )


def _owned_by(kind: str, name: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}
    return {"ownerReferences": [owner]}


def _node_shuts_down(sim: SimRequest, seconds: float) -> SimRequest:
    """The node of the pod goes down and ends it at a moment that the request names."""
    ends = format_time(sim.now + dt.timedelta(seconds=seconds))
    return sim.metadata(annotations={SHUTDOWN_DEADLINE: ends})


def _handed_over() -> SimRequest:
    sim = _asked(BACKUP, NOTIFY).after(seconds=1).responds(message="Copying")
    return sim.after(seconds=1800).controller().after(seconds=20)


def _last_timed_out() -> SimRequest:
    sim = _asked(BACKUP).after(seconds=1800).refused(SPENT).budget("web", 3, 3)
    return sim.after(seconds=2)


EXPLANATION_INPUTS: Mapping[str, Callable[[], SimRequest]] = {
    "not started": lambda: SimRequest(BACKUP, NOTIFY).after(seconds=0.2),
    "not started for long": lambda: SimRequest(BACKUP).after(minutes=2),
    "waiting for a response": lambda: _asked(BACKUP, NOTIFY).after(seconds=20),
    "the node shuts down": lambda: _node_shuts_down(_asked(BACKUP).after(seconds=20), 40),
    "the node shuts down and has not ended the pod in time": lambda: _node_shuts_down(
        _asked(BACKUP).after(minutes=5).responds().after(seconds=3), -10
    ),
    "the node shut down and the pod is gone": lambda: (
        _node_shuts_down(_asked(BACKUP), 40).after(seconds=30).pod_goes().controller()
    ),
    "responding": lambda: (
        _asked(BACKUP, NOTIFY)
        .after(minutes=5)
        .responds(
            message="Copied 40 of 100 GiB",
            expectedInterceptorFinishTime=format_time(START.replace(minute=15)),
        )
        .after(seconds=10)
    ),
    "responding without an estimate": lambda: _asked(BACKUP).after(minutes=5).responds().after(seconds=3),
    "later than expected": lambda: (
        _asked(BACKUP)
        .after(minutes=5)
        .responds(message="Nearly there", expectedInterceptorFinishTime=format_time(START.replace(minute=6)))
        .after(minutes=3)
    ),
    "overdue while the controller listens": lambda: _asked(BACKUP, NOTIFY).after(minutes=31),
    "overdue, the last one": lambda: (
        _asked(BACKUP).after(minutes=1).responds(message="Copying").after(minutes=31)
    ),
    "overdue for long": lambda: _asked(BACKUP, NOTIFY).after(minutes=45),
    "completed, the next not yet asked": lambda: (
        _asked(BACKUP, NOTIFY).after(seconds=90).responds(activeInterceptorCompleted=True).after(seconds=0.1)
    ),
    "handed over after completion": lambda: (
        _asked(BACKUP, NOTIFY)
        .after(seconds=90)
        .responds(activeInterceptorCompleted=True)
        .controller()
        .after(seconds=5)
    ),
    "handed over after silence": _handed_over,
    "never responded": lambda: _asked(BACKUP, NOTIFY).after(minutes=30).controller().after(seconds=5),
    "an attempt failed, the last interceptor": lambda: (
        _asked(BACKUP)
        .after(seconds=90)
        .fails("False", "Retrying", "Attempt 4 of 5 failed: the disk is full. Attempt 5 starts in 80 s.")
        .after(seconds=5)
    ),
    "an attempt failed, another interceptor follows": lambda: (
        _asked(BACKUP, NOTIFY)
        .after(seconds=90)
        .fails("False", "Retrying", "Attempt 1 of 5 failed: the disk is full. Attempt 2 starts in 10 s.")
        .after(seconds=5)
    ),
    "an attempt failed, a hold follows": lambda: (
        _asked(BACKUP)
        .after(seconds=90)
        .fails("False", "RetryingThenHold", "Attempt 4 of 5 failed: the disk is full.")
        .after(seconds=5)
    ),
    "failed and held": lambda: (
        _asked(BACKUP)
        .after(seconds=90)
        .fails("True", "Held", "the disk is full (after 5 attempts)")
        .after(seconds=5)
    ),
    "failed, the next asked": lambda: (
        _asked(BACKUP, NOTIFY)
        .after(seconds=90)
        .fails("True", "HandedOver", "the disk is full", activeInterceptorCompleted=True)
        .controller()
        .after(seconds=5)
    ),
    "the last one failed, evicting": lambda: (
        _asked(BACKUP)
        .after(seconds=90)
        .fails("True", "HandedOver", "the disk is full", activeInterceptorCompleted=True)
        .after(seconds=0.2)
        .controller()
    ),
    "the last one timed out, evicting": lambda: (
        _asked(BACKUP).after(minutes=1).responds(message="Copying").after(minutes=31).controller()
    ),
    "all done, evicting": lambda: (
        _asked(BACKUP)
        .after(seconds=90)
        .responds(activeInterceptorCompleted=True)
        .after(seconds=0.2)
        .budget("web", 4, 3)
    ),
    "evicting without interceptors": lambda: SimRequest().after(seconds=0.2),
    "evicting for long, to be refused": lambda: SimRequest().after(minutes=3).budget("web", 3, 3),
    "blocked": lambda: SimRequest().refused(SPENT).budget("web", 3, 3).after(seconds=1),
    "blocked often": lambda: (
        SimRequest().refused(SPENT).refused(SPENT).refused(SPENT).budget("web", 3, 3).after(seconds=9)
    ),
    "blocked, room by now": lambda: (
        SimRequest().refused(SPENT).refused(SPENT).budget("web", 4, 3).after(seconds=1)
    ),
    "blocked by two budgets": lambda: (
        SimRequest().refused(SEVERAL).budget("web", 3, 3).budget("all", 9, 3).after(seconds=1)
    ),
    "blocked by others than budgets": lambda: (
        SimRequest().refused('admission webhook "x" denied the request: no').after(seconds=9)
    ),
    "blocked after the last one timed out": _last_timed_out,
    "daemon set": lambda: (
        SimRequest().pod_is(metadata=_owned_by("DaemonSet", "agent")).controller().after(minutes=4)
    ),
    "mirror pod": lambda: (
        SimRequest()
        .pod_is(
            metadata={
                "annotations": {"kubernetes.io/config.mirror": "x"},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": "node-1", "controller": True}
                ],
            }
        )
        .controller()
    ),
    "terminating in its grace": lambda: _terminating(SimRequest().after(seconds=30), 30).after(seconds=-20),
    "terminating during a turn": lambda: _terminating(_asked(BACKUP, NOTIFY).after(seconds=40), 30).after(
        seconds=-10
    ),
    "terminating, finalizers to come": lambda: _terminating(
        SimRequest().after(seconds=30), 30, finalizers=["example.com/keep"]
    ).after(seconds=-20),
    "terminating, held by finalizers": lambda: _terminating(
        SimRequest().after(seconds=30), 30, finalizers=["example.com/keep", "example.com/other"]
    ).after(minutes=5),
    "terminating, silent node": lambda: _terminating(SimRequest().after(seconds=30), 30).after(minutes=5),
    "forbidden to cancel": lambda: (
        _asked(BACKUP).after(seconds=30).responds(evictionRequestCancellationPolicy="Forbid").after(seconds=5)
    ),
    "forbidden, and nobody wants it": lambda: (
        _asked(BACKUP)
        .after(seconds=30)
        .responds(evictionRequestCancellationPolicy="Forbid")
        .spec(requesters=[])
        .after(seconds=5)
    ),
    "unadmitted": lambda: (
        SimRequest(BACKUP).metadata(annotations={}).metadata(annotations=None).after(seconds=5).controller()
    ),
    "several requesters and a reason": lambda: SimRequest(
        BACKUP, requesters=("drain.example.com", "a.example.com", "jane.cli.vacate.dev")
    ).metadata(annotations={"vacate.dev/reason": "kernel update", "vacate.dev/admitted": "true"}),
    "requested by a drain": lambda: SimRequest(BACKUP, requesters=(DRAIN,)),
    "requested by a drain and others": lambda: SimRequest(
        BACKUP, requesters=(DRAIN, "jane.cli.vacate.dev", f"rack-7.{MAINTENANCE_SUFFIX}")
    ),
    "requested by a drain, and forbidden to cancel": lambda: (
        _asked(BACKUP, requesters=(DRAIN,))
        .after(seconds=30)
        .responds(evictionRequestCancellationPolicy="Forbid")
        .after(seconds=5)
    ),
    "complete: gone": lambda: (
        _asked(BACKUP, NOTIFY).after(minutes=2).responds().pod_goes().controller().after(minutes=5)
    ),
    "complete: ended": lambda: (
        SimRequest().pod_is(status={"phase": "Succeeded"}).controller().after(minutes=5)
    ),
    "complete: ended, held by finalizers": lambda: (
        SimRequest()
        .pod_is(
            metadata={"deletionTimestamp": format_time(START), "finalizers": ["example.com/report"]},
            status={"phase": "Failed"},
        )
        .controller()
        .after(minutes=5)
    ),
    "complete: forged, the pod runs": lambda: (
        SimRequest()
        .status(conditions=[{"type": "Complete", "status": "True", "reason": "PodDeleted", "message": ""}])
        .after(minutes=5)
    ),
    "complete: gone, another of the name": lambda: (
        SimRequest().pod_is(metadata={"uid": "uid-other"}).controller().after(minutes=5)
    ),
    "cancelled": lambda: _asked(BACKUP).after(minutes=2).spec(requesters=[]).controller().after(minutes=5),
    "gone, not yet written down": lambda: SimRequest().after(seconds=40).pod_goes(),
    "cancelled, not yet written down": lambda: SimRequest(BACKUP).after(seconds=1).spec(requesters=[]),
    "over, held by finalizers": lambda: (
        SimRequest()
        .pod_goes()
        .controller()
        .metadata(deletionTimestamp=format_time(START), finalizers=["example.com/report"])
        .after(minutes=1)
    ),
    "cancelled, held by finalizers": lambda: (
        SimRequest(BACKUP)
        .metadata(deletionTimestamp=format_time(START), finalizers=["foregroundDeletion"])
        .controller()
        .after(minutes=1)
    ),
}
"""What has happened, by the name of the state."""

UNASKED: Mapping[str, Callable[[], SimRequest]] = {
    "unasked": SimRequest,
    "unasked, with interceptors and a budget": lambda: SimRequest(BACKUP, NOTIFY).budget("web", 4, 3),
    "unasked, budget spent": lambda: SimRequest().budget("web", 3, 3),
    "unasked daemon": lambda: SimRequest().pod_is(metadata=_owned_by("DaemonSet", "agent")),
    "unasked and terminating": lambda: _terminating(SimRequest().after(seconds=30), 30).after(seconds=-20),
    "unasked and ended": lambda: SimRequest().pod_is(status={"phase": "Failed"}),
}
"""Pods without a request; the request of the simulation does not count."""
