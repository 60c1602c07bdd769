"""What Vacate's accounts create, in words: the table of docs/reference/confinement.md.

A test compares it with the roles, and with what the policies about each account name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vacate.api.installednames import (
    CERTIFICATES,
    HOOKS,
    MANAGER,
    NODE_USERS,
    SHUTDOWN_AGENT,
    TLS_SECRET,
    WEBHOOK,
)
from vacate.api.kinds import (
    EVACUATIONS,
    EVENTS,
    EVICTIONREQUESTS,
    LEASES,
    LIFECYCLE_REQUESTS,
    SECRETS,
    Kind,
)
from vacate.api.types.evictionrequest import SUPERSEDES
from vacate.descheduling.names import SUFFIX as DESCHEDULING
from vacate.eviction.callers import POD_LABEL
from vacate.eviction.callers import SUFFIX as BRIDGE
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX
from vacate.install.manifests.newrequests import OF_CALLERS, OF_NODES
from vacate.install.manifests.ownevents import COMPONENTS
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX
from vacate.webhook.certificates.secret import TYPE as TLS_TYPE

_OWN = (EVICTIONREQUESTS, EVACUATIONS)
_POD = "its pod as the owner, or none"
_MANAGED = f"*.{MAINTENANCE_SUFFIX}, *.{DESCHEDULING}"


@dataclass(frozen=True, slots=True)
class Creation:
    """What these accounts put into new objects of these kinds."""

    accounts: tuple[str, ...]
    kinds: tuple[Kind, ...]
    what: str

    @property
    def row(self) -> str:
        """Of the table."""
        kinds = (f"`{_shown(one)}`" for one in self.kinds)
        accounts = (f"`{one}`" for one in self.accounts)
        return f"| {', '.join(accounts)} | {', '.join(kinds)} | {self.what} |"


def _shown(kind: Kind) -> str:
    return f"{kind.plural}.{kind.group}" if kind is LIFECYCLE_REQUESTS else kind.plural


def _requests() -> Iterator[Creation]:
    reason, of_callers = f"annotation {', '.join(OF_NODES)}", f"annotations {', '.join(OF_CALLERS)}"
    names = "requesters and instigators"
    taken_over = f"or annotation {SUPERSEDES}, and what the request had that it takes over from"
    yield Creation((MANAGER,), _OWN, f"{_POD}; {reason}; {names} {_MANAGED}; {taken_over}")
    bridged = f"{_POD}; {of_callers}; label {POD_LABEL}; {names} *.{BRIDGE}"
    yield Creation((WEBHOOK,), _OWN, bridged)
    of_node = f"{_POD}; {reason}; requester or instigator NODE.{REQUESTER_SUFFIX}"
    yield Creation((SHUTDOWN_AGENT, NODE_USERS), _OWN, of_node)
    other = (LIFECYCLE_REQUESTS,)
    yield Creation((MANAGER,), other, f"{_POD}; {reason}; requesters {_MANAGED}")
    yield Creation((WEBHOOK,), other, f"{_POD}; {of_callers}; requesters *.{BRIDGE}")
    yield Creation(
        (SHUTDOWN_AGENT, NODE_USERS), other, f"{_POD}; {reason}; requester NODE.{REQUESTER_SUFFIX}"
    )


CREATIONS: tuple[Creation, ...] = (
    *_requests(),
    *(Creation((account,), (EVENTS,), f"source {', '.join(names)}") for account, names in COMPONENTS.items()),
    Creation((MANAGER, HOOKS), (LEASES,), "the name of the account"),
    Creation((CERTIFICATES,), (SECRETS,), f"name {TLS_SECRET}; type {TLS_TYPE}"),
)
"""Each account and kind once. What no policy restricts is not among them."""
