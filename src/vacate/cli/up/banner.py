"""What `vacate up` says on one screen: what runs, and the next command to type."""

from __future__ import annotations

import shlex

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from vacate.cli.common import terminal
from vacate.cli.common.program import path_export, program_name
from vacate.embedded.cluster import PROCESS, SIMULATED
from vacate.embedded.cluster.controlplane import CONTROLLERS
from vacate.embedded.cluster.local import LocalCluster
from vacate.wiring.controllers import enabled

_NODES = {
    SIMULATED: "simulated: pods run no processes",
    PROCESS: "pods are processes of this machine, without images and isolation",
}


def show_up(cluster: LocalCluster, console: Console | None = None) -> None:
    """Print the screen."""
    console = console or terminal.console()
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    facts.add_row("API server", cluster.address)
    facts.add_row("storage", str(cluster.folder.database))
    facts.add_row("kubeconfig", str(cluster.folder.kubeconfig))
    facts.add_row("controllers", _controllers(cluster))
    facts.add_row("nodes", f"{cluster.settings.nodes}, {_NODES[cluster.settings.runtime]}")
    console.print(Panel(facts, title="Vacate is up", title_align="left", expand=False))
    console.print("In another terminal:\n")
    if export := path_export():
        console.print(f"  {export}", soft_wrap=True)
    console.print(f"  export KUBECONFIG={shlex.quote(str(cluster.folder.kubeconfig))}", soft_wrap=True)
    console.print(f"  kubectl get nodes\n  {program_name()} web\n")
    console.print("Ctrl-C stops it; the same command continues where it stopped.")


def _controllers(cluster: LocalCluster) -> str:
    """How many, by whose they are: their names would fill the screen."""
    kubernetes = f"the scheduler, {len(CONTROLLERS)} of Kubernetes"
    own = len(enabled(cluster.settings.gates)) if cluster.evictions else 0
    hooks = ", the hooks interceptor" if cluster.settings.hooks is not None else ""
    return f"{kubernetes}, {own or 'none'} of Vacate{hooks}"
