"""The status of a policy, and what its spec means."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from vacate.api.selectors.labels import EVERYTHING, NOTHING, Selector, selector_of
from vacate.api.types.deschedulingpolicy import (
    EVICT,
    MAX_SHOWN,
    NOWHERE_TO_GO,
    REFUSED,
    REPORTED,
    REQUESTED,
    RULES,
    WAITING,
    DeschedulingPolicy,
    DeschedulingPolicyStatus,
    MisplacedPod,
)
from vacate.api.types.labelselector import LabelSelectorSpec
from vacate.api.types.nodemaintenance import MAX_MESSAGE
from vacate.descheduling.plan import Decision, DeschedulingPlan, Limits
from vacate.descheduling.violations import Scope
from vacate.errors import ApiError
from vacate.views.phrases import counted

_WORDS = ((REQUESTED, "requested"), (WAITING, "waiting"), (NOWHERE_TO_GO, "with nowhere to go"))


def scope_of(policy: DeschedulingPolicy) -> Scope:
    """Which rules count, and for which pods."""
    spec = policy.spec
    return Scope(
        tuple(one for one in RULES if one in spec.rules),
        frozenset(spec.namespaces),
        _selector(spec.pod_selector),
        _selector(spec.node_selector),
        spec.local_data_pods == EVICT,
    )


def limits_of(policy: DeschedulingPolicy) -> Limits:
    """How much may happen at once."""
    spec = policy.spec
    return Limits(spec.max_per_node, spec.max_per_namespace, spec.max_total)


def _selector(spec: LabelSelectorSpec | None) -> Selector:
    """One that cannot be understood selects nothing."""
    if spec is None:
        return EVERYTHING
    try:
        return selector_of(msgspec.to_builtins(spec))
    except ApiError:
        return NOTHING


def policy_status(
    policy: DeschedulingPolicy, plan: DeschedulingPlan, refused: Mapping[str, str]
) -> DeschedulingPolicyStatus:
    """The status to write. `refused` has, by the UID of the pod, why the API server refused a request."""
    rows = [_row(policy, one, refused) for one in plan.decisions]
    count = {state: sum(row.state == state for row in rows) for state in (REQUESTED, WAITING, NOWHERE_TO_GO)}
    return DeschedulingPolicyStatus(
        observed_generation=policy.metadata.generation,
        message=_message(len(rows), count, evicts=policy.spec.mode == EVICT),
        violations=len(rows),
        requested=count[REQUESTED],
        waiting=count[WAITING],
        nowhere_to_go=count[NOWHERE_TO_GO],
        pods=rows[:MAX_SHOWN],
    )


def _row(policy: DeschedulingPolicy, one: Decision, refused: Mapping[str, str]) -> MisplacedPod:
    pod = one.violation.pod
    state, message = one.state, one.message
    if policy.spec.mode != EVICT and state == REQUESTED:
        state = REPORTED
    elif state == REQUESTED and (why := refused.get(pod.metadata.uid)):
        state, message = REFUSED, f"{message}; the API server refused the EvictionRequest: {why}"
    return MisplacedPod(
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        node=pod.spec.node_name,
        rule=one.violation.rule,
        state=state,
        message=message if len(message) <= MAX_MESSAGE else f"{message[: MAX_MESSAGE - 1]}…",
    )


def _message(found: int, count: Mapping[str, int], *, evicts: bool) -> str:
    if not found:
        return "every pod is where it should be"
    have = "is" if found == 1 else "are"
    text = f"{counted(found, 'pod')} {have} misplaced"
    if not evicts:
        return f"{text}; nothing is evicted, as the mode is Report"
    parts = [f"{count[state]} {word}" for state, word in _WORDS if count[state]]
    return f"{text}: {', '.join(parts)}" if parts else text
