"""Who asks, and what for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANONYMOUS = "system:anonymous"
ALL_AUTHENTICATED = "system:authenticated"
ALL_UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class User:
    """An identified caller, groups included that every caller of its sort has."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Access:
    """One question to an authoriser. A path is asked about only where there is no resource."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""  # the plural, without the group
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
