"""Rules about when a pod may go or be replaced, taken out."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterable, Sequence

import pytest

from vacate.admission import nodedeletion
from vacate.admission.pods import forcedeletion
from vacate.admission.pods.forcedeletion import Guard
from vacate.api.identity import User
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.options import DeleteOptions
from vacate.api.types import Node, PersistentVolume, Pod, StatefulSet
from vacate.controllers.nodedown import controller as nodedown
from vacate.controllers.nodedown.controller import needs_change
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.podgc import controller as podgc
from vacate.embedded.controllers.podgc.controller import Reason, reason_to_remove
from vacate.embedded.controllers.statefulset import controller as statefulset_controller
from vacate.embedded.controllers.statefulset import plan as plan_of_members
from vacate.embedded.controllers.statefulset.controller import PodWriter
from vacate.embedded.controllers.statefulset.identity import pod_name
from vacate.embedded.controllers.statefulset.plan import Creation
from vacate.errors import NotFound
from vacate.kube.nodes import readiness
from vacate.nodeagent.model import PodProgress
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.podworker import PodWorker
from vacate.nodeagent.runtime.protocol import ContainerState

Patch = pytest.MonkeyPatch


def silence_is_the_end_for_pod_gc(patch: Patch) -> None:
    def eager(one: Pod, node: Node | None) -> Reason | None:
        if one.terminating and node is not None and readiness(node) == "Unknown":
            return Reason.OUT_OF_SERVICE
        return reason_to_remove(one, node)

    patch.setattr(podgc, "reason_to_remove", eager)


def no_quarantine(patch: Patch) -> None:
    patch.setattr(podgc, "QUARANTINE", dt.timedelta(0))


def members_are_replaced_early(patch: Patch) -> None:
    """A controller that takes a terminating member for gone, and pushes it out of its name's way."""

    def eager(
        one: StatefulSet, update: str, pods: Sequence[Pod], now: dt.datetime
    ) -> plan_of_members.StatefulSetPlan:
        return plan_members(one, update, [pod for pod in pods if not pod.terminating], now)

    async def create(writer: PodWriter, one: StatefulSet, creation: Creation, known: Recorded) -> object:
        name = pod_name(one, creation.ordinal)
        with contextlib.suppress(NotFound):
            await writer._deps.client.delete(PODS, name, "default", DeleteOptions(grace_period_seconds=0))
        return await make(writer, one, creation, known)

    plan_members, make = plan_of_members.plan_members, PodWriter._create
    patch.setattr(statefulset_controller, "plan_members", eager)
    patch.setattr(PodWriter, "_create", create)


def nobody_asks_about_nodes(patch: Patch) -> None:
    def may_ask(node: Obj, user: User, guard: Guard) -> bool:
        return False

    patch.setattr(nodedeletion, "may_ask", may_ask)


def members_count_for_nothing(patch: Patch) -> None:
    """Only exclusive volumes are looked at."""

    def runs_once(pod: Pod, exclusive: Iterable[PersistentVolume]) -> bool:
        return not pod.terminal and any(exclusive)

    patch.setattr(nodedeletion, "runs_once", runs_once)


def members_may_go_without_grace(patch: Patch) -> None:
    def lacks_grace(pod: Obj) -> bool:
        return False

    patch.setattr(forcedeletion, "lacks_grace", lacks_grace)


def no_pod_says_that_its_node_is_lost(patch: Patch) -> None:
    def needs(pod: Pod, node: Node) -> bool:
        return needs_change(pod, node) and readiness(node) != "Unknown"

    patch.setattr(nodedown, "needs_change", needs)


def no_pod_says_that_its_node_is_back(patch: Patch) -> None:
    def needs(pod: Pod, node: Node) -> bool:
        return needs_change(pod, node) and readiness(node) == "Unknown"

    patch.setattr(nodedown, "needs_change", needs)


def an_agent_forgets_what_runs(patch: Patch) -> None:
    """An agent that starts does not take over the processes of the one before."""

    def adopt(self: PodReconciler, states: Iterable[ContainerState]) -> None:
        return None

    patch.setattr(PodReconciler, "adopt", adopt)


def a_pod_goes_before_its_processes(patch: Patch) -> None:
    """Two rules hold this line, and both are taken out.

    The agent waits until no container is busy, and then has the runtime forget the runs, which it refuses of
    one that goes on; only then the pod is deleted.
    """

    async def clean(self: PodReconciler, held: PodWorker) -> None:
        return None

    patch.setattr(PodProgress, "busy", property(lambda _: False))
    patch.setattr(PodReconciler, "_clean", clean)
