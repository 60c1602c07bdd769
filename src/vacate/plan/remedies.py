"""What a command of a remedy would change: it is applied to the snapshot, and the plan made again. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

import orjson

from vacate.api.kinds import DEPLOYMENTS, PODDISRUPTIONBUDGETS, STATEFULSETS, Kind
from vacate.api.objects import Obj
from vacate.api.types import PodDisruptionBudget
from vacate.api.types.nodemaintenance import Blocker
from vacate.client.codec import codec_for
from vacate.plan.snapshot import Snapshot
from vacate.views.budgets import never_allows
from vacate.views.phrases import command_line

_ANNOTATE = re.compile(r"kubectl annotate (deployment|statefulset) [^;]+ -n [^;\s]+")
_KINDS = {"deployment": DEPLOYMENTS, "statefulset": STATEFULSETS}
_ONE_AT_A_TIME = {"minAvailable": None, "maxUnavailable": 1}


def commands_of(blocker: Blocker, snapshot: Snapshot) -> list[tuple[str, Snapshot]]:
    """The commands that would help against a blocker, each with the snapshot after it."""
    found = []
    if (match := _ANNOTATE.search(blocker.remedy)) is not None:
        _, _, kind, name, setting, _, namespace = shlex.split(match[0])
        key, _, value = setting.partition("=")
        changed = _changed(snapshot, _KINDS[kind], namespace, name, lambda obj: _annotated(obj, key, value))
        found += [(match[0], changed)] if changed is not None else []
    if blocker.kind == "DisruptionBudget" and _is_strict(snapshot, blocker.namespace, blocker.name):
        patch = orjson.dumps({"spec": _ONE_AT_A_TIME}).decode()
        words = "patch", "pdb", blocker.name, "-n", blocker.namespace, "--type", "merge", "-p", patch
        changed = _changed(
            snapshot, PODDISRUPTIONBUDGETS, blocker.namespace, blocker.name,
            lambda obj: {**obj, "spec": {**_without(obj["spec"], "minAvailable"), "maxUnavailable": 1}},
        )  # fmt: skip
        found += [(command_line("kubectl", *words), changed)] if changed is not None else []
    return found


def _is_strict(snapshot: Snapshot, namespace: str, name: str) -> bool:
    for one in snapshot.of(PODDISRUPTIONBUDGETS):
        if (one["metadata"]["namespace"], one["metadata"]["name"]) == (namespace, name):
            return never_allows(codec_for(PodDisruptionBudget).convert(one))
    return False


def _changed(
    snapshot: Snapshot, kind: Kind, namespace: str, name: str, change: Callable[[Obj], Obj]
) -> Snapshot | None:
    """The snapshot with one object changed; None where it is not in it."""
    objects: Sequence[Obj] = snapshot.of(kind)
    places = [(one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
    if (namespace, name) not in places:
        return None
    at = places.index((namespace, name))
    return snapshot.having(kind, [*objects[:at], change(objects[at]), *objects[at + 1 :]])


def _annotated(obj: Obj, key: str, value: str) -> Obj:
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "annotations": {**meta.get("annotations", {}), key: value}}}


def _without(obj: Obj, key: str) -> Obj:
    return {name: value for name, value in obj.items() if name != key}
