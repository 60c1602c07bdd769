"""The options that say which pods of a node are evicted, and in which order: of `drain` and of `plan`."""

from __future__ import annotations

import datetime as dt
import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from vacate.api.objects import Obj
from vacate.api.types.nodemaintenance import (
    ALL_FIRST,
    DELETE,
    EVICT,
    IGNORE,
    IN_TURN,
    MAX_DEADLINE,
    PARALLEL,
    PRIORITY,
    REFUSE,
    REPORT,
    STRICT_PRIORITY,
)
from vacate.cli.common.parameters import label_name, span_between
from vacate.cli.drain.checks import pod_selector as checked_pod_selector

F = TypeVar("F", bound=Callable[..., Any])


def drain_rule_options(command: F) -> F:
    """Add the options; the command gets them as `rules`, the part of a NodeMaintenance's spec."""

    @click.option("--ignore-daemonsets", is_flag=True, help="Do not evict pods of DaemonSets.")
    @click.option("--evict-daemonsets", is_flag=True, help="Remove pods of DaemonSets too, after all others.")
    @click.option("--delete-emptydir-data", is_flag=True, help="Evict pods although they lose emptyDir data.")
    @click.option("--force", is_flag=True, help="Evict pods that no controller re-creates.")
    @click.option(
        "--pod-selector",
        callback=checked_pod_selector,
        metavar="LABELS",
        help="Evict only pods with these labels.",
    )
    @click.option(
        "--topology-key",
        type=label_name,
        default="",
        metavar="LABEL",
        help="Never drain nodes with two values of this label at once, also beside other drains.",
    )
    @click.option(
        "--order",
        type=click.Choice([PRIORITY, STRICT_PRIORITY, PARALLEL]),
        default=PRIORITY,
        show_default=True,
        help="Which pods of a node are evicted first. With Priority those of lower priority, and blocked "
        "ones hold the others for ten seconds only; with StrictPriority until they are gone.",
    )
    @click.option(
        "--deadline",
        type=span_between(1.0, float(MAX_DEADLINE)),
        metavar="SPAN",
        help="How long the drain of one node may take; --on-deadline says what happens then.",
    )
    @click.option(
        "--on-deadline",
        type=click.Choice([REPORT, DELETE]),
        default=REPORT,
        show_default=True,
        help="At the deadline of a node, only report it, or delete the remaining pods past disruption "
        "budgets and interceptors.",
    )
    @click.option(
        "--cordon",
        type=click.Choice([ALL_FIRST, IN_TURN]),
        default=ALL_FIRST,
        show_default=True,
        help="Cordon all nodes at the beginning, or each when its turn comes, which keeps more capacity.",
    )
    @functools.wraps(command)
    def with_rules(
        *args: Any,
        ignore_daemonsets: bool,
        evict_daemonsets: bool,
        delete_emptydir_data: bool,
        force: bool,
        pod_selector: list[Obj],
        topology_key: str,
        order: str,
        deadline: dt.timedelta | None,
        on_deadline: str,
        cordon: str,
        **kwargs: Any,
    ) -> Any:
        if ignore_daemonsets and evict_daemonsets:
            raise click.UsageError("use --ignore-daemonsets or --evict-daemonsets, not both")
        rules: Obj = {
            "pods": {
                "daemonSetPods": IGNORE if ignore_daemonsets else EVICT if evict_daemonsets else REFUSE,
                "unmanagedPods": EVICT if force else REFUSE,
                "localDataPods": EVICT if delete_emptydir_data else REFUSE,
            }
        }
        if pod_selector:
            rules["pods"]["selector"] = {"matchExpressions": pod_selector}
        rules |= {"topologyKey": topology_key} if topology_key else {}
        rules |= {"order": order} if order != PRIORITY else {}
        if on_deadline != REPORT and deadline is None:
            raise click.UsageError(
                "--on-deadline: there is no deadline; give --deadline, such as --deadline 30m"
            )
        rules |= {"deadlineSeconds": math.ceil(deadline.total_seconds())} if deadline is not None else {}
        rules |= {"onDeadline": on_deadline} if on_deadline != REPORT else {}
        rules |= {"cordon": cordon} if cordon != ALL_FIRST else {}
        return command(*args, rules=rules, **kwargs)

    return with_rules  # type: ignore[return-value]
