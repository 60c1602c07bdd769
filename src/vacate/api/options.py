"""Options of list, watch and deletion, as values that the client sends and the embedded server reads."""

from __future__ import annotations

from dataclasses import dataclass

DRY_RUN_ALL = ("All",)
"""The only value that Kubernetes knows for `DeleteOptions.dry_run`: all stages run, nothing is written."""


@dataclass(frozen=True, slots=True)
class ListOptions:
    """Which objects of a collection to list, and how many at once. Empty fields ask for nothing special."""

    label_selector: str = ""
    field_selector: str = ""
    limit: int = 0  # how many objects a page has at most; 0 is all of them in one
    continue_token: str = ""  # from the page before
    resource_version: str = ""
    resource_version_match: str = ""  # "Exact" or "NotOlderThan"; needs a resource_version


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Which changes of a collection to watch, and from when on. Empty fields ask for nothing special."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""  # changes after this one; without it the present state comes first
    timeout_seconds: int = 0  # when the server ends the watch; 0 leaves that to the server
    send_initial_events: bool | None = (
        None  # whether the present state comes first, with a bookmark at its end
    )
    allow_bookmarks: bool = True  # whether the server may send bookmarks


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete, or to evict. None stands for a field that the client left out.

    `uid` and `resource_version` are the preconditions: the object must have them, or nothing is deleted. The
    client sends neither when they are empty; a server that receives an empty one finds that nothing matches.
    """

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: tuple[str, ...] = ()
    unsafe: bool | None = None
    reason: str = (
        ""  # why the pod is terminated; kept by servers with PodTerminationReason, dropped by others
    )

    @property
    def is_dry_run(self) -> bool:
        """Whether nothing must be written."""
        return bool(self.dry_run)
