"""The name under which a policy requests evictions."""

from __future__ import annotations

SUFFIX = ".descheduling.vacate.dev"


def requester_of(policy: str) -> str:
    """The requester's name of a policy."""
    return f"{policy}{SUFFIX}"


def policy_of(requester: str) -> str:
    """The policy that a requester's name stands for; empty where it is another's."""
    return requester.removesuffix(SUFFIX) if requester.endswith(SUFFIX) else ""
