"""How a command reaches its cluster: the flags that all of them share, and the client they open."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from vacate.api.kinds import EVICTIONREQUESTS, Kind
from vacate.cli.common.exitcodes import interrupted
from vacate.cli.common.parameters import namespace_name
from vacate.cli.common.remedies import not_accepted, unreachable, with_remedy
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.shellcompletion import complete_contexts, complete_namespaces
from vacate.client.client import Client
from vacate.client.dryrun import DryRunTransport
from vacate.client.http import HttpTransport
from vacate.client.incluster import load_config
from vacate.client.serverclock import DatedTransport, ServerClock
from vacate.client.transport import Transport
from vacate.clock import Clock, SystemClock
from vacate.errors import (
    ApiError,
    ConfigError,
    Forbidden,
    InternalError,
    NotFound,
    TransportError,
    Unauthorized,
)

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Connection:
    """Which cluster and namespace were asked for; empty means what the kubeconfig says."""

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An open way to a cluster, and the namespace that commands speak of."""

    client: Client
    namespace: str
    clock: Clock
    mark: str = ""  # after each line about what was done: that it was a dry run


_NAMESPACE_HELP = "Namespace; the context's by default."
DRY_RUN = " (dry run)"
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Have the server check what would be done; change nothing."
)


def cluster_options(command: F) -> F:
    """Add --kubeconfig, --context and -n; the command gets them as `reach`."""
    return _with_reach(command, _NAMESPACE_HELP)


def cluster_options_with(namespace_help: str) -> Callable[[F], F]:
    """The same for a command to which a missing -n means something else."""
    return functools.partial(_with_reach, namespace_help=namespace_help)


def cluster_scope_options(command: F) -> F:
    """The same for objects without a namespace: -n is accepted, as by kubectl, and not in the help."""
    return _with_reach(command, "")


def _with_reach(command: F, namespace_help: str) -> F:
    @click.option("--kubeconfig", default="", metavar="FILE", help="Kubeconfig to use instead of KUBECONFIG.")
    @click.option(
        "--context",
        default="",
        shell_complete=complete_contexts,
        metavar="NAME",
        help="Context of the kubeconfig.",
    )
    @click.option(
        "-n",
        "--namespace",
        type=namespace_name,
        shell_complete=complete_namespaces,
        metavar="NAME",
        hidden=not namespace_help,
        help=namespace_help,
    )
    @functools.wraps(command)
    def with_reach(*args: Any, kubeconfig: str, context: str, namespace: str | None, **kwargs: Any) -> Any:
        return command(*args, reach=Connection(kubeconfig, context, namespace or ""), **kwargs)

    return with_reach  # type: ignore[return-value]


@contextlib.asynccontextmanager
async def connected(reach: Connection, *, dry_run: bool = False) -> AsyncIterator[Cluster]:
    """The cluster, for as long as the block runs. In a dry run it checks writes and keeps nothing."""
    config = load_config(reach.kubeconfig, reach.context)
    clock = ServerClock(SystemClock())  # ages and Leases are compared with the server's times
    transport: Transport = DatedTransport(HttpTransport(config, clock.machine), clock)
    transport = DryRunTransport(transport) if dry_run else transport
    client = Client(transport, user_agent="vacate/cli")
    try:
        yield Cluster(client, reach.namespace or config.namespace, clock, DRY_RUN if dry_run else "")
    except NotFound as error:
        raise (
            not_served(EVICTIONREQUESTS, "EvictionRequestAPI") if is_unknown_path(error) else error
        ) from error
    except (Forbidden, InternalError) as error:
        raise with_remedy(error) from error
    except Unauthorized as error:
        raise ConfigError(not_accepted(config.server)) from error
    except TransportError as error:
        raise unreachable(error, config.server) from error
    finally:
        await client.aclose()


def run_on_cluster(reach: Connection, work: Callable[[Cluster], Awaitable[T]], *, dry_run: bool = False) -> T:
    """What the work comes to on the cluster; a signal that comes first ends the command."""
    results: list[T] = []

    async def run() -> None:
        async with connected(reach, dry_run=dry_run) as cluster:
            results.append(await work(cluster))

    if run_until_signalled(run):
        interrupted()
    return results[0]


def is_unknown_path(error: ApiError) -> bool:
    """Whether the path as such is unknown, and not only an object of that name."""
    return not error.details.get("name") and not error.details.get("kind")


def not_served(kind: Kind, gate: str) -> ConfigError:
    """Of a kind that the cluster does not serve, and the feature gate that makes an embedded one serve it."""
    if not kind.custom:
        return ConfigError(
            f"this cluster does not serve {kind.api_version}: kube-apiserver 1.37 serves it with "
            f"--feature-gates=EvictionRequestAPI=true and --runtime-config={kind.api_version}=true, "
            f"`vacate up` with --feature-gates={gate}=true"
        )
    other = "; evictions by lifecycle.k8s.io need --api lifecycle" if kind is EVICTIONREQUESTS else ""
    return ConfigError(
        f"this cluster serves no {kind.several} ({kind.api_version}): install Vacate with `vacate install "
        f"--image IMAGE`, or open Vacate's feature gate {gate}{other}"
    )
