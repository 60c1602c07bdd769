"""Which revision has which template, what a new one looks like, and which are forgotten."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from vacate.api.kinds import CONTROLLERREVISIONS, Kind
from vacate.api.types import ControllerRevision, ObjectMeta
from vacate.embedded.controllers.deployment.revisions import comparable, template_hash
from vacate.kube.ownership import controller_reference

REVISION_HASH = "controller-revision-hash"
"""The label by which a pod tells its revision."""
HASH = "controller.kubernetes.io/hash"
"""The label by which a revision tells its hash."""
_MAX_PREFIX = 223


def revision_data(template: Mapping[str, Any]) -> dict[str, Any]:
    """A strategic merge patch that brings the owner back to this template: what `rollout undo` applies."""
    return {"spec": {"template": {**template, "$patch": "replace"}}}


def template_of(revision: ControllerRevision) -> dict[str, Any]:
    """The template that a revision holds; empty where its data are not what was written."""
    spec = revision.data.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    if not isinstance(template, dict):
        return {}
    return {key: value for key, value in template.items() if key != "$patch"}


def hash_of(revision: ControllerRevision) -> str:
    """The hash of its template; pods of daemon sets carry it, those of stateful sets the revision's name."""
    return revision.metadata.labels.get(HASH, "")


def by_number(revisions: Sequence[ControllerRevision]) -> list[ControllerRevision]:
    """The oldest first."""
    return sorted(revisions, key=lambda one: (one.revision, one.metadata.name))


def newest_with(
    template: Mapping[str, Any], revisions: Sequence[ControllerRevision]
) -> ControllerRevision | None:
    """The newest revision with this template."""
    wanted = comparable(template)
    found = [one for one in by_number(revisions) if comparable(template_of(one)) == wanted]
    return found[-1] if found else None


def next_number(revisions: Sequence[ControllerRevision]) -> int:
    """One more than any earlier revision."""
    return max((one.revision for one in revisions), default=0) + 1


def new_revision(
    kind: Kind, owner: ObjectMeta, template: Mapping[str, Any], collisions: int | None, number: int
) -> dict[str, Any]:
    """The revision of the owner's present template, to be created."""
    hashed = template_hash(template, collisions)
    labels = dict((template.get("metadata") or {}).get("labels") or {})
    return {
        "apiVersion": CONTROLLERREVISIONS.api_version,
        "kind": CONTROLLERREVISIONS.kind,
        "metadata": {
            "name": f"{owner.name[:_MAX_PREFIX]}-{hashed}",
            "namespace": owner.namespace,
            "labels": {**labels, HASH: hashed},
            "annotations": dict(owner.annotations),
            "ownerReferences": [controller_reference(kind, owner)],
        },
        "revision": number,
        "data": revision_data(template),
    }


def forgotten(
    revisions: Sequence[ControllerRevision], live: Collection[str], limit: int | None
) -> list[ControllerRevision]:
    """The oldest revisions beyond the limit that no pod has; `live` are the names of those in use."""
    unused = [one for one in by_number(revisions) if one.metadata.name not in live]
    return unused[: max(0, len(unused) - (10 if limit is None else max(limit, 0)))]
