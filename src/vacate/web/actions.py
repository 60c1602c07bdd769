"""PURE. What a person can do on the pages: each action is a command, run with the user's rights.

There is no second implementation: the page runs the command that it shows, with `--dry-run` first. Names are
checked before they become words of a command, and no shell is involved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vacate.api.kinds import Kind
from vacate.api.names import dns1123_subdomain
from vacate.errors import ConfigError
from vacate.web.components import segment

Given = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Right:
    """What the API server is asked about."""

    verb: str
    kind: Kind
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended, and what it printed."""

    code: int
    output: str


POSSIBLE, WOULD_BLOCK, LACKS_ROOM = 0, 5, 6
"""The codes of dry runs and plans; by all others they were refused."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of the command that the person can choose."""

    option: str
    text: str
    chosen: bool = False  # unless the address says otherwise


@dataclass(frozen=True, slots=True)
class Action:
    """A command: what it is called, and which names it takes."""

    name: str
    title: str  # with the names in braces
    takes: tuple[str, ...]
    words: tuple[str, ...]
    effect: str  # what it does, in one sentence
    back: str  # the page that shows what became of it
    choices: tuple[Choice, ...] = ()
    reason: bool = False

    def names(self, given: Given) -> dict[str, str]:
        """The names that it takes; ConfigError for one that is none."""
        found = {}
        for field in self.takes:
            name = given.get(field, "")
            if why := dns1123_subdomain(name):
                raise ConfigError(f"{field}: {name[:80]!r} is not a name: {'; '.join(why)}")
            found[field] = name
        return found

    def heading(self, given: Given) -> str:
        """What it does to what."""
        return self.title.format(**self.names(given))

    def command(self, given: Given, *, dry_run: bool = False) -> list[str]:
        """The words of the command."""
        names = self.names(given)
        words = [one.format(**names) for one in self.words]
        words += [one.option for one in self.choices if self.is_chosen(one, given)]
        if self.reason and (reason := " ".join(given.get("reason", "").split())[:500]):
            words.append(f"--reason={reason}")
        return [*words, "--dry-run"] if dry_run else words

    def is_chosen(self, choice: Choice, given: Given) -> bool:
        """Whether the option is used: as the form says, else as it is at first."""
        return given.get(choice.option) == "on" if "asked" in given else choice.chosen

    def address(self, **names: str) -> str:
        """Where it is shown before it is done."""
        return f"/act/{self.name}?" + "&".join(f"{key}={segment(value)}" for key, value in names.items())

    def page(self, given: Given) -> str:
        """The address of what it was done to."""
        return self.back.format(**{key: segment(value) for key, value in self.names(given).items()})


DRAIN = Action(
    "drain",
    "Drain {node}",
    ("node",),
    ("drain", "node/{node}", "--detach"),
    "The node takes no more pods, and its pods are evicted through their interceptors and budgets.",
    "/nodes/{node}",
    (
        Choice("--ignore-daemonsets", "Leave pods of DaemonSets where they are", chosen=True),
        Choice("--delete-emptydir-data", "Evict pods although they lose emptyDir data"),
        Choice("--force", "Evict pods that no controller re-creates"),
    ),
    reason=True,
)
CANCEL_DRAIN = Action(
    "cancel-drain",
    "Cancel drain {drain}",
    ("drain",),
    ("drain", "--cancel={drain}"),
    "Its requests are withdrawn, and the nodes that it cordoned take pods again. What is evicted stays so.",
    "/drains",
)
UNCORDON = Action(
    "uncordon",
    "Uncordon {node}",
    ("node",),
    ("uncordon", "node/{node}"),
    "The node takes pods again. It is taken out of the drain that holds it; a drain of this node alone is "
    "deleted.",
    "/nodes/{node}",
)
RETRY_DRAIN = Action(
    "retry-drain",
    "Try the blocked evictions of drain {drain} again",
    ("drain",),
    ("retry", "drain/{drain}"),
    "Each blocked eviction is attempted at once. Where it is refused again, interceptors get another turn.",
    "/drains/{drain}",
)
RETRY = Action(
    "retry",
    "Try the eviction of {pod} again",
    ("namespace", "pod"),
    ("retry", "pod/{pod}", "--namespace={namespace}"),
    "The eviction is attempted at once. If it is refused again, the pod's interceptors get another turn.",
    "/pods/{namespace}/{pod}",
)
EVICT = Action(
    "evict",
    "Evict {pod}",
    ("namespace", "pod"),
    ("evict", "pod/{pod}", "--namespace={namespace}"),
    "Its interceptors prepare it one after the other; then it is evicted as soon as its budgets allow that.",
    "/pods/{namespace}/{pod}",
    reason=True,
)
CANCEL = Action(
    "cancel",
    "Cancel the eviction of {pod}",
    ("namespace", "pod"),
    ("cancel", "pod/{pod}", "--namespace={namespace}"),
    "You no longer request the eviction; it ends where you are the only requester. A request by a drain "
    "is cancelled with the drain.",
    "/pods/{namespace}/{pod}",
)
ACTIONS: Mapping[str, Action] = {
    one.name: one for one in (DRAIN, CANCEL_DRAIN, UNCORDON, RETRY_DRAIN, RETRY, EVICT, CANCEL)
}
