"""What refused a request to the API server, and what would help: read from the server's own message.

A message is text. It decides nothing: what was refused is asked for again, whatever the message says.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from vacate.api.installednames import CONFINES, DEFAULT_NAMESPACE
from vacate.views.model import Remedy
from vacate.views.phrases import command_line

_RETRIED = "it is tried again by itself"


class Refusal(NamedTuple):
    """Who refused, by name where the message has one, what would help, and the command for it."""

    name: str
    text: str
    command: str = ""

    @property
    def remedy(self) -> str:
        """What would help, in one sentence."""
        return f"{Remedy(self.text, self.command).phrase}; {_RETRIED}"


def own_webhook_look(message: str) -> str:
    """The command that shows why Vacate's own webhook does not answer; empty where the message is another."""
    if not _OWN_WEBHOOK_AWAY.search(message):
        return ""
    inside = _WEBHOOK_SERVICE.search(message)
    namespace = inside[1] if inside else DEFAULT_NAMESPACE
    return command_line(
        "kubectl", "-n", namespace, "get", "pods", "-l", "app.kubernetes.io/component=webhook"
    )


_OWN_WEBHOOK_AWAY = re.compile(r'failed calling webhook "[^"]*vacate\.dev"')
_WEBHOOK_SERVICE = re.compile(r"https://[a-z0-9-]+\.([a-z0-9-]+)\.svc\b")


def _away(name: str) -> Refusal:
    kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations"
    return Refusal(
        name,
        f"make sure that what serves webhook {name} runs and is reachable",
        f"kubectl get {kinds} -o wide",
    )


def _webhook(name: str) -> Refusal:
    return Refusal(name, f"meet what webhook {name} demands, or ask its owner to change it")


def _policy(name: str) -> Refusal:
    if name.startswith(CONFINES):
        return Refusal(
            name,
            "find the admission plugin of the cluster that changes the object as well (kubectl get "
            "mutatingwebhookconfigurations,mutatingadmissionpolicies) and exempt Vacate's accounts, or run "
            "vacate install with --confine=audit",
        )
    return Refusal(
        name,
        "meet what the admission policy demands, or change it",
        command_line("kubectl", "get", "validatingadmissionpolicy", name, "-o", "yaml"),
    )


def _quota(name: str) -> Refusal:
    return Refusal(name, "raise the ResourceQuota, or make room in it", "kubectl get quota -A")


def _rights(name: str) -> Refusal:
    return Refusal(
        name,
        f"give {name} this right: vacate install applies the roles of Vacate again",
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
    if look := own_webhook_look(message):
        found = _READ[0][0].search(message)
        return Refusal(found[1] if found else "", "make sure that Vacate's webhook runs", look)
    for pattern, made in _READ:
        if (found := pattern.search(message)) is not None:
            return made(found[1])
    return Refusal("", "remove what refuses it")
