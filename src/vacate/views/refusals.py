"""What refused a request to the API server, and what would help: read from the server's own message.

A message is text. It decides nothing: what was refused is asked for again, whatever the message says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vacate.api.objectnames import CONFINES

_RETRIED = "it is tried again by itself"


class Refusal(NamedTuple):
    """Who refused, by name where the message has one, and the remedy."""

    name: str
    remedy: str


def _away(name: str) -> Refusal:
    kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
    return Refusal(
        name,
        f"make sure that what serves webhook {name} runs and is reachable: kubectl get {kinds} -o wide; "
        f"{_RETRIED}",
    )


def _webhook(name: str) -> Refusal:
    return Refusal(name, f"meet what webhook {name} demands, or ask its owner to change it; {_RETRIED}")


def _policy(name: str) -> Refusal:
    if name.startswith(CONFINES):
        return Refusal(
            name,
            "find the admission plugin of the cluster that changes the object as well (kubectl get "
            "mutatingwebhookconfigurations,mutatingadmissionpolicies) and exempt Vacate's accounts, or run "
            f"vacate install with --confine=audit; {_RETRIED}",
        )
    return Refusal(
        name,
        f"meet what the admission policy demands, or change it: kubectl get validatingadmissionpolicy {name} "
        f"-o yaml; {_RETRIED}",
    )


def _quota(name: str) -> Refusal:
    return Refusal(name, f"raise the ResourceQuota, or make room in it: kubectl get quota -A; {_RETRIED}")


def _rights(name: str) -> Refusal:
    return Refusal(
        name,
        f"give {name} this right: vacate install applies the roles of Vacate again; {_RETRIED}",
    )


_NAME = r"([A-Za-z0-9][A-Za-z0-9.:_-]{0,252})"
_READ: tuple[tuple[re.Pattern[str], Callable[[str], Refusal]], ...] = (
    (re.compile(rf'failed calling webhook "{_NAME}"'), _away),
    (re.compile(rf'admission webhook "{_NAME}" denied the request'), _webhook),
    (re.compile(rf"ValidatingAdmissionPolicy '{_NAME}' with binding '[^']*' denied request"), _policy),
    (re.compile(rf"exceeded quota: {_NAME}"), _quota),
    (re.compile(rf'User "{_NAME}" cannot \w+ resource'), _rights),
)


def refusal_of(message: str) -> Refusal:
    """Who refused, and what would help."""
    for pattern, made in _READ:
        if (found := pattern.search(message)) is not None:
            return made(found[1])
    return Refusal("", f"remove what refuses it; {_RETRIED}")
