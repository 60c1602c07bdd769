"""How the demo looks: live on a terminal, plain lines elsewhere, a timeline and a summary at the end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.cli.common import terminal
from vacate.cli.demo_timeline import Timeline, bar, steps_of
from vacate.cli.status_rows import rows_of
from vacate.cli.status_table import live_table

_SHORTEST_BAR, _LONGEST_BAR = 14, 48
_TEXT_WIDTH = 66  # of the columns beside the strip
_RECENT = 5


@dataclass(frozen=True, slots=True)
class View:
    """What the screen shows."""

    pods: Sequence[Pod]
    requests: Sequence[EvictionRequest]
    budget: PodDisruptionBudget | None
    now: dt.datetime


@dataclass
class Summary:
    """The figures of the drain."""

    replicas: int
    at_least: int
    lowest: int = 1_000_000
    seconds: float = 0.0


class Screen:
    """Draws pods, requests, the budget and the last lines; only lines where there is no terminal."""

    def __init__(self, view: Callable[[], View]) -> None:
        self._view = view
        self._lines: list[str] = []
        self._console = terminal.console()
        self._live: Live | None = None
        self._nodes: dict[str, None] = {}  # all that ever had pods, so that an empty one stays in sight

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live = Live(self._render(), console=self._console, auto_refresh=False, transient=True)
            self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)
            for line in self._lines:
                self._print(line)

    def say(self, line: str) -> None:
        """Add a line."""
        self._lines.append(line)
        if self._live is None:
            self._print(line)
        self.refresh()

    def refresh(self) -> None:
        """Draw the present state."""
        if self._live is not None:
            self._live.update(self._render(), refresh=True)

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True)

    def _render(self) -> RenderableType:
        view = self._view()
        self._nodes |= dict.fromkeys(pod.spec.node_name for pod in view.pods if pod.spec.node_name)
        parts: list[RenderableType] = [
            _pods(view.pods, sorted(self._nodes)),
            Text(_budget_line(view.budget), style="bold"),
        ]
        if view.requests:
            parts.append(live_table(rows_of(view.requests, [], view.now), (self._console.width, 12)))
        return Group(*parts, Text("\n".join(self._lines[-_RECENT:])))


def print_timeline(timeline: Timeline) -> None:
    """Each pod's way out, beside a strip of the time that it took."""
    console, length = terminal.console(), timeline.length
    width = min(max(console.width - _TEXT_WIDTH, _SHORTEST_BAR), _LONGEST_BAR)
    table = Table(title="Timeline", title_justify="left")
    table.add_column("POD", no_wrap=True)
    table.add_column(f"0 s to {length:.1f} s", no_wrap=True, min_width=width)
    table.add_column("WHO HAD THE TURN WHEN", overflow="fold")
    for name in sorted(timeline.courses):
        course = timeline.courses[name]
        table.add_row(name, bar(course, length, width), "\n".join(steps_of(course)))
    console.print(table)


def print_summary(summary: Summary, node: str, timeline: Timeline) -> None:
    """The figures of the drain."""
    table = Table(title="Summary", title_justify="left", show_header=False)
    table.add_row("node drained", node)
    table.add_row("pods that left", str(sum(course.gone for course in timeline.courses.values())))
    table.add_row("evictions that a budget refused at first", str(sum(timeline.refusals.values())))
    lowest = min(summary.lowest, summary.replicas)
    table.add_row(
        "fewest ready web replicas meanwhile",
        f"{lowest} of {summary.replicas} (the budget demands {summary.at_least})",
    )
    table.add_row("time", f"{summary.seconds:.1f} s")
    terminal.console().print(table)


def _pods(pods: Sequence[Pod], nodes: Sequence[str]) -> Table:
    table = Table(title="Pods by node", title_justify="left", expand=False)
    for node in nodes:
        table.add_column(node)
    columns = [[_pod(pod) for pod in _sorted(pods) if pod.spec.node_name == node] for node in nodes]
    for row in range(max(map(len, columns), default=0)):
        table.add_row(*(column[row] if row < len(column) else "" for column in columns))
    return table


def _sorted(pods: Sequence[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: pod.metadata.name)


def _pod(pod: Pod) -> Text:
    style = "yellow" if pod.terminating else "green" if pod.ready else "cyan"
    state = "leaving" if pod.terminating else "ready" if pod.ready else "starting"
    return Text(f"{pod.metadata.name} {state}", style=style)


def _budget_line(budget: PodDisruptionBudget | None) -> str:
    if budget is None:
        return "no budget yet"
    status = budget.status
    return (
        f"budget {budget.metadata.name}: {status.current_healthy} healthy, {status.desired_healthy} needed, "
        f"{status.disruptions_allowed} may go"
    )
