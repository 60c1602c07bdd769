"""`vacate node reboot`: drain the node of this machine, and then reboot the machine."""

from __future__ import annotations

import sys

import click

from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_scope_options, run_on_cluster
from vacate.cli.common.parameters import subdomain
from vacate.cli.common.program import program_name
from vacate.cli.common.queries import read_node
from vacate.cli.common.run import run_until_signalled
from vacate.cli.drain.command import drain
from vacate.errors import ConfigError
from vacate.nodeagent.runtime.supervisor.procfs import boot_id
from vacate.nodeagent.shutdown.logind import DBusLogind


@click.command()
@click.argument("name", type=subdomain, metavar="NODE")
@click.option("--ignore-daemonsets", is_flag=True, help="Do not evict pods of DaemonSets.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods although they lose emptyDir data.")
@click.option("--force", is_flag=True, help="Evict pods that no controller re-creates.")
@click.option(
    "--timeout", default="", metavar="SPAN", help="Maximum time for the drain; after it the machine stays up."
)
@click.option(
    "--reason",
    default="reboot",
    show_default=True,
    metavar="TEXT",
    help="Why the machine reboots; shown to users.",
)
@click.option("--dry-run", is_flag=True, help="Show what the drain would do; change nothing.")
@cluster_scope_options
def reboot(
    name: str,
    ignore_daemonsets: bool,
    delete_emptydir_data: bool,
    force: bool,
    timeout: str,
    reason: str,
    dry_run: bool,
    reach: Connection,
) -> None:
    """Drain a node, and then reboot the machine. Run it on the node itself.

    The drain respects interceptors and disruption budgets; what it leaves, such as pods of
    DaemonSets, ends in the order of the shutdown. If the drain does not complete, the machine stays up. The
    node stays cordoned until `vacate uncordon`.

    Exit codes: those of `vacate drain`; 0 when the reboot is under way.
    """
    _check_is_here(name, reach)
    flags = {
        "--ignore-daemonsets": ignore_daemonsets,
        "--delete-emptydir-data": delete_emptydir_data,
        "--force": force,
        "--dry-run": dry_run,
    }
    values = {
        "--timeout": timeout,
        "--reason": reason,
        "--kubeconfig": reach.kubeconfig,
        "--context": reach.context,
    }
    chosen = [flag for flag, given in flags.items() if given]
    chosen += [part for option, value in values.items() if value for part in (option, value)]
    code = _drained([name, *chosen])
    if code != 0:
        terminal.error(f"node/{name} is not drained: this machine stays up")
        sys.exit(code)
    if dry_run:
        terminal.echo("then this machine would be rebooted (dry run)")
        return
    terminal.echo(f"node/{name} is drained; rebooting. Afterwards: {program_name()} uncordon {name}")
    run_until_signalled(_reboot)


def _check_is_here(name: str, reach: Connection) -> None:
    """A drain of one machine and a reboot of another would be worse than neither."""

    async def look(cluster: Cluster) -> str:
        return (await read_node(cluster, name)).status.node_info.boot_id

    if run_on_cluster(reach, look) != boot_id():
        raise ConfigError(
            f"node/{name} is not this machine (its boot ID differs); run this on {name} itself, "
            f"or drain it from here: {program_name()} drain {name}"
        )


def _drained(arguments: list[str]) -> int:
    try:
        drain.main(arguments, prog_name=f"{program_name()} drain", standalone_mode=False)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0


async def _reboot() -> None:
    session = await DBusLogind().connect()
    try:
        await session.reboot()
    finally:
        await session.aclose()
