"""Pods."""

from __future__ import annotations

import datetime as dt
from typing import Any

from vacate.api.ages import age
from vacate.api.objects import Obj, dig, name_of
from vacate.embedded.apiserver.printers.columns import AGE, NAME, NONE, Column, Printer, wide
from vacate.embedded.apiserver.printers.podstatus import summarise

_COMPLETED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def _cells(pod: Obj, now: dt.datetime) -> list[Any]:
    summary = summarise(pod)
    return [
        name_of(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        summary.restarts_text(now),
        age(pod, now),
        _address(pod),
        dig(pod, "spec", "nodeName") or NONE,
        dig(pod, "status", "nominatedNodeName") or NONE,
        _readiness_gates(pod),
    ]


def _address(pod: Obj) -> str:
    addresses = dig(pod, "status", "podIPs")
    found = addresses[0].get("ip") if addresses else dig(pod, "status", "podIP")
    return found or NONE


def _readiness_gates(pod: Obj) -> str:
    gates = dig(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    statuses: dict[str, str] = {}
    for one in dig(pod, "status", "conditions") or ():
        statuses.setdefault(one.get("type", ""), one.get("status", ""))
    passed = sum(statuses.get(gate.get("conditionType", "")) == "True" for gate in gates)
    return f"{passed}/{len(gates)}"


def _conditions(pod: Obj) -> list[Obj]:
    phase = dig(pod, "status", "phase")
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


PODS = Printer(
    NAME,
    Column("Ready", "How many of the pod's containers are ready."),
    Column("Status", "One word for how the pod is doing."),
    Column("Restarts", "How often the containers were restarted, and when last."),
    AGE,
    wide("IP", "The pod's first address."),
    wide("Node", "The node on which the pod runs."),
    wide("Nominated Node", "The node that is being cleared for the pod."),
    wide("Readiness Gates", "How many of the further conditions for readiness are met."),
    cells=_cells,
    conditions=_conditions,
)
