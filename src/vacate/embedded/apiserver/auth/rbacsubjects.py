"""Who is meant by a binding's subject, and how service accounts are called as users."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.identity import User
from vacate.api.names import dns1123_label, dns1123_subdomain

SERVICE_ACCOUNTS = "system:serviceaccounts"
NODES = "system:nodes"
_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_NODE_PREFIX = "system:node:"


@dataclass(frozen=True, slots=True)
class Subject:
    """A user, a group or a service account, as a binding names it."""

    kind: str
    name: str
    namespace: str = ""

    def applies_to(self, user: User, namespace: str = "") -> bool:
        """Whether the user is meant, by a binding in that namespace or by one for the whole cluster."""
        if self.kind == "User":
            return user.name == self.name
        if self.kind == "Group":
            return self.name in user.groups
        if self.kind == "ServiceAccount":
            home = self.namespace or namespace
            return bool(home) and user.name == service_account_user(home, self.name)
        return False


def service_account_user(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{_SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    """The groups that every service account of the namespace is in."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def split_service_account(user_name: str) -> tuple[str, str] | None:
    """Namespace and name, where the user name is that of a service account."""
    if not user_name.startswith(_SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, colon, name = user_name.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")
    if not colon or dns1123_label(namespace) or dns1123_subdomain(name):
        return None
    return namespace, name


def node_user(name: str) -> str:
    """The user name of a node."""
    return f"{_NODE_PREFIX}{name}"
