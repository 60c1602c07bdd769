"""The name under which a policy requests evictions."""

from __future__ import annotations

from vacate.eviction.dialects.base import Dialect
from vacate.eviction.requesternames import fitted_requester, own_name

SUFFIX = "descheduling.vacate.dev"


def requester_of(policy: str, dialect: Dialect) -> str:
    """The name under which a policy requests evictions by that API."""
    return dialect.participant(fitted_requester(policy, SUFFIX, dialect.max_requester))


def policy_of(requester: str) -> str:
    """The policy that a requester's name stands for, or is cut from; empty where it is another's."""
    return own_name(requester, SUFFIX)
