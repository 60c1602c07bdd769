"""Makes plans: reads the cluster, runs the drain forward with a line of progress; before a drain as well."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from vacate.api.kinds import NODES, PODS
from vacate.api.objects import Obj, dig
from vacate.api.selectors.labels import parse_selector
from vacate.api.text import plain
from vacate.api.times import format_time
from vacate.cli.common import terminal
from vacate.cli.common.confirmation import confirmed
from vacate.cli.common.connection import Cluster, Connection, not_served, run_on_cluster
from vacate.cli.common.exitcodes import FAILED, INTERRUPTED, LACKS_ROOM, WOULD_BLOCK, interrupted
from vacate.cli.common.remedies import with_reader
from vacate.cli.common.run import run_until_signalled
from vacate.cli.common.text import cut
from vacate.errors import ConfigError, Forbidden
from vacate.views.phrases import counted

if TYPE_CHECKING:  # the simulated cluster takes as long to load as all other commands together
    from vacate.plan.forecast import Verdict
    from vacate.plan.report import Plan
    from vacate.plan.run import PlanOptions, Progress
    from vacate.plan.snapshot import Snapshot

_MAX_NODES = 1000
_BAR = 20  # characters


def exit_code(verdict: Verdict) -> int:
    """What a script is to know of a verdict."""
    return {"Finishes": 0, "LacksRoom": LACKS_ROOM}.get(verdict.value, WOULD_BLOCK)


def read_cluster(reach: Connection, *, images: bool = False) -> Snapshot:
    """The cluster as it is now."""
    from vacate.plan.snapshot import read_snapshot  # noqa: PLC0415

    async def read(cluster: Cluster) -> Snapshot:
        try:
            return await read_snapshot(cluster.client, cluster.clock, images=images)
        except Forbidden as error:
            raise with_reader(error) from error

    return run_on_cluster(reach, read)


def make(
    snapshot: Snapshot,
    options: PlanOptions,
    max_nodes: Sequence[int | str] = (),
    *,
    runs: int,
    remedies: bool,
) -> tuple[Plan | None, bool]:
    """The plan, as far as it was known when Ctrl-C was pressed; and whether it is whole."""
    from vacate.plan.report import make_plans  # noqa: PLC0415
    from vacate.plan.run import StopPlan  # noqa: PLC0415
    from vacate.plan.turns import is_served, requested_by  # noqa: PLC0415

    if not is_served(snapshot, api := requested_by(options.spec)):
        raise not_served(api.kind, api.kind.gate)
    total = sum(dig(one, "spec", "nodeName") in options.nodes for one in snapshot.of(PODS))
    made: Plan | None = None
    far, stopping = "it had not begun", False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal stopping
        if stopping:  # a user who does not want to wait for the next moment at which a run can be left
            raise KeyboardInterrupt
        stopping = True

    with _handling_interrupts(stop), terminal.console(err=True).status("") as status:

        def progress(what: str) -> Progress:
            def report(seconds: float, pods: int) -> None:
                nonlocal far
                so_far = f"{int(seconds // 60)} min ahead, {counted(pods, 'pod')} gone"
                far = f"{what}: {so_far}"
                status.update(_progress_line(f"{_bar(pods, total)} {so_far}: {what}"))
                if stopping:
                    raise StopPlan

            return report

        try:
            for made in make_plans(  # noqa: B007  the last is returned
                snapshot, options, max_nodes, runs=runs, remedies=remedies, progress=progress
            ):
                pass
            if not stopping:
                return made, True
        except (KeyboardInterrupt, StopPlan):
            pass
    known = "; what follows was known by then" if made else ""
    terminal.echo(f"Interrupted ({far}){known}; nothing was changed.", err=True)
    return made, False


def _progress_line(text: str) -> str:
    """As much as fits beside the sign that turns: a line that is drawn anew must not become two."""
    return cut(text, terminal.width(err=True) - 2)


def _bar(gone: int, total: int) -> str:
    """How many of the pods on the nodes are gone; some stay, such as those of DaemonSets."""
    filled = min(round(_BAR * gone / total), _BAR) if total else _BAR
    return "━" * filled + "─" * (_BAR - filled)


@contextlib.contextmanager
def _handling_interrupts(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Have Ctrl-C call this meanwhile; only the main thread can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def plan_drain(nodes: tuple[str, ...], selector: str, spec: Obj, reach: Connection, *, ask: bool) -> str:
    """Show the verdict of a drain that is about to begin, and return it with the time of the plan.

    Where it would not finish the user is asked. The command ends here where the user does not agree, or
    cannot be asked.
    """
    from vacate.cli.plan.text import unknown_lines, verdict_line  # noqa: PLC0415
    from vacate.plan.run import PlanOptions  # noqa: PLC0415

    snapshot = read_cluster(reach)
    options = PlanOptions(chosen_nodes(snapshot, nodes, selector), spec)
    made, whole = make(snapshot, options, runs=2, remedies=False)
    if made is None or not whole:
        sys.exit(INTERRUPTED)
    verdict = verdict_line(made.outcome, made.decisive)
    unknown = unknown_lines(made.unknown, terminal.width(err=True))
    terminal.echo_lines([f"plan: {verdict}", *unknown], err=True)
    planned = f"{plain(verdict, 500)}, planned at {format_time(snapshot.taken)}"
    code = exit_code(made.outcome.verdict)
    if not code or not ask:
        return planned
    answers: list[bool] = []

    async def question() -> None:
        answers.append(await confirmed("The plan says that this drain would not finish well"))

    if run_until_signalled(question):
        interrupted()
    if not answers[0]:
        sys.exit(FAILED)
    return planned


def chosen_nodes(snapshot: Snapshot, names: tuple[str, ...], selector: str) -> tuple[str, ...]:
    """The nodes of the drain, in the order of the command line or of the cluster."""
    nodes = {one["metadata"]["name"]: one["metadata"].get("labels", {}) for one in snapshot.of(NODES)}
    chosen = tuple(dict.fromkeys(names)) or tuple(
        name for name, labels in nodes.items() if parse_selector(selector).matches(labels)
    )
    if not chosen:
        raise ConfigError(f"no node matches {selector!r}; see: kubectl get nodes --show-labels")
    if len(chosen) > _MAX_NODES:
        raise ConfigError(
            f"a drain has at most {_MAX_NODES} nodes, and these are {len(chosen)}; choose with -l"
        )
    return chosen
