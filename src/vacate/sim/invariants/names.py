"""The invariants of the whole system by name, so that a breach says which of them was broken."""

from __future__ import annotations

import enum
from collections.abc import Callable


class Invariant(enum.StrEnum):
    """What must hold, whatever fails."""

    ONE_PROCESS = "at most one live process for each identity of a pod"
    ONE_NODE = "at most one node uses an exclusive volume"
    PROCESSES_FIRST = "no pod object is gone before its processes"
    FENCED_IS_EMPTY = "nothing that reaches its storage runs on a node that is declared out of service"
    FENCED_STAYS_CUT = "nothing from before a storage fence reaches the storage again"
    FENCE_LIMIT = "never more nodes out of service than the policy allows"
    FENCE_QUORUM = "no node is switched off when too few of the others report"
    PARTITIONS_SHOWN = "pods of a node that does not report say so, and others do not"
    DURABLE = "every acknowledged write is kept"
    BUDGETS = "no eviction overspends a budget"
    REQUESTS = "no eviction request breaks the rules of its process"
    REQUESTS_END = "every eviction request ends when the faults have stopped"
    MAINTENANCES_END = "every maintenance ends when the faults have stopped"
    SHUTDOWNS_END = "every shutdown ends when the faults have stopped"
    COMPLETION = "all workloads run and all nodes take pods when the faults have stopped"
    RUNNING = "no process ends by itself"


BreachReport = Callable[[Invariant, str], None]
"""Takes a breach: of which invariant, and what happened."""
