"""Options that commands which stay have in common, and how they log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from vacate.api.identity import service_account_user, split_service_account
from vacate.api.names import dns1123_subdomain
from vacate.cli.common import terminal
from vacate.cli.common.parameters import namespace_name, span_between, subdomain
from vacate.cli.common.shellcompletion import complete_contexts
from vacate.eviction.callers import UnverifiedCallers
from vacate.eviction.dialects.lifecycle.othercontroller import LifecycleController
from vacate.eviction.requesternames import dotted
from vacate.features import FeatureGates, parse_feature_gates
from vacate.httpclient.addresses import Network, read_networks

F = TypeVar("F", bound=Callable[..., Any])

PORT = click.IntRange(0, 65535)


def kubeconfig_options(command: F) -> F:
    """Add --kubeconfig and --context: which cluster, where it is not the one around the process."""
    command = click.option(
        "--context",
        default="",
        shell_complete=complete_contexts,
        metavar="NAME",
        help="Context of the kubeconfig.",
    )(command)
    return click.option(
        "--kubeconfig", default="", metavar="FILE", help="Kubeconfig to use instead of KUBECONFIG."
    )(command)


def health_options(port: int) -> Callable[[F], F]:
    """Add --metrics-port and --metrics-address, for health and metrics over plain HTTP."""

    def add(command: F) -> F:
        command = click.option(
            "--metrics-address",
            default="127.0.0.1",
            show_default=True,
            metavar="ADDRESS",
            help="Address to listen on for these. In a pod it must be 0.0.0.0, or probes cannot reach it.",
        )(command)
        return click.option(
            "--metrics-port",
            type=PORT,
            default=port,
            show_default=True,
            help="Port for /healthz, /readyz and /metrics; 0 takes any free one.",
        )(command)

    return add


def election_options(of: str) -> Callable[[F], F]:
    """Add --leader-elect and --lease-namespace; `of` names the processes of which one works."""

    def add(command: F) -> F:
        command = click.option(
            "--lease-namespace",
            type=namespace_name,
            default="kube-system",
            show_default=True,
            metavar="NAME",
            help="Namespace of the Lease.",
        )(command)
        return click.option(
            "--leader-elect/--no-leader-elect",
            default=True,
            show_default=True,
            help=f"Elect a leader with a Lease, so that only one of several {of} works.",
        )(command)

    return add


def gates_option(command: F) -> F:
    """Add --feature-gates; the command gets them as `gates`."""
    return click.option(
        "--feature-gates",
        "gates",
        default="",
        callback=_gates,
        metavar="NAME=BOOL,…",
        help="Enable or disable feature gates.",
    )(command)


def host_name(text: str) -> str:
    """The name of a host under which pages are asked for, with its port where that is not the usual one."""
    name, colon, port = text.lower().partition(":")
    if dns1123_subdomain(name) or (colon and not (port.isdecimal() and 0 < int(port) < 65536)):
        raise click.BadParameter(f"{text[:80]!r} is not a host; write NAME or NAME:PORT, without https://")
    return f"{name}{colon}{port}"


def site_address(text: str) -> str:
    """The address of a site that pages link to."""
    try:
        parts = urlsplit(text)
    except ValueError:
        parts = urlsplit("")
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or not text.isprintable()
    ):
        raise click.BadParameter(f"{text[:80]!r} is not the address of a site; write https://NAME/PATH")
    return text


def allowed_option(command: F) -> F:
    """Add --allow-interceptor; the command gets the names as `allowed`."""
    return click.option(
        "--allow-interceptor",
        "allowed",
        type=subdomain,
        multiple=True,
        metavar="NAME",
        help="Allow this interceptor name, although it ends in k8s.io. Can be repeated.",
    )(command)


def interceptor_accounts_option(command: F) -> F:
    """Add --interceptor; the command gets user names by interceptor as `interceptors`."""
    return click.option(
        "--interceptor",
        "interceptors",
        multiple=True,
        callback=_interceptor_accounts,
        metavar="NAME=NAMESPACE/SERVICEACCOUNT",
        help="Allow only this service account to report while the interceptor is active. Can be "
        "repeated, also for the same interceptor.",
    )(command)


def _interceptor_accounts(
    _ctx: click.Context, _param: click.Parameter, given: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in given:
        written, _, account = one.partition("=")
        name = dotted(written)  # the same one in all APIs
        namespace, _, short = account.partition("/")
        user = service_account_user(namespace, short)
        if dns1123_subdomain(name) or split_service_account(user) is None:
            raise click.BadParameter(
                f"{one!r} is not a binding of an interceptor; write NAME=NAMESPACE/SERVICEACCOUNT, such as "
                "backup.example.com=shop/backup"
            )
        found[name] = (*found.get(name, ()), user)
    return found


def log_to_stderr(*, verbose: bool) -> None:
    """Warnings, and what happens in between where someone wants to know."""
    level = logging.INFO if verbose else logging.WARNING
    handler = logging.StreamHandler()
    handler.setFormatter(terminal.SafeFormatter("%(asctime)s %(levelname).1s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])


def _gates(_ctx: click.Context, _param: click.Parameter, value: str) -> FeatureGates:
    return parse_feature_gates(value)


bridge_wait_option = click.option(
    "--bridge-wait",
    type=span_between(1.0, 86_400.0),
    default="10m",
    show_default=True,
    metavar="SPAN",
    help="With the eviction bridge: how long after its last attempt a caller of the eviction API counts "
    "as waiting. Then its requester is withdrawn.",
)


def _networks(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[Network, ...]:
    return read_networks(value, "--fencing-allow-address")


fencing_addresses_option = click.option(
    "--fencing-allow-address",
    "fencing_addresses",
    multiple=True,
    callback=_networks,
    metavar="ADDRESS|NETWORK",
    help="Let the agents of FencingPolicies call this address, although it is loopback, link-local or of a "
    "cloud's metadata service. Others, such as private ones, need no permission. May be repeated.",
)


lifecycle_controller_option = click.option(
    "--lifecycle-controller",
    type=click.Choice([one.value for one in LifecycleController]),
    default=LifecycleController.AUTO.value,
    show_default=True,
    help="Whether Vacate is the controller of lifecycle.k8s.io, with the feature gate LifecycleAPI: unless "
    "kube-controller-manager has one that works, always, or never.",
)


unverified_callers_option = click.option(
    "--bridge-unverified-callers",
    "unverified_callers",
    type=click.Choice([one.value for one in UnverifiedCallers]),
    default=UnverifiedCallers.REFUSE.value,
    show_default=True,
    help="With the eviction bridge, on API servers without constrained impersonation: whether the evictions "
    "of callers who may not create eviction requests and delete pods themselves are refused, or requested "
    "all the same, even if another admission webhook refuses them.",
)


_LIMITS = (
    click.option(
        "--max-interceptors",
        type=click.IntRange(min=0),
        show_default="all of them",
        metavar="NUMBER",
        help="Give at most this many of a pod's interceptors a turn, then evict it.",
    ),
    click.option(
        "--max-request-duration",
        type=span_between(1.0, 365 * 86_400.0),
        show_default="no limit",
        metavar="SPAN",
        help="Evict a pod this long after its request was created, whatever its interceptors do.",
    ),
)


def limit_options(command: F) -> F:
    """The administrator's limits for every eviction request."""
    for option in reversed(_LIMITS):
        command = option(command)
    return command
