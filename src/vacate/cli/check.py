"""`vacate check`: whether the installation works, part by part, and what helps where it does not."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence

import click

from vacate.api.objects import Obj
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster, Connection, cluster_options, run_on_cluster
from vacate.cli.common.exitcodes import FAILED
from vacate.cli.common.output import output_option, print_object
from vacate.cli.common.program import program_name
from vacate.cli.interceptors import read_interceptors
from vacate.errors import ApiError
from vacate.install.check.findings import Finding, State
from vacate.install.check.findings import interceptors as interceptor_finding
from vacate.install.check.reader import InstallationCheck
from vacate.views.model import Remedy
from vacate.views.phrases import counted

_USUAL_WIDTH = 80  # on fewer columns the names of checks have none of their own


@click.command()
@cluster_options
@output_option()
def check(reach: Connection, output: str) -> None:
    """Check the installation: every part, the rights of every account, and yours.

    Nothing is changed. Each line is one part: ok, warning (it works, but look at it), failed, or not seen
    (you may not read what shows it). Commands that help are below it.

    Exit codes: 0 nothing has failed, 1 something has, or the cluster does not answer, 2 usage.
    """
    found = run_on_cluster(reach, read_findings)
    failed = [one for one in found if one.state is State.FAILED]
    if output:
        print_object({"ok": not failed, "findings": [_as_object(one) for one in found]}, output)
    else:
        terminal.echo_lines(check_layout(found, terminal.width()))
    sys.exit(FAILED if failed else 0)


async def read_findings(cluster: Cluster) -> list[Finding]:
    """All parts, in the order in which they depend on each other."""
    reader = InstallationCheck(cluster.client, cluster.clock, cluster.namespace, program_name())
    found = await reader.findings()
    if any(one.check == "installation" for one in found):
        return found
    try:
        summaries = await read_interceptors(cluster, "")
    except ApiError as error:
        ask = Remedy("An administrator sees it with", f"{program_name()} check")
        return [*found, Finding("interceptors", State.UNSEEN, str(error), (ask,))]
    return [*found, interceptor_finding(summaries, program_name())]


def check_layout(findings: Sequence[Finding], width: int) -> list[str]:
    """A line for each part, its remedies below it, and how many there are of each state at the end."""
    names = max((len(one.check) for one in findings), default=0)
    states = max(len(one) for one in State)
    lines: list[str] = []
    for one in findings:
        named = f"{one.check:<{names}}  " if width >= _USUAL_WIDTH else f"{one.check}: "
        indent = states + 2 + (len(named) if width >= _USUAL_WIDTH else 0)
        lines += _wrapped(f"{one.state:<{states}}  {named}{one.text}", width, indent)
        for remedy in one.remedies:
            text = f"> {remedy.text}{':' if remedy.command else '.'}"
            lines += _wrapped(f"{'':{states}}  {text}", width, states + 4)
            lines += [f"{'':{states}}      {remedy.command}"] if remedy.command else []
    counts = {state: sum(one.state is state for one in findings) for state in State}
    shown = [f"{number} {state}" for state, number in counts.items() if number]
    return [*lines, "", f"{counted(len(findings), 'check')}: {', '.join(shown)}."]


def _wrapped(text: str, width: int, indent: int) -> list[str]:
    return textwrap.wrap(
        text, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def _as_object(finding: Finding) -> Obj:
    return {
        "check": finding.check,
        "state": str(finding.state),
        "text": finding.text,
        "remedies": [{"text": one.text, "command": one.command} for one in finding.remedies],
    }
