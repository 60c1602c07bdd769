"""A rule of a role, as a value: what controllers need, and what installations and servers grant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a role. Without names it applies to all objects of its resources."""

    verbs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def to_obj(self) -> dict[str, Any]:
        """The rule as a role object carries it, empty lists left out except for the verbs."""
        lists = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
            "nonResourceURLs": self.urls,
        }
        return {key: list(value) for key, value in lists.items() if value or key == "verbs"}


READ = "get list watch"
CORE = ("",)


def rule(verbs: str, groups: tuple[str, ...] | str, resources: str, *names: str) -> Rule:
    """A rule about resources; verbs and resources stand in one text each."""
    listed = (groups,) if isinstance(groups, str) else groups
    return Rule(tuple(verbs.split()), listed, tuple(resources.split()), names)
