"""The revisions of a deployment: which replica set is the new one, its number, and which to forget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from vacate.api.integers import MAX_INT32, parse_integer
from vacate.api.kinds import DEPLOYMENTS, REPLICASETS
from vacate.api.types import Deployment, ReplicaSet
from vacate.api.workloads import TEMPLATE_HASH
from vacate.embedded.controllers.deployment.sizes import (
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    max_surge,
    oldest_first,
)
from vacate.kube.ownership import controller_reference

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
_NOT_COPIED = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
)  # fmt: skip
_HISTORY_CHARACTERS = 2000
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_MAX_NAME = 253
_UNLIMITED = MAX_INT32


def split(
    deployment: Deployment, replica_sets: Sequence[ReplicaSet]
) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
    """The replica set of the present template, if there is one, and all others."""
    wanted = deployment.spec.template
    ordered = oldest_first(replica_sets)
    new = next((one for one in ordered if _same(one.spec.template, wanted)), None)
    return new, [one for one in ordered if one is not new]


def _same(template: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether they are alike once compared. Most are as they stand, but for the label, which takes less."""
    return _unhashed(template) == _unhashed(other) or comparable(template) == comparable(other)


def _unhashed(template: Mapping[str, Any]) -> dict[str, Any]:
    meta = template.get("metadata") or {}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**meta, "labels": labels}}


def comparable(template: Mapping[str, Any]) -> dict[str, Any]:
    """The template without its hash label and without fields that say nothing."""
    plain = _without_nothing(template) or {}
    labels = plain.get("metadata", {}).get("labels", {})
    labels.pop(TEMPLATE_HASH, None)
    found = _without_nothing(plain) or {}
    assert isinstance(found, dict)
    return found


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        kept = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item is not None} or None
    if isinstance(value, list):
        return [_without_nothing(item) for item in value] or None
    return value


def template_hash(template: Mapping[str, Any], collisions: int | None) -> str:
    """Ten or fewer characters that name a template; another number of collisions gives another name."""
    text = msgspec.json.encode(comparable(template), order="sorted")
    if collisions is not None:
        text += collisions.to_bytes(8, "little")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(_fnv32a(text)))


def _fnv32a(data: bytes) -> int:
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def revision(one: ReplicaSet) -> int:
    """The number of the revision, zero where it has none that can be read."""
    text = one.metadata.annotations.get(REVISION, "")
    return parse_integer(text) or 0 if text.isdigit() else 0


def next_revision(old: Sequence[ReplicaSet]) -> int:
    """One more than any earlier revision."""
    return max((revision(one) for one in old), default=0) + 1


def new_replica_set(deployment: Deployment, replicas: int, number: int) -> dict[str, Any]:
    """The replica set of the present template, to be created with that size."""
    template = deployment.spec.template
    hashed = template_hash(template, deployment.status.collision_count)
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), TEMPLATE_HASH: hashed}
    selector = msgspec.to_builtins(deployment.spec.selector)
    selector["matchLabels"] = {**deployment.spec.selector.match_labels, TEMPLATE_HASH: hashed}
    return {
        "apiVersion": REPLICASETS.api_version,
        "kind": REPLICASETS.kind,
        "metadata": {
            "name": _name(deployment.metadata.name, hashed),
            "namespace": deployment.metadata.namespace,
            "labels": labels,
            "annotations": {
                **copied_annotations(deployment),
                REVISION: str(number),
                **size_notes(deployment),
            },
            "ownerReferences": [controller_reference(DEPLOYMENTS, deployment.metadata)],
        },
        "spec": {
            "replicas": replicas,
            "minReadySeconds": deployment.spec.min_ready_seconds,
            "selector": selector,
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        },
    }


def _name(deployment: str, hashed: str) -> str:
    return f"{deployment[: _MAX_NAME - 1 - len(hashed)]}-{hashed}"


def size_notes(deployment: Deployment) -> dict[str, str]:
    """What replica sets remember about the size of the whole."""
    wanted = deployment.spec.replicas
    return {DESIRED_REPLICAS: str(wanted), MAX_REPLICAS: str(wanted + max_surge(deployment))}


def copied_annotations(deployment: Deployment) -> dict[str, str]:
    """The annotations that a new replica set takes over, change-cause among them."""
    return {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}


def annotation_changes(deployment: Deployment, new: ReplicaSet, number: int) -> dict[str, str]:
    """What the replica set of the present template must still take over, its new number included."""
    have = new.metadata.annotations
    wanted = copied_annotations(deployment)
    before = have.get(REVISION)
    if before is not None and before and not before.isdigit():
        number = 0
    if revision(new) < number:
        wanted[REVISION] = str(number)
        if before is not None:
            wanted |= _history(have.get(REVISION_HISTORY, ""), before)
    return {key: value for key, value in wanted.items() if have.get(key) != value}


def _history(known: str, before: str) -> dict[str, str]:
    """The earlier numbers of a replica set that was rolled back to, the oldest dropped where it gets long."""
    numbers = [*(known.split(",") if known else []), before]
    while len(numbers) > 1 and len(",".join(numbers)) > _HISTORY_CHARACTERS:
        numbers.pop(0)
    return {REVISION_HISTORY: ",".join(numbers)}


def forgotten(deployment: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """The old replica sets beyond the history limit that hold nothing any more."""
    limit = deployment.spec.revision_history_limit
    if limit is None or limit == _UNLIMITED:
        return []
    alive = [one for one in old if one.metadata.deletion_timestamp is None]
    by_revision = sorted(oldest_first(alive), key=revision)
    return [one for one in by_revision[: max(0, len(alive) - limit)] if _is_empty(one)]


def _is_empty(one: ReplicaSet) -> bool:
    observed = one.metadata.generation <= one.status.observed_generation
    return one.status.replicas == 0 and one.spec.replicas == 0 and observed
