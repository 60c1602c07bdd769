"""What to do about errors on the way to a cluster, shown with the error."""

from __future__ import annotations

import errno
import re
import socket
import ssl

from vacate.api.installednames import NODE_MAINTAINER, REQUESTER, VIEWER
from vacate.cli.common.program import program_name
from vacate.errors import ConfigError, Forbidden, InternalError, NotFound, TransportError, VacateError
from vacate.views.refusals import own_webhook_look
from vacate.views.remedies import granting
from vacate.wire.failures import failure_reason

_ELSEWHERE = "choose another cluster with --kubeconfig or --context"


def unreachable(error: TransportError, server: str) -> TransportError:
    """The error as a person wants to read it: which server, why, and what to do."""
    why = reason(error)
    if not why:
        return TransportError(f"{error}; is {server} the API server of a cluster? If not, {_ELSEWHERE}")
    return TransportError(f"cannot reach the API server {server}: {why}")


def reason(error: BaseException) -> str:
    """Why there is no answer, and the remedy; empty where it is not the connection that failed."""
    cause = error.__cause__
    if cause is None:
        return ""
    inner = getattr(cause, "os_error", None) or getattr(cause, "certificate_error", None) or cause
    if isinstance(inner, ssl.SSLError):
        return (
            f"its certificate is not accepted ({_ssl(inner)}); check certificate-authority in the kubeconfig"
        )
    if isinstance(inner, socket.gaierror):
        return (
            f"its name is unknown ({inner.strerror}); check `server` in the kubeconfig, the network and DNS"
        )
    if isinstance(inner, TimeoutError):
        return f"it did not answer in time; check the network, a VPN or a firewall, or {_ELSEWHERE}"
    if isinstance(inner, OSError) and inner.errno == errno.ECONNREFUSED:
        return (
            "the connection is refused, nothing listens there; start the cluster (an embedded one with "
            f"`{program_name()} up`), or {_ELSEWHERE}"
        )
    if isinstance(inner, OSError) or type(cause).__module__.startswith("aiohttp"):
        return f"{failure_reason(cause)}; check the network, or {_ELSEWHERE}"
    return ""


def with_remedy(error: VacateError) -> VacateError:
    """The error with what helps: the role that has a missing right, or the look at a webhook that is away."""
    if isinstance(error, Forbidden):
        return with_role(error)
    return with_webhook_remedy(error) if isinstance(error, InternalError) else error


def with_role(error: Forbidden, role: str = "") -> Forbidden:
    """The error with the ClusterRole that has the right, and the command that grants it.

    The server's message names user, verb and resource. Without `role` the least of ours that has the right.
    """
    denied = _DENIED.search(error.message)
    if denied is None or _HAS_RIGHT in error.message:
        return error
    user, verb, resource, group, namespace = denied.groups()
    role = role or _role_for(verb, resource, group)
    if not role:
        return error
    return _granted(error, f"ClusterRole {role}", granting(role, user, namespace or ""))


def with_reader(error: Forbidden) -> Forbidden:
    """The error with commands that let someone plan, also where none of Vacate's roles is installed."""
    denied = _DENIED.search(error.message)
    if denied is None:
        return error
    made = f"kubectl create clusterrole {_READER} --verb=list --resource=nodes,pods"
    grant = granting(_READER, denied[1]).replace("NAME", _READER)
    return _granted(error, f"A new ClusterRole {_READER}", f"{made} && {grant}")


def _granted(error: Forbidden, role: str, command: str) -> Forbidden:
    return Forbidden(
        f"{error.message}. {role} {_HAS_RIGHT}; an administrator grants it with: {command}",
        details=error.details,
    )


_READER = "plan-reader"
_HAS_RIGHT = "has this right"
_DENIED = re.compile(
    r'User "([^"]+)" cannot (\w+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?'
)
_ROLES = (VIEWER, REQUESTER, NODE_MAINTAINER)  # what users are given, the one with the fewest rights first


def _role_for(verb: str, resource: str, group: str) -> str:
    from vacate.install.manifests.roles import user_roles  # noqa: PLC0415  loads all of the product

    if (verb, resource, group) == ("delete", "pods", ""):
        return "edit"  # which Kubernetes has; none of ours gives it
    if group == "apps" and verb in ("get", "list", "watch"):
        return "view"  # which Kubernetes has, too
    by_name = {one["metadata"]["name"]: one["rules"] for one in user_roles()}
    for name in _ROLES:
        for rule in by_name[name]:
            known = group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]
            if known and "resourceNames" not in rule:
                return name
    return ""


def with_webhook_remedy(error: InternalError) -> InternalError:
    """The error of a server that cannot reach Vacate's webhook, with the command that shows why."""
    look = own_webhook_look(error.message)
    if not look or WEBHOOK_REMEDY in error.message:
        return error
    return InternalError(f"{error.message}; {WEBHOOK_REMEDY}: {look}", details=error.details)


WEBHOOK_REMEDY = "Vacate's webhook does not answer the API server; see"


def not_accepted(server: str) -> str:
    """Of credentials that the server refuses."""
    return (
        f"the API server {server} does not accept these credentials (Unauthorized): log in again, or choose "
        "another user with --kubeconfig or --context"
    )


def not_found_in(error: NotFound, namespace: str) -> NotFound:
    """The error with the namespace in which was looked; only of objects, not of paths."""
    if not error.details.get("name") or " in namespace " in error.message:
        return error
    message = f"{error.message} in namespace {namespace}; choose another namespace with -n"
    return NotFound(message, details=error.details)


def no_node(*names: str) -> ConfigError:
    """Of nodes that are not there."""
    return ConfigError(f"there is no node {', '.join(names)}; see: kubectl get nodes")


def no_maintenance(name: str) -> ConfigError:
    """Of a NodeMaintenance that is not there."""
    return ConfigError(f"there is no NodeMaintenance {name}; see: kubectl get nodemaintenances")


def _ssl(error: ssl.SSLError) -> str:
    return getattr(error, "verify_message", "") or error.reason or str(error)
