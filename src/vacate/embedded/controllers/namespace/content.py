"""What a terminating namespace says of the content that is still in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.kinds import Kind
from vacate.api.types import Condition, Namespace, ObjectMeta, condition

FINALIZER = "kubernetes"

_SUCCESS_CONDITIONS = (
    ("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    ("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed"),
    ("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished"),
)


@dataclass(slots=True)
class Content:
    """What is left in a namespace, and what could not be deleted."""

    counts: dict[str, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def count(self, kind: Kind, left: Sequence[ObjectMeta]) -> None:
        """These objects of the kind are still there."""
        if left:
            self.counts[f"{kind.plural}.{kind.group}"] = len(left)
        for one in left:
            for name in one.finalizers:
                self.finalizers[name] = self.finalizers.get(name, 0) + 1

    @property
    def empty(self) -> bool:
        """Whether nothing is left and nothing went wrong."""
        return not self.counts and not self.failures


def must_be_emptied(namespace: Namespace) -> bool:
    """Whether the namespace is terminating and still waits for this controller."""
    return namespace.metadata.deletion_timestamp is not None and FINALIZER in namespace.spec.finalizers


def content_conditions(before: Sequence[Condition], content: Content, now: dt.datetime) -> list[Condition]:
    """The conditions that report this content; a transition time moves only with its status."""
    bad = _complaints(content)
    found = list(before)
    for type_, reason, message in _SUCCESS_CONDITIONS:
        status = "False"
        if type_ in bad:
            status, (reason, message) = "True", bad[type_]  # noqa: PLW2901
        old = condition(before, type_)
        since = (
            old.last_transition_time
            if old is not None and old.status == status
            else now.replace(microsecond=0)
        )
        new = Condition(type=type_, status=status, reason=reason, message=message, last_transition_time=since)
        found = [new if one.type == type_ else one for one in found] if old else [*found, new]
    return found


def _complaints(content: Content) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    if content.failures:
        listed = ", ".join(sorted(content.failures))
        message = f"Failed to delete all resource types, {len(content.failures)} remaining: {listed}"
        found["NamespaceDeletionContentFailure"] = ("ContentDeletionFailed", message)
    if content.counts:
        listed = ", ".join(sorted(f"{name} has {n} resource instances" for name, n in content.counts.items()))
        message = f"Some resources are remaining: {listed}"
        found["NamespaceContentRemaining"] = ("SomeResourcesRemain", message)
    if content.finalizers:
        listed = ", ".join(
            sorted(f"{name} in {n} resource instances" for name, n in content.finalizers.items())
        )
        message = f"Some content in the namespace has finalizers remaining: {listed}"
        found["NamespaceFinalizersRemaining"] = ("SomeFinalizersRemain", message)
    return found
