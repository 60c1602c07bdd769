"""What a real API server has written down about requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vacate.api.installednames import EVACUATION_STEPS, STEPS

_BY_POLICY = re.compile("ValidatingAdmissionPolicy '(vacate-[^']*)'")
"""In the message of each refusal by a policy of an installation."""


@dataclass(frozen=True, slots=True)
class Call:
    """One answered request."""

    user: str
    verb: str
    group: str
    resource: str  # with its subresource, as roles have it
    namespace: str
    name: str
    code: int
    forbidden: bool  # by the lack of a right, not by admission
    body: dict[str, Any]


def calls(log: Path) -> Iterator[Call]:
    """All requests for resources that were answered, oldest first; watches as soon as they begin."""
    for event in _events(log):
        answered = "ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"
        if event["stage"] == answered and "objectRef" in event:
            yield _call(event)


def confined(log: Path) -> set[str]:
    """What Vacate's policies have refused of that which its own programs wrote with their accounts.

    Of any policy, whoever it is about, but for those about steps: another writer may be faster.
    """
    found = (event.get("responseStatus", {}).get("message", "") for event in _events(log) if _is_ours(event))
    return {one for one in found if (by := _BY_POLICY.search(one)) and by[1] not in (STEPS, EVACUATION_STEPS)}


def _is_ours(event: dict[str, Any]) -> bool:
    """Whether a program sent it, and no test that has the token of its account."""
    account, agent = str(event["user"].get("username")), str(event.get("userAgent"))
    # What the webhook tries in the name of a caller is that caller's.
    as_itself = "impersonatedUser" not in event
    return as_itself and account.startswith("system:serviceaccount:vacate-") and agent.startswith("vacate/")


def _events(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text().rpartition("\n")[0].splitlines():  # those that are whole
        if line.endswith("}"):  # a killed server may have been in the middle of it
            yield json.loads(line)


def _call(event: dict[str, Any]) -> Call:
    about = event["objectRef"]
    resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
    forbidden = event.get("annotations", {}).get("authorization.k8s.io/decision") == "forbid"
    who = event.get("impersonatedUser", event["user"])
    name = who.get("username", "")  # a client that was not authenticated has none
    return Call(
        name, event["verb"], about.get("apiGroup", ""), resource, about.get("namespace", ""),
        about.get("name", ""), event.get("responseStatus", {}).get("code", 0), forbidden,
        event.get("requestObject", {}),
    )  # fmt: skip
