"""What a FencingPolicy's status says: rows, counts and conditions, as one guarded patch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from vacate.api.types import condition
from vacate.api.types.evictionrequest import RequestCondition
from vacate.api.types.fencingpolicy import (
    CONFIRMING,
    CONTRADICTED,
    FAILED,
    FENCED,
    FENCING,
    HELD,
    MAX_CONDITIONS,
    MAX_MESSAGE,
    MAX_ROWS,
    SWITCHING_ON,
    FencingPolicy,
    FencingPolicyStatus,
    NodeFencing,
)

ACTIVE, FAILING = "Fencing", "Failing"
CONDITIONS = (ACTIVE, FAILING)
_NOTHING = {ACTIVE: "no node is being fenced", FAILING: "no fence has failed"}
ATTENTION_PHASES = (FAILED, CONTRADICTED)
"""Phases that a person must look at."""

_ORDER = (CONTRADICTED, FAILED, FENCING, CONFIRMING, SWITCHING_ON, FENCED, HELD)


def status_of(policy: FencingPolicy, rows: Sequence[NodeFencing], now: dt.datetime) -> FencingPolicyStatus:
    """The status with these rows: what is under way first, should there be too many."""
    kept = sorted(rows, key=lambda row: (not row.under_way, row.name))[:MAX_ROWS]
    kept.sort(key=lambda row: row.name)
    return FencingPolicyStatus(
        observed_generation=policy.metadata.generation,
        nodes_unreachable=len(rows),
        nodes_fenced=sum(row.phase in (FENCED, SWITCHING_ON) for row in rows),
        message=_message(rows),
        nodes=kept,
        conditions=_conditions(policy, rows, now),
    )


def _message(rows: Sequence[NodeFencing]) -> str:
    if not rows:
        return "all nodes of the policy report"
    first = min(rows, key=lambda row: (_ORDER.index(row.phase) if row.phase in _ORDER else 99, row.name))
    more = f" (and {len(rows) - 1} more)" if len(rows) > 1 else ""
    return f"{_row_message(first)[: MAX_MESSAGE - 40]}{more}"


def _row_message(row: NodeFencing) -> str:
    """A row that another client wrote may have no message, and a condition needs one."""
    return row.message or f"node {row.name}: {row.phase}"


def _conditions(
    policy: FencingPolicy, rows: Sequence[NodeFencing], now: dt.datetime
) -> list[RequestCondition]:
    """Ours after those of others, which stay as they are, as far as there is room."""
    before = policy.status.conditions
    loud = [row for row in rows if row.phase in ATTENTION_PHASES]
    busy = [row for row in rows if row.phase in (FENCING, CONFIRMING, SWITCHING_ON)]
    made = []
    for type_, found in ((ACTIVE, busy), (FAILING, loud)):
        status, old = "True" if found else "False", condition(before, type_)
        since = old.last_transition_time if old is not None and old.status == status else None
        made.append(
            RequestCondition(
                type=type_,
                status=status,
                observed_generation=policy.metadata.generation,
                last_transition_time=since or now.replace(microsecond=0),
                reason=found[0].phase if found else "None",
                message=_row_message(found[0]) if found else _NOTHING[type_],
            )
        )
    others = [one for one in before if one.type not in CONDITIONS]
    return [*others[: MAX_CONDITIONS - len(made)], *made]
