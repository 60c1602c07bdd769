"""The laws of the process, in their own arithmetic: on whole objects, with nothing of the engine."""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import dataclass, field

from vacate.api.objects import Obj
from vacate.api.times import parse_time

SKEW = dt.timedelta(seconds=10)
OURS = ("Complete", "Progressing", "InterceptorAssigned", "Admitted", "Forced")


def deadline_of(obj: Obj) -> dt.datetime:
    since = obj["status"].get("heartbeatTime") or obj["metadata"]["creationTimestamp"]
    return parse_time(since) + dt.timedelta(seconds=obj["spec"]["heartbeatDeadlineSeconds"])


def condition_of(obj: Obj, type_: str) -> Obj | None:
    found = obj["status"].get("conditions", [])
    return next((one for one in found if one["type"] == type_), None)


def is_complete(obj: Obj) -> bool:
    found = condition_of(obj, "Complete")
    return found is not None and found["status"] == "True"


def forbids(obj: Obj) -> bool:
    return bool(obj["status"].get("evictionRequestCancellationPolicy") == "Forbid")


def counter_of(obj: Obj) -> int:
    return int(obj["status"].get("podEvictionStatus", {}).get("failedAPIEvictionCounter", 0))


def theirs(obj: Obj) -> list[Obj]:
    return [one for one in obj["status"].get("conditions", []) if one["type"] not in OURS]


@dataclass
class InvariantChecker:
    """Looks at every write and every eviction, and remembers the turns."""

    interceptors: tuple[str, ...]  # in the order of their turns
    turns: list[str] = field(default_factory=list)

    # What a controller may write

    def controller_writes(self, old: Obj, new: Obj, now: dt.datetime) -> None:
        assert not is_complete(old), "a completed request changed again"
        assert new["spec"] == old["spec"]
        assert theirs(new) == theirs(old), "a condition of others changed"
        assert self._policy(new) == self._policy(old), "the policy is the interceptors'"
        assert new != patched_alike(old, new), "a write that changes nothing"
        self._names(old, new, now)
        self._counter(old, new)
        self._stage(old, new, now)
        self._completion_reason(old, new)
        self._heartbeat(old, new, now)

    def _names(self, old: Obj, new: Obj, now: dt.datetime) -> None:
        before, after = (obj["status"].get("activeInterceptorName") for obj in (old, new))
        assert after is None if is_complete(new) else after is not None or before is None, (
            "unset before the end"
        )
        if after == before or after is None:
            return
        self.turns.append(after)
        assert tuple(self.turns) == self.interceptors[: len(self.turns)], "skipped, repeated or back up"
        assert before == (self.turns[-2] if len(self.turns) > 1 else None)
        if before and not old["status"].get("activeInterceptorCompleted"):
            assert now >= deadline_of(old) - SKEW, "handed over within the deadline, by the server's clock"
        assert not new["status"]["activeInterceptorCompleted"]
        assert "expectedInterceptorFinishTime" not in new["status"]
        assert new["status"]["message"]
        assigned = condition_of(new, "InterceptorAssigned")
        assert assigned is not None
        assert assigned["lastTransitionTime"] == new["status"]["heartbeatTime"]

    def _counter(self, old: Obj, new: Obj) -> None:
        assert 0 <= counter_of(new) - counter_of(old) <= 1, "the counter fell or leapt"

    def _stage(self, old: Obj, new: Obj, now: dt.datetime) -> None:
        """Blocked is what comes after the last turn; a requester that sees it need not listen on."""
        stage = condition_of(new, "Progressing")
        if stage is None or stage["reason"] != "Blocked":
            return
        if self.interceptors and not old["status"].get("activeInterceptorCompleted"):
            assert now >= deadline_of(old) - SKEW, "blocked within the deadline, by the server's clock"

    def _completion_reason(self, old: Obj, new: Obj) -> None:
        found = condition_of(new, "Complete")
        if found is None:
            return
        assert found["status"] == "True"
        assert found["reason"] in ("PodDeleted", "PodTerminated", "Cancelled")
        if found["reason"] == "Cancelled":
            assert not forbids(old), "Forbid is broken"
            assert not old["spec"]["requesters"] or "deletionTimestamp" in old["metadata"]
        left = {"activeInterceptorName", "expectedInterceptorFinishTime"} & set(new["status"])
        assert not left, f"{left} outlived the request"

    def _heartbeat(self, old: Obj, new: Obj, now: dt.datetime) -> None:
        before, after = (obj["status"].get("heartbeatTime") for obj in (old, new))
        if before == after:
            return
        assert after is not None, "a heartbeat is never unset"
        assert parse_time(after) <= max(now + SKEW, parse_time(before or after))
        assert before is None or parse_time(after) >= parse_time(before)

    def _policy(self, obj: Obj) -> str | None:
        policy: str | None = obj["status"].get("evictionRequestCancellationPolicy")
        return policy

    # What a controller may do

    def gives_up(self, obj: Obj, now: dt.datetime, watching_since: dt.datetime) -> None:
        """Someone's silence is taken as an answer, by the deciding clock."""
        if counter_of(obj):
            assert now >= deadline_of(obj) - 2 * SKEW, "two clocks may be as far apart as that"
            return
        assert now >= deadline_of(obj), "timed out within the deadline"
        tenth = dt.timedelta(seconds=obj["spec"]["heartbeatDeadlineSeconds"]) / 10
        assert now >= watching_since + tenth, "timed out by a controller that was not watching"

    def counts(self, old: Obj, new: Obj) -> None:
        """A refusal was written down."""
        assert counter_of(new) == counter_of(old) + 1, "a refusal was not counted"

    def evicts(self, obj: Obj, pod: Obj | None, now: dt.datetime, watching_since: dt.datetime) -> None:
        """An eviction is posted, by the newest request and the pod as the decider sees it."""
        assert pod is not None
        assert "deletionTimestamp" not in pod["metadata"], "evicted while it terminates"
        assert not pod["metadata"].get("ownerReferences"), "a pod of a DaemonSet was evicted"
        if not self.interceptors:
            return
        assert tuple(self.turns) == self.interceptors, "evicted before all had their turn"
        assert obj["status"]["activeInterceptorName"] == self.interceptors[-1]
        if not obj["status"].get("activeInterceptorCompleted"):
            self.gives_up(obj, now, watching_since)


def patched_alike(old: Obj, new: Obj) -> Obj:
    """The old object under the new revision."""
    alike = copy.deepcopy(old)
    alike["metadata"]["resourceVersion"] = new["metadata"]["resourceVersion"]
    return alike
