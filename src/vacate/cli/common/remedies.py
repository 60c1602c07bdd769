"""What to do about errors on the way to a cluster, shown with the error."""

from __future__ import annotations

import errno
import re
import socket
import ssl

from vacate.cli.common.program import program_name
from vacate.errors import ConfigError, Forbidden, InternalError, NotFound, TransportError
from vacate.views.phrases import command_line
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


def lacks_role(error: Forbidden, role: str) -> Forbidden:
    """The error with the role that has the right; the server's message names user, verb and resource."""
    grant = f"kubectl create clusterrolebinding NAME --clusterrole={role} --user=USER"
    return Forbidden(
        f"{error.message}. ClusterRole {role} has this right; an administrator grants it with: {grant}",
        details=error.details,
    )


def with_webhook_remedy(error: InternalError) -> InternalError:
    """The error of a server that cannot reach Vacate's webhook, with the command that shows why."""
    if not _WEBHOOK_AWAY.search(error.message) or WEBHOOK_REMEDY in error.message:
        return error
    inside = _WEBHOOK_SERVICE.search(error.message)
    namespace = inside[1] if inside else "vacate-system"
    look = command_line(
        "kubectl", "-n", namespace, "get", "pods", "-l", "app.kubernetes.io/component=webhook"
    )
    return InternalError(f"{error.message}; {WEBHOOK_REMEDY}: {look}", details=error.details)


WEBHOOK_REMEDY = "Vacate's webhook does not answer the API server; see"
_WEBHOOK_AWAY = re.compile(r'failed calling webhook "[^"]*vacate\.dev"')
_WEBHOOK_SERVICE = re.compile(r"https://[a-z0-9-]+\.([a-z0-9-]+)\.svc\b")


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
