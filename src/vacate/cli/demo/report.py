"""What the demo prints at its end: a timeline with its legend, figures, and what to try next."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.cli.common import terminal
from vacate.cli.common.program import path_export, program_name
from vacate.cli.demo.timeline import LEGEND, Timeline, bar, steps_of
from vacate.views.phrases import counted

_STEPS_WIDTH = 36  # of the column beside the strip
_MIN_BAR, _MAX_BAR = 12, 48


@dataclass
class Summary:
    """The figures of the drain."""

    replicas: int
    at_least: int
    lowest: int = 1_000_000
    seconds: float = 0.0


def report(summary: Summary, node: str, timeline: Timeline, width: int) -> list[str]:
    """All of it, line by line: at most 24 lines for the pods of the demo, so that none scrolls away."""
    return [*timeline_lines(timeline, width), *_figures(summary, node, timeline), *next_steps()]


def timeline_lines(timeline: Timeline, width: int) -> list[str]:
    """Each pod beside a strip of the time that its eviction took, and the steps that it went through."""
    names = sorted(timeline.pods)
    widest = max(map(len, names), default=0)
    size = min(max(width - widest - _STEPS_WIDTH - 6, _MIN_BAR), _MAX_BAR)
    lines = [f"Timeline, 0 s to {timeline.length:.1f} s   {LEGEND}"]
    for name in names:
        pod_timeline = timeline.pods[name]
        strip = bar(pod_timeline, timeline.length, size)
        for number, step in enumerate(steps_of(pod_timeline) or [""]):
            first = (name, strip) if not number else ("", "")
            lines.append(f"  {first[0].ljust(widest)}  {first[1].ljust(size)}  {step}".rstrip())
    return lines


def next_steps() -> list[str]:
    """What to try after the demo."""
    name, export = program_name(), path_export()
    return [
        "Try next",
        *([f"  {export}"] if export else []),
        f"  {name} up                      a cluster to keep; says how to use kubectl",
        f"  {name} drain NODE --dry-run    the pods in order, and what would block",
        f"  {name} drain NODE              drain it; Ctrl-C detaches, --cancel stops it",
        f"  {name} explain POD             why a pod is not evicted yet, and what to do",
        "  docs/tutorial/first-interceptor.md    prepare a pod's eviction yourself",
    ]


def print_report(summary: Summary, node: str, timeline: Timeline) -> None:
    """Print it as wide as the terminal is."""
    terminal.echo_lines(report(summary, node, timeline, terminal.console().width))


def _figures(summary: Summary, node: str, timeline: Timeline) -> list[str]:
    gone = sum(pod_timeline.gone for pod_timeline in timeline.pods.values())
    refused = sum(timeline.refusals.values())
    lowest = min(summary.lowest, summary.replicas)
    return [
        "Summary",
        f"  {node} was drained of {counted(gone, 'pod')} in {summary.seconds:.1f} s",
        f"  {counted(refused, 'eviction')} refused by a disruption budget at first",
        f"  {lowest} of {summary.replicas} web pods ready at least; the budget demands {summary.at_least}",
    ]
