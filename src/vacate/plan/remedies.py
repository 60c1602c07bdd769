"""What a command of a remedy would change: it is applied to the snapshot, and the plan made again. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial

from vacate.api.kinds import DEPLOYMENTS, HORIZONTALPODAUTOSCALERS, PODDISRUPTIONBUDGETS, STATEFULSETS, Kind
from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import Blocker
from vacate.embedded.apiserver.patch.mergepatch import apply_merge_patch
from vacate.plan.snapshot import Snapshot

_KINDS = {
    "deployment": DEPLOYMENTS,
    "statefulset": STATEFULSETS,
    "hpa": HORIZONTALPODAUTOSCALERS,
    "pdb": PODDISRUPTIONBUDGETS,
}


def commands_of(blocker: Blocker, snapshot: Snapshot) -> list[tuple[str, Snapshot]]:
    """The commands that would help against a blocker, each with the snapshot after it."""
    found = []
    for command in (one.command for one in blocker.remedies):
        match shlex.split(command):
            case ["kubectl", "annotate", kind, name, setting, "-n", namespace, *_] if kind in _KINDS:
                key, _, value = setting.partition("=")
                change = partial(_annotated, key=key, value=value)
                changed = _changed(snapshot, _KINDS[kind], namespace, name, change)
            case ["kubectl", "scale", kind, name, replicas, "-n", namespace] if kind in _KINDS:
                change = partial(_scaled, replicas=int(replicas.removeprefix("--replicas=")))
                changed = _changed(snapshot, _KINDS[kind], namespace, name, change)
            case ["kubectl", "patch", kind, name, "-n", namespace, "--type", "merge", "-p", text] if (
                kind in _KINDS
            ):
                patched = partial(_patched, patch=json.loads(text))
                changed = _changed(snapshot, _KINDS[kind], namespace, name, patched)
            case _:
                continue
        found += [(command, changed)] if changed is not None else []
    return found


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


def _scaled(obj: Obj, replicas: int) -> Obj:
    """With a generation of its own: what was counted for the old number does not hold for the new one."""
    meta = obj["metadata"]
    generation = (meta.get("generation") or 1) + 1
    return {
        **obj,
        "metadata": {**meta, "generation": generation},
        "spec": {**obj["spec"], "replicas": replicas},
    }


def _patched(obj: Obj, patch: Obj) -> Obj:
    return apply_merge_patch(deepcopy(obj), patch)
