"""PURE. What a shutdown manager shows of itself, and what the Node says of it: conditions and Events."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.events import NORMAL, WARNING, EventNote, Regarding
from vacate.api.kinds import NODES

BESIDE_KUBELET, SHORT_DELAY = "BesideKubelet", "ShortDelay"
"""Reasons of the condition by which the Node says whether it would terminate its pods in order."""


@dataclass(frozen=True, slots=True)
class ManagerState:
    """What others may know of a shutdown manager."""

    active: bool = False  # the node goes down: it is not ready and takes no pods
    finished: bool = False  # every bucket had its turn
    locked: bool = False  # a delay lock is held
    # Why the feature is unavailable or falls short; empty if neither.
    problem: str = "logind was not asked yet"
    refused: str = ""  # if not empty: nothing is done here, for this reason in one word
    connected: bool = True  # logind can be heard; a lock may be held all the same where it cannot


@dataclass(frozen=True, slots=True)
class Marks:
    """What the Node should say. The kubelet's own Ready condition stays the kubelet's."""

    going_down: bool = False
    orderly: bool = False
    reason: str = ""
    message: str = ""


def marks_of(state: ManagerState, *, beside_kubelet: bool) -> Marks:
    """From what the manager shows."""
    if state.refused:
        return Marks(state.active, False, state.refused, state.problem)
    if state.problem and not (state.locked and state.connected):
        return Marks(state.active, False, "Unavailable", state.problem)
    if state.problem:
        return Marks(state.active, True, SHORT_DELAY, state.problem)
    if beside_kubelet:
        message = "the kubelet terminates the pods, after interceptors had their turns"
        return Marks(state.active, True, BESIDE_KUBELET, message)
    return Marks(state.active, True, "Agent", "the agent of the node terminates the pods in order")


def shutdown_event(node: str, state: ManagerState) -> EventNote:
    """That a shutdown has begun, or that it was cancelled."""
    message = "the machine goes down: pods are terminated by priority, and new ones are rejected"
    if not state.active:
        message = "the shutdown was cancelled: no further pod is terminated"
    elif state.problem:
        message += f"; {state.problem}"
    about = Regarding(NODES.api_version, NODES.kind, node, uid=node)  # as kubelets name their Node
    return EventNote(about, WARNING if state.problem else NORMAL, "Shutdown", message)
