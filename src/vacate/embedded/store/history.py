"""The changes since the compaction revision, for watches and for listings of the past."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from heapq import merge
from operator import attrgetter

from vacate.embedded.store.log import FIRST_REVISION
from vacate.embedded.store.state import Differences
from vacate.embedded.store.types import Change, Entry
from vacate.errors import RevisionCompacted, RevisionTooNew

STEP = 500
"""Most records that one step of a compaction drops."""
CHANGES_OF_A_STEP = 2000
"""Most changes that one step forgets; those that create objects leave no record to drop."""

CHANGE_BYTES = 1024
"""What a change costs beside its value: key, labels, bookkeeping."""

_revision = attrgetter("revision")


class History:
    """Changes by resource, oldest first, none of them at or before `compacted`."""

    def __init__(self, compacted: int = FIRST_REVISION) -> None:
        self.compacted = compacted
        self.written = 0  # bytes of all changes that were ever remembered here
        self._by_resource: dict[str, list[Change]] = {}
        self._sizes: deque[tuple[int, int]] = deque()  # revision of a change and `written` after it
        self._forgotten = 0  # `written` as it was after the newest change that was forgotten

    @property
    def size(self) -> int:
        """How many bytes the changes take that are kept."""
        return self.written - self._forgotten

    def append(self, change: Change) -> None:
        """Remember the newest change."""
        changes = self._by_resource.get(change.key.resource)
        if changes is None:
            changes = self._by_resource[change.key.resource] = []
        changes.append(change)
        # Twice: the value itself and the form in which it was sent to watchers.
        self.written += CHANGE_BYTES + 2 * len(change.after.value)
        self._sizes.append((change.revision, self.written))

    def revision_to_keep(self, size: int) -> int:
        """The revision after which the changes take no more than so many bytes; the newest is forgotten too
        where it alone takes more."""
        place = bisect_left(self._sizes, self.written - size, key=lambda one: one[1])
        return self._sizes[place][0] if self.size > size else self.compacted

    def check(self, revision: int, newest: int) -> None:
        """Raise unless what came after the revision is all here."""
        if revision < self.compacted:
            raise RevisionCompacted(
                f"revision {revision} is no longer kept, history begins after {self.compacted}"
            )
        if revision > newest:
            raise RevisionTooNew(f"revision {revision} does not exist yet, the newest is {newest}")

    def since(self, resource: str, revision: int) -> list[Change]:
        """The changes of a resource (empty: of all) after a revision, oldest first."""
        if not resource:
            return list(merge(*(self.since(name, revision) for name in self._by_resource), key=_revision))
        changes = self._by_resource.get(resource)
        if not changes or changes[-1].revision <= revision:
            return []
        return changes[bisect_right(changes, revision, key=_revision) :]

    def differences(self, resource: str, namespace: str, revision: int) -> Differences:
        """How the objects of a resource were different at a revision from what they are now."""
        differences: dict[str, dict[str, Entry | None]] = {}
        for change in reversed(self.since(resource, revision)):  # the oldest has the last word
            _, space, name = change.key
            if not namespace or space == namespace:
                differences.setdefault(space, {})[name] = change.before
        return differences

    def compact(self, revision: int) -> Iterator[list[int]]:
        """Forget the changes up to a revision; gives the revisions of obsolete records, step by step.

        The revision counts at once; memory is freed as the steps are taken. The records of one key come
        oldest first.
        """
        self.compacted = max(self.compacted, revision)
        while self._sizes and self._sizes[0][0] <= revision:
            self._forgotten = self._sizes.popleft()[1]
        dropped = [self._cut(changes, revision) for changes in self._by_resource.values()]
        return _obsolete_in_steps(dropped)

    def _cut(self, changes: list[Change], revision: int) -> list[Change]:
        end = bisect_right(changes, revision, key=_revision)
        cut = changes[:end]
        del changes[:end]
        return cut


def _obsolete_in_steps(dropped: list[list[Change]]) -> Iterator[list[int]]:
    step: list[int] = []
    taken = 0
    for changes in dropped:
        changes.reverse()  # so that the oldest are at the end, where taking them is cheap
        while changes:
            step += obsolete_records(changes.pop())
            taken += 1
            if len(step) > STEP - 2 or taken == CHANGES_OF_A_STEP:
                yield step
                step, taken = [], 0
    if taken:
        yield step


def obsolete_records(change: Change) -> Iterator[int]:
    """What nobody needs once this change is history: the record it replaced, and itself as a tombstone."""
    if change.before is not None:
        yield change.before.revision
    if change.deleted:
        yield change.revision


def in_steps(obsolete: list[int]) -> Iterator[list[int]]:
    """Records to drop, in steps."""
    return (obsolete[start : start + STEP] for start in range(0, len(obsolete), STEP))
