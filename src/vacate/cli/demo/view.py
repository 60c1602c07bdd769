"""How the demo looks: live on a terminal of 80 by 24, plain lines elsewhere."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from rich.live import Live
from rich.text import Text

from vacate.api.types import Pod, PodDisruptionBudget
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.cli.common import terminal
from vacate.cli.common.text import safe
from vacate.cli.explain.text import broken
from vacate.views.maintenance import EMPTY, FULL, node_line
from vacate.views.progress import progress_text
from vacate.views.statusrows import Row, rows_of

READY, STARTING, TERMINATING = "●", "○", "◐"
LEGEND = f"{READY} ready   {STARTING} starting   {TERMINATING} terminating   (pod names are shortened)"
_POD_ROWS = 6  # of a node, so that the rest of the screen stands still
_RECENT = 4
_STYLES = {READY: "green", STARTING: "cyan", TERMINATING: "yellow", FULL: "green", EMPTY: "dim"}


@dataclass(frozen=True, slots=True)
class View:
    """What the screen shows."""

    pods: Sequence[Pod]
    requests: Sequence[EvictionRequest]
    budget: PodDisruptionBudget | None
    now: dt.datetime
    maintenance: NodeMaintenance | None = None

    @property
    def cordoned(self) -> str:
        """The node that is drained, once that has begun."""
        nodes = self.maintenance.status.nodes if self.maintenance is not None else []
        return nodes[0].name if nodes else ""


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
            terminal.echo_lines(whole(self._lines, self._console.width))

    def say(self, line: str) -> None:
        """Add a line."""
        self._lines.append(line)
        if self._live is None:
            terminal.echo(line)
        self.refresh()

    def refresh(self) -> None:
        """Draw the present state."""
        if self._live is not None:
            self._live.update(self._render(), refresh=True)

    def _render(self) -> Text:
        view = self._view()
        self._nodes |= dict.fromkeys(pod.spec.node_name for pod in view.pods if pod.spec.node_name)
        width, height = self._console.width, self._console.height
        lines = drawn(view, sorted(self._nodes), self._lines[-_RECENT:], width)[: height - 1]
        text = Text("\n".join(lines), no_wrap=True, overflow="ellipsis")
        for word, style in _STYLES.items():
            text.highlight_words([word], style)
        text.highlight_words(["Drain of", "Pods by node", "Eviction requests", "Recent events"], "bold")
        return text


def drawn(view: View, nodes: Sequence[str], recent: Sequence[str], width: int) -> list[str]:
    """The screen, line by line, none longer than the width: 23 lines at most for the pods of the demo."""
    lines = [
        _drain(view, width),
        "Pods by node",
        *_pods(view, nodes, width),
        f"  {LEGEND}",
        f"  {_budget(view.budget)}",
        "",
        "Eviction requests",
        *(_requests(view) or ["  none yet"]),
        "",
        "Recent events",
        *(f"  {safe(line)}" for line in recent),
    ]
    return [line if len(line) <= width else f"{line[: width - 1]}…" for line in lines]


def whole(lines: Sequence[str], width: int) -> list[str]:
    """What stays on the terminal: all that was said, broken between words where a line is too long."""
    return [part for line in lines for part in broken(line, width, "", "  ")]


def _drain(view: View, width: int) -> str:
    """How far the drain is, as `vacate drain` shows it."""
    rows = view.maintenance.status.nodes if view.maintenance is not None else []
    if not rows:
        return "Drain of a node: not begun"
    return f"Drain of {node_line(rows[0], view.now, width - 9, 0)}"


def short(pod: str) -> str:
    """A pod of a Deployment without the hash in the middle: `web-8rxxn`."""
    first, *_, last = pod.split("-")
    return f"{first}-{last}" if last != first else pod


def _pods(view: View, nodes: Sequence[str], width: int) -> list[str]:
    """A column for each node."""
    room = max((width - 2) // max(len(nodes), 1), 12)
    header = [f"{node} (cordoned)" if node == view.cordoned else node for node in nodes]
    columns = [[_pod(pod) for pod in _sorted(view.pods) if pod.spec.node_name == node] for node in nodes]
    rows = [[column[row] if row < len(column) else "" for column in columns] for row in range(_POD_ROWS)]
    return [f"  {''.join(cell.ljust(room) for cell in row)}".rstrip() for row in (header, *rows)]


def _requests(view: View) -> list[str]:
    rows = [row for row in rows_of(view.requests, [], view.now) if row.stage != "Complete"]
    widest = max((len(short(row.pod)) for row in rows), default=0)
    return [f"  {short(row.pod).ljust(widest)}  {safe(_progress(row))}" for row in rows]


def _progress(row: Row) -> str:
    return progress_text(row).removeprefix("waits for ")


def _sorted(pods: Sequence[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: pod.metadata.name)


def _pod(pod: Pod) -> str:
    state = TERMINATING if pod.terminating else READY if pod.ready else STARTING
    return f"{state} {short(pod.metadata.name)}"


def _budget(budget: PodDisruptionBudget | None) -> str:
    if budget is None:
        return "no disruption budget yet"
    status = budget.status
    allowed = status.disruptions_allowed
    now = f"{allowed} may be evicted now" if allowed else "none may be evicted now"
    pods = "pod" if status.current_healthy == 1 else "pods"
    counts = f"{status.current_healthy} {pods} healthy, {status.desired_healthy} needed"
    return f"disruption budget {budget.metadata.name}: {counts}, {now}"
