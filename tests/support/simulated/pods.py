"""Simulated pods for tests of the node's pure parts."""

from __future__ import annotations

import datetime as dt
from typing import Any

import msgspec

from vacate.api.objects import Obj
from vacate.embedded.nodes.projections import SimulatedPod
from vacate.testing import pod

T0 = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def at(seconds: float) -> dt.datetime:
    return T0 + dt.timedelta(seconds=seconds)


def simulated_pod(obj: Obj | None = None, **overrides: Any) -> SimulatedPod:
    """A stored pod on node-1 as its node sees it."""
    return msgspec.convert(obj or pod("web", node="node-1", stored=True, **overrides), SimulatedPod)


def deleted(obj: Obj, grace: int, when: float = 0.0) -> SimulatedPod:
    """The pod once its deletion has begun."""
    meta = obj["metadata"] | {
        "deletionTimestamp": at(when + grace).isoformat(),
        "deletionGracePeriodSeconds": grace,
    }
    return simulated_pod(obj | {"metadata": meta})
