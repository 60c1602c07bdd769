"""The store as a plain list of everything that was ever written: what the state machines compare with."""

from __future__ import annotations

from dataclasses import dataclass, field

from vacate.embedded.store.types import Change, Entry, Key, Scope


@dataclass(frozen=True)
class Step:
    """One write, whether or not the log has it."""

    revision: int
    key: Key
    value: bytes
    node: str
    deleted: bool
    created: int
    node_before: str | None  # None where there was no object


@dataclass
class Model:
    steps: list[Step] = field(default_factory=list)

    @property
    def revision(self) -> int:
        return self.steps[-1].revision if self.steps else 1

    def objects(self, revision: int) -> dict[Key, Step]:
        """What there is at a revision."""
        found: dict[Key, Step] = {}
        for step in self.steps:
            if step.revision > revision:
                break
            if step.deleted:
                del found[step.key]
            else:
                found[step.key] = step
        return found

    def tip(self, key: Key) -> Step | None:
        return self.objects(self.revision).get(key)

    def write(self, key: Key, node: str, value: bytes, *, deleted: bool) -> None:
        before = self.tip(key)
        revision = self.revision + 1
        created = before.created if before else revision
        node_before = before.node if before else None
        self.steps.append(Step(revision, key, value, node, deleted, created, node_before))

    def listed(self, resource: str, namespace: str, revision: int) -> list[Step]:
        found = [
            step
            for key, step in self.objects(revision).items()
            if key.resource == resource and namespace in ("", key.namespace)
        ]
        return sorted(found, key=lambda step: f"{step.key.namespace}/{step.key.name}")

    def stream(self, scope: Scope, after: int, until: int) -> list[Step]:
        """What a watcher of the scope receives."""
        return [s for s in self.steps if after < s.revision <= until and _concerns(s, scope)]

    def forget_after(self, revision: int) -> None:
        """What a failed log never had."""
        self.steps = [step for step in self.steps if step.revision <= revision]


def _concerns(step: Step, scope: Scope) -> bool:
    nodes = (step.node, step.node_before or "")
    return (
        scope.resource in ("", step.key.resource)
        and scope.namespace in ("", step.key.namespace)
        and scope.name in ("", step.key.name)
        and (not scope.node or scope.node in nodes)
    )


def same_entry(entry: Entry | None, step: Step | None) -> bool:
    if entry is None or step is None:
        return entry is None and step is None
    return (entry.key, entry.value, entry.revision, entry.created) == (
        step.key,
        step.value,
        step.revision,
        step.created,
    ) and entry.attributes.fields["spec.nodeName"] == step.node


def same_change(change: Change, step: Step) -> bool:
    before = change.before.attributes.fields["spec.nodeName"] if change.before else None
    return (
        change.revision == step.revision
        and change.deleted == step.deleted
        and before == step.node_before
        and same_entry(change.after, step)
    )
