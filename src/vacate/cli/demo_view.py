"""How the demo looks: a live screen on a terminal, plain lines elsewhere, a summary at the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from vacate.api.types import Pod, PodDisruptionBudget
from vacate.errors import ApiError

View = Callable[[], tuple[list[Pod], PodDisruptionBudget | None]]


@dataclass
class Story:
    """What has happened so far."""

    started: float
    lines: list[str] = field(default_factory=list)
    evictions: list[str] = field(default_factory=list)
    refusals: int = 0
    lowest_ready: int = 1_000_000
    draining: bool = False
    drained_in: float = 0.0
    on_line: Callable[[str], None] = lambda _line: None
    _drain_began: float = 0.0
    _refused: dict[str, int] = field(default_factory=dict)

    def say(self, line: str) -> None:
        """Add a line."""
        self.lines.append(line)
        self.on_line(line)

    def evicted(self, pod: str) -> None:
        """The server accepted an eviction."""
        self.evictions.append(pod)
        self.say(f"Evicted {pod}")

    def refused(self, pod: str, error: ApiError) -> None:
        """The budget said no; told once for each pod."""
        self.refusals += 1
        self._refused[pod] = self._refused.get(pod, 0) + 1
        if self._refused[pod] == 1:
            causes = error.details.get("causes") or [{}]
            self.say(f"{pod} must wait: {causes[0].get('message') or error.message}")

    def begin_drain(self, now: float) -> None:
        """From here on the lowest number of ready replicas counts."""
        self.draining = True
        self._drain_began = now

    def end_drain(self, now: float) -> None:
        """The node is empty."""
        self.draining = False
        self.drained_in = now - self._drain_began


class Screen:
    """Draws the pods of each node, the budget and the last lines; only lines where there is no terminal."""

    def __init__(self, story: Story, view: View) -> None:
        self._story = story
        self._view = view
        self._console = Console(highlight=False)
        self._live: Live | None = None

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live = Live(self._render(), console=self._console, auto_refresh=False, transient=True)
            self._live.__enter__()
            self._story.on_line = lambda _line: self.refresh()
        else:
            self._story.on_line = lambda line: self._console.print(line, soft_wrap=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)
            for line in self._story.lines:
                self._console.print(line, soft_wrap=True)

    def refresh(self) -> None:
        """Draw the present state."""
        if self._live is not None:
            self._live.update(self._render(), refresh=True)

    def _render(self) -> RenderableType:
        pods, budget = self._view()
        table = Table(title="Pods by node", title_justify="left", expand=False)
        for column in ("NODE", "POD", "STATE"):
            table.add_column(column)
        for pod in sorted(pods, key=lambda one: (one.spec.node_name, one.metadata.name)):
            table.add_row(pod.spec.node_name or "(none yet)", pod.metadata.name, _state(pod))
        recent = Text("\n".join(self._story.lines[-6:]))
        return Group(table, Text(_budget_line(budget), style="bold"), recent)


def print_summary(story: Story, node: str, replicas: int, at_least: int) -> None:
    """The figures of the drain."""
    table = Table(title="Summary", title_justify="left", show_header=False)
    table.add_row("node drained", node)
    table.add_row("pods evicted", str(len(story.evictions)))
    table.add_row("evictions that the budget refused at first", str(story.refusals))
    lowest = min(story.lowest_ready, replicas)
    table.add_row(
        "fewest ready replicas meanwhile", f"{lowest} of {replicas} (the budget demands {at_least})"
    )
    table.add_row("time", f"{story.drained_in:.1f} s")
    Console(highlight=False).print(table)


def _state(pod: Pod) -> str:
    if pod.terminating:
        return "[yellow]leaving[/yellow]"
    if pod.ready:
        return "[green]ready[/green]"
    return "[cyan]starting[/cyan]" if pod.spec.node_name else "waiting for a node"


def _budget_line(budget: PodDisruptionBudget | None) -> str:
    if budget is None:
        return "no budget yet"
    status = budget.status
    return (
        f"budget {budget.metadata.name}: {status.current_healthy} healthy, {status.desired_healthy} needed, "
        f"{status.disruptions_allowed} may go"
    )
