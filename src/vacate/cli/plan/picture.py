"""A plan as a picture: the nodes over time, what holds them, and the verdict; for light and dark pages."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from vacate.api.kinds import NODES, PODS
from vacate.api.types.nodemaintenance import BLOCKED, DRAINED
from vacate.cli.common.text import safe
from vacate.cli.plan.text import moment_text, short, span_text, verdict_line
from vacate.plan.forecast import NodePlan
from vacate.plan.report import Plan
from vacate.plan.snapshot import Snapshot
from vacate.views.phrases import counted

_WIDTH, _MARGIN, _LABELS, _ROW, _BAR = 960, 24, 190, 26, 14
_LEFT, _RIGHT = _MARGIN + _LABELS, _WIDTH - 120
_SHOWN, _MAX_TICKS, _NAME = 60, 8, 26
_LINE = 128  # characters of the smaller text in the width
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_STYLE = """
text{font:13px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1f2328}
.head{font-size:17px;font-weight:600}.small{font-size:12px;fill:#59636e}.page{fill:#ffffff}
.grid{stroke:#d1d9e0;stroke-width:1}.slow{fill:#a5c8f5}.fast{fill:#1f6feb}.held{fill:#cf222e}
.waits{fill:#d1d9e0}.bad{fill:#cf222e}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.page{fill:#0d1117}
.grid{stroke:#30363d}.slow{fill:#264f86}.fast{fill:#58a6ff}.held{fill:#f85149}.waits{fill:#30363d}
.bad{fill:#f85149}}
"""


def plan_svg(plan: Plan, snapshot: Snapshot) -> str:
    """The picture. A bar is a node's turn, as fast and as slow as it may be."""
    nodes = plan.decisive.nodes[:_SHOWN]
    moments = [one for run in plan.alike for node in run.nodes for one in (node.begins, node.ends) if one]
    until = max([plan.outcome.slowest, *moments, 1.0])
    head = textwrap.wrap(verdict_line(plan.outcome, plan.decisive), 100)
    top = _MARGIN + 22 * len(head) + 46
    body = top + _ROW * len(nodes)
    notes = [*_notes(plan, len(nodes))]
    height = body + 38 + 18 * len(notes) + _MARGIN
    read = f"{counted(len(snapshot.of(NODES)), 'node')}, {counted(len(snapshot.of(PODS)), 'pod')}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{_shown(' '.join(head))}</title><style>{_STYLE}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{height}" rx="8"/>',
        *(_text(_MARGIN, _MARGIN + 16 + 22 * row, line, "head") for row, line in enumerate(head)),
        _text(_MARGIN, top - 28, f"{read}, read at {moment_text(snapshot.taken)}", "small"),
        *(_legend(top - 28) if len(plan.alike) > 1 else ()),
        *_axis(until, top, body),
    ]
    by_run = [{one.name: one for one in run.nodes} for run in plan.alike]
    for row, node in enumerate(nodes):
        same = [found[node.name] for found in by_run if node.name in found]
        lines += _bars(node, same, until, top + _ROW * row)
    lines += [_text(_MARGIN, body + 38 + 18 * row, line, kind) for row, (line, kind) in enumerate(notes)]
    return "\n".join([*lines, "</svg>"])


def _legend(bottom: int) -> Iterator[str]:
    for left, kind, text in (
        (_RIGHT - 250, "fast", "as fast"),
        (_RIGHT - 160, "slow", "as slow as is expected"),
    ):
        yield f'<rect class="{kind}" x="{left}" y="{bottom - 10}" width="18" height="10" rx="3"/>'
        yield _text(left + 24, bottom, text, "small")


def _bars(node: NodePlan, same: Sequence[NodePlan], until: float, top: int) -> Iterator[str]:
    name = node.name if len(node.name) <= _NAME else f"{node.name[: _NAME - 1]}…"
    middle = top + _ROW // 2 + 4
    yield _text(_MARGIN, middle, name)
    begins = [one.begins for one in same if one.begins is not None]
    ends = [one.ends for one in same if one.ends is not None]
    pods = counted(node.pods, "pod")
    if node.phase == DRAINED and begins and ends:
        yield _bar("slow", min(begins), max(ends), until, top, f"{node.name}: {pods}")
        first = min(same, key=lambda one: one.ends if one.ends is not None else until)
        if len(same) > 1 and first.begins is not None and first.ends is not None:
            yield _bar("fast", first.begins, first.ends, until, top, f"{node.name} at the fastest")
        yield _text(_RIGHT + 12, middle, f"{span_text(max(ends))}, {pods}", "small")
    elif begins:
        kind = "held" if node.phase == BLOCKED else "slow"
        yield _bar(kind, min(begins), until, until, top, f"{node.name}: {node.message}")
        yield _text(_RIGHT + 12, middle, node.phase.lower(), "bad")
    else:
        yield _bar("waits", 0.0, until, until, top, f"{node.name}: {node.message}")
        yield _text(_RIGHT + 12, middle, node.phase.lower(), "small")


def _bar(kind: str, begins: float, ends: float, until: float, top: int, title: str) -> str:
    left, right = _place(begins, until), _place(ends, until)
    size = (
        f'x="{left:.1f}" y="{top + (_ROW - _BAR) // 2}" width="{max(right - left, 3.0):.1f}" height="{_BAR}"'
    )
    return f'<rect class="{kind}" {size} rx="3"><title>{_shown(title)}</title></rect>'


def _axis(until: float, top: int, bottom: int) -> Iterator[str]:
    step = next((one for one in _STEPS if until / one <= _MAX_TICKS), _STEPS[-1])
    for number in range(int(until // step) + 1):
        at = _place(number * step, until)
        yield f'<line class="grid" x1="{at:.1f}" y1="{top}" x2="{at:.1f}" y2="{bottom}"/>'
        yield _text(at, top - 6, span_text(number * step), "small", anchor="middle")


def _notes(plan: Plan, shown: int) -> Iterator[tuple[str, str]]:
    if (more := len(plan.decisive.nodes) - shown) > 0:
        yield f"… and {counted(more, 'more node')}", "small"
    for one in plan.decisive.blockers[:3]:
        where = f"pod {one.namespace}/{one.pod} on {one.node}" if one.pod else f"node {one.node}"
        for line in textwrap.wrap(f"{where}: {one.message}", _LINE):
            yield line, "bad"
    for tried in plan.remedies[:3]:
        for command in tried.commands:
            yield from ((line, "small") for line in textwrap.wrap(f"$ {command}", _LINE))
        yield f"→ {short(tried.outcome)}", "small"


def _place(seconds: float, until: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * min(seconds / until, 1.0)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f" class={quoteattr(kind)}" if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{_shown(text)}</text>'


def _shown(text: str) -> str:
    return escape(safe(text))
