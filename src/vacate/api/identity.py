"""Who asks, and what for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vacate.api.installednames import DEFAULT_NAMESPACE, MANAGER, SHUTDOWN_AGENT
from vacate.api.names import dns1123_label, dns1123_subdomain

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


EVICTION_CONTROLLER = "system:serviceaccount:kube-system:evictionrequest-controller"
"""The user name of the eviction request controller where it runs inside the embedded cluster."""

INSTALLED_CONTROLLER = f"system:serviceaccount:{DEFAULT_NAMESPACE}:{MANAGER}"
"""The user name of the manager in an installation with the default namespace."""

INSTALLED_SHUTDOWN_AGENT = f"system:serviceaccount:vacate-shutdown-agent:{SHUTDOWN_AGENT}"
"""The user name of shutdown agents in an installation with the default namespace for them."""


@dataclass(frozen=True, slots=True)
class StatusAuthority:
    """Whose word counts in the status of eviction requests, by user names."""

    controllers: tuple[str, ...] = (EVICTION_CONTROLLER, INSTALLED_CONTROLLER)
    # Interceptors that are bound to accounts; names that are missing are open to every writer of statuses.
    interceptors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # Who records callers of the eviction API in requests beside the controllers; None where it is not known.
    recorders: tuple[str, ...] | None = ()
    # Shutdown agents, which act for the node that their token names. Accounts of other namespaces that have
    # the same name are not ours.
    shutdown_agents: tuple[str, ...] = (INSTALLED_SHUTDOWN_AGENT,)

    def may_record_callers(self, user: User) -> bool:
        """Whether the user is the eviction bridge, a controller, or an administrator of everything."""
        if self.recorders is None or self.is_controller(user):
            return True
        return user.name in self.recorders or MASTERS in user.groups

    def may_supersede(self, user: User) -> bool:
        """Whether the user is a controller, or an administrator of everything."""
        return self.is_controller(user) or MASTERS in user.groups

    def is_account(self, user: User) -> bool:
        """Whether the user is a node, or one of Vacate's accounts that request evictions."""
        accounts = (*self.controllers, *(self.recorders or ()))
        named = user.name in accounts and user.name.startswith(SERVICE_ACCOUNT_PREFIX)
        return named or self.node_of(user) is not None

    def is_controller(self, user: User) -> bool:
        """Whether the user is the eviction request controller."""
        return user.name in self.controllers

    def accounts_of(self, interceptor: str) -> tuple[str, ...]:
        """The user names that an interceptor is bound to; empty where it is not bound."""
        return self.interceptors.get(interceptor, ())

    def node_of(self, user: User) -> str | None:
        """The node whose kubelet or shutdown agent the user is; empty where its token names none.

        None for everyone else: another account in whose token a node is named acts for itself.
        """
        if user.name.startswith(_NODE_PREFIX):
            return user.name.removeprefix(_NODE_PREFIX)
        if user.name not in self.shutdown_agents:
            return None
        return next(iter(user.extra.get(NODE_NAME_EXTRA, ())), "")


@dataclass(frozen=True, slots=True)
class Access:
    """One question to an authoriser: about a resource, or about the path that is given."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""  # the plural, without the group
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None


def is_resource_access(access: Access) -> bool:
    """Whether the question is about a resource rather than a path."""
    return access.path is None


def combined_resource(access: Access) -> str:
    """`pods` or `pods/status`."""
    return f"{access.resource}/{access.subresource}" if access.subresource else access.resource


_SHORT = {
    "\a": r"\a", "\b": r"\b", "\f": r"\f", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\v": r"\v",
    '"': r"\"", "\\": r"\\",
}  # fmt: skip


def denial(access: Access) -> str:
    """Who cannot do what, and where."""
    who = f"User {quote(access.user.name)} cannot {access.verb}"
    if access.path is not None:
        return f"{who} path {quote(access.path)}"
    what = f"resource {quote(combined_resource(access))} in API group {quote(access.group)}"
    where = f"in the namespace {quote(access.namespace)}" if access.namespace else "at the cluster scope"
    return f"{who} {what} {where}"


def quote(text: str) -> str:
    """Double quotes and escapes as Go's `%q` has them."""
    return '"' + "".join(_escape(char) for char in text) + '"'


def _escape(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


SERVICE_ACCOUNTS = "system:serviceaccounts"


NODES = "system:nodes"


SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"


_NODE_PREFIX = "system:node:"


def service_account_user(namespace: str, name: str) -> str:
    """The user name of a service account."""
    return f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"


def service_account_groups(namespace: str) -> tuple[str, str]:
    """The groups that every service account of the namespace is in."""
    return SERVICE_ACCOUNTS, f"{SERVICE_ACCOUNTS}:{namespace}"


def split_service_account(user_name: str) -> tuple[str, str] | None:
    """Namespace and name, where the user name is that of a service account."""
    if not user_name.startswith(SERVICE_ACCOUNT_PREFIX):
        return None
    namespace, colon, name = user_name.removeprefix(SERVICE_ACCOUNT_PREFIX).partition(":")
    if not colon or dns1123_label(namespace) or dns1123_subdomain(name):
        return None
    return namespace, name


def node_user(name: str) -> str:
    """The user name of a node."""
    return f"{_NODE_PREFIX}{name}"


NODE_NAME_EXTRA = "authentication.kubernetes.io/node-name"
"""Where the API server names the node to which a token of a service account is bound."""
