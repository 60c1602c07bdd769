"""What a Deployment says about evictions of its pods: two status fields of the proposal, as annotations.

`status.replicasToEvict` and the condition `EvictionRequestInProgress` have no place in the schema of a stock
cluster. As annotations they are written with the patches of a surge, and cost no writes of their own then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vacate.api.types.evictionrequest import EvictionRequest
from vacate.eviction.model import Stage
from vacate.eviction.records.reader import recorded_stage
from vacate.kube.surge import IN_PROGRESS, REPLICAS_TO_EVICT

_WITHOUT_INTERCEPTOR = (Stage.EVICTING, Stage.BLOCKED)


def report_change(
    annotations: Mapping[str, str], requests: Sequence[EvictionRequest]
) -> dict[str, str | None]:
    """What to change about the annotations, as a merge patch has it; empty where they are right."""
    wanted: dict[str, str | None] = dict.fromkeys((REPLICAS_TO_EVICT, IN_PROGRESS))
    if requests:
        prepared = any(recorded_stage(one) not in _WITHOUT_INTERCEPTOR for one in requests)
        wanted = {REPLICAS_TO_EVICT: str(len(requests)), IN_PROGRESS: str(prepared).lower()}
    return {key: value for key, value in wanted.items() if annotations.get(key) != value}
