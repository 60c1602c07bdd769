"""Who is meant by a binding's subject, and how service accounts are called as users."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.identity import User, service_account_user


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
