"""The safety rules, each with a patch that takes it out, and a seed that finds it missing where one is known.

`python -m support.laboratory.removals --seeds 100 NAME…` looks for such seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import logging
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec
import pytest

from support.laboratory.scenario import GATES, play
from vacate.api.kinds import PODS
from vacate.api.objects import Obj
from vacate.api.types import Node, PersistentVolume, Pod, StatefulSet
from vacate.controllers.exclusivevolumes import controller as attaching
from vacate.controllers.fencing import attempt
from vacate.embedded.apiserver.subresources import evictiondecision
from vacate.embedded.controllers.controllerrevisions.history import Recorded
from vacate.embedded.controllers.podgc import controller as podgc
from vacate.embedded.controllers.podgc.reasons import Reason, reason_to_remove
from vacate.embedded.controllers.statefulset import controller as statefulset_controller
from vacate.embedded.controllers.statefulset import plan as plan_of_members
from vacate.embedded.controllers.statefulset.identity import pod_name
from vacate.embedded.controllers.statefulset.plan import Creation
from vacate.embedded.controllers.statefulset.pods import PodWriter
from vacate.embedded.store.commit import Batch
from vacate.errors import NotFound
from vacate.features import FeatureGates
from vacate.fencing import limits
from vacate.fencing.agents import Answer
from vacate.kube.eviction import CoveringBudget
from vacate.kube.exclusivevolumes import Attachment, attachment_patch
from vacate.kube.nodes import readiness
from vacate.nodeagent.model import PodProgress
from vacate.nodeagent.pods import PodReconciler
from vacate.nodeagent.runtime.protocol import ContainerState
from vacate.nodeagent.volumes import manager as podvolumes
from vacate.nodeagent.volumes.claims import VolumeNotReady, ready_volume

Patch = pytest.MonkeyPatch
ANY_VOLUME = msgspec.convert(
    {"metadata": {"name": "disk"}, "spec": {"hostPath": {"path": "/"}}}, PersistentVolume
)


@dataclass(frozen=True, slots=True)
class Removal:
    """A rule that is taken out."""

    plant: Callable[[Patch], None]
    seed: int | None = None  # one that finds it, where one is known
    gates: FeatureGates = GATES


def _overwrite_the_record(patch: Patch) -> None:
    """The record of an exclusive volume is written without a look at the version that was read."""

    def blind(volume: PersistentVolume, new: Attachment | None) -> Obj:
        made = attachment_patch(volume, new)
        del made["metadata"]["resourceVersion"]
        return made

    patch.setattr(attaching, "attachment_patch", blind)


def _nodes_do_not_wait(patch: Patch) -> None:
    """A node starts a pod although its volume is attached elsewhere."""
    original = ready_volume

    async def ready(client: object, namespace: str, claim: str, uid: str, node: str) -> PersistentVolume:
        try:
            return await original(client, namespace, claim, uid, node)  # type: ignore[arg-type]
        except VolumeNotReady:
            return ANY_VOLUME

    patch.setattr(podvolumes, "ready_volume", ready)


def _terminating_frees_the_volume(patch: Patch) -> None:
    def why(pod: Pod | None, node: Node | None, *, where: str, seen_to_end: bool) -> str:
        return "" if pod is None or pod.terminating or pod.terminal else "the pod uses it"

    patch.setattr(attaching, "why_unconfirmed", why)


def _silence_frees_the_volume(patch: Patch) -> None:
    """A pod of a node that has not reported for a while is taken for ended."""
    original = attaching.ExclusiveVolumes._why_kept

    async def why(self: attaching.ExclusiveVolumes, holder: object, name: str) -> str:
        node = await self._read_node(name) if name else None
        return "" if node is not None and readiness(node) == "Unknown" else await original(self, holder, name)  # type: ignore[arg-type]

    patch.setattr(attaching.ExclusiveVolumes, "_why_kept", why)


def _silence_is_the_end_for_pod_gc(patch: Patch) -> None:
    def eager(one: Pod, node: Node | None) -> Reason | None:
        if one.terminating and node is not None and readiness(node) == "Unknown":
            return Reason.OUT_OF_SERVICE
        return reason_to_remove(one, node)

    patch.setattr(podgc, "reason_to_remove", eager)


def _no_quarantine(patch: Patch) -> None:
    patch.setattr(podgc, "QUARANTINE", dt.timedelta(0))


def _members_are_replaced_early(patch: Patch) -> None:
    """A controller that takes a terminating member for gone, and pushes it out of its name's way."""

    def eager(one: StatefulSet, update: str, pods: Sequence[Pod], now: dt.datetime) -> plan_of_members.Plan:
        return plan_members(one, update, [pod for pod in pods if not pod.terminating], now)

    async def create(writer: PodWriter, one: StatefulSet, creation: Creation, known: Recorded) -> object:
        name = pod_name(one, creation.ordinal)
        with contextlib.suppress(NotFound):
            await writer._deps.client.delete(PODS, name, "default", grace_period_seconds=0)
        return await make(writer, one, creation, known)

    plan_members, make = plan_of_members.plan_members, PodWriter._create
    patch.setattr(statefulset_controller, "plan_members", eager)
    patch.setattr(PodWriter, "_create", create)


def _the_word_of_an_agent_is_enough(patch: Patch) -> None:
    def believe(_: Answer) -> bool:
        return True

    patch.setattr(attempt, "is_confirmed_off", believe)


def _no_healthy_share(patch: Patch) -> None:
    patch.setattr(limits, "_too_few_healthy", lambda *_: "")
    patch.setattr(attempt, "silent_nodes", lambda *_: [])


def _no_limit_of_fences(patch: Patch) -> None:
    patch.setattr(limits, "_too_many_fenced", lambda *_: "")


def _an_agent_forgets_what_runs(patch: Patch) -> None:
    """An agent that starts does not take over the processes of the one before."""

    def adopt(self: PodReconciler, states: Iterable[ContainerState]) -> None:
        return None

    patch.setattr(PodReconciler, "adopt", adopt)


def _a_pod_goes_before_its_processes(patch: Patch) -> None:
    patch.setattr(PodProgress, "busy", property(lambda _: False))


def _acknowledged_before_the_disk_has_it(patch: Patch) -> None:
    async def wait(_: Batch) -> None:
        return None

    patch.setattr(Batch, "wait", wait)


def _budgets_are_not_asked(patch: Patch) -> None:
    def none(pod: Obj, budgets: Sequence[Obj]) -> CoveringBudget | None:
        return None

    patch.setattr(evictiondecision, "budget_to_spend", none)


def _nothing(patch: Patch) -> None:
    """The gate says it."""


UNGUARDED = FeatureGates((*GATES.overrides, ("PodForceDeleteGuard", False)))

REMOVALS: dict[str, Removal] = {
    "the record of a volume is swapped, not overwritten": Removal(_overwrite_the_record, None),
    "nodes wait until a volume is attached": Removal(_nodes_do_not_wait, 0),
    "a terminating pod keeps its volume": Removal(_terminating_frees_the_volume, None),
    "a silent node keeps its volumes": Removal(_silence_frees_the_volume, 1),
    "pod GC does not take silence for the end": Removal(_silence_is_the_end_for_pod_gc, 1),
    "pod GC waits before it believes that a node is gone": Removal(_no_quarantine, None),
    "no member is replaced while its old pod exists": Removal(_members_are_replaced_early, 0, UNGUARDED),
    "force deletion must be confirmed": Removal(_nothing, 1, UNGUARDED),
    "what a fence agent did is read back": Removal(_the_word_of_an_agent_is_enough, None),
    "nobody is fenced when too few report": Removal(_no_healthy_share, None),
    "never more fenced than allowed": Removal(_no_limit_of_fences, None),
    "an agent takes over what runs": Removal(_an_agent_forgets_what_runs, None),
    "a pod goes after its processes": Removal(_a_pod_goes_before_its_processes, None),
    "a write is acknowledged when the disk has it": Removal(_acknowledged_before_the_disk_has_it, 0),
    "budgets are asked before an eviction": Removal(_budgets_are_not_asked, None),
}
"""Each rule, what takes it out, and a seed that then fails, where one is known."""


def finds(rule: str, seed: int) -> list[str]:
    """What the laboratory finds with this seed when the rule is taken out."""
    removal = REMOVALS[rule]
    with pytest.MonkeyPatch.context() as patch:
        removal.plant(patch)
        try:
            return play(seed, removal.gates, stops=True).breaches
        except Exception as error:  # such as a process that ended: found, too
            return [f"{type(error).__name__}: {error}"]


def _found(arguments: tuple[str, int]) -> tuple[str, int, list[str]]:
    logging.disable(logging.CRITICAL)
    return (*arguments, finds(*arguments))


def main() -> int:
    """Look for seeds."""
    parser = argparse.ArgumentParser(prog="support.laboratory.removals", description=__doc__)
    parser.add_argument("rules", nargs="*", default=list(REMOVALS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    left = dict.fromkeys(options.rules)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for seed in range(options.seeds):
            for rule, _, found in pool.imap_unordered(_found, [(rule, seed) for rule in left]):
                if found:
                    print(f"{rule}: seed {seed}: {found[0][:200]}", flush=True)
                    left.pop(rule, None)
    print(f"not found: {', '.join(left) or 'none'}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
