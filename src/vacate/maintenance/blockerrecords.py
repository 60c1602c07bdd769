"""Blockers as the status of a NodeMaintenance has them, within the limits of its schema."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from msgspec.structs import replace

from vacate.api.types import Pod
from vacate.api.types.nodemaintenance import MANUAL, MAX_MESSAGE, MAX_REMEDIES, Blocker, BlockerRemedy
from vacate.views.model import Remedy


def blocker(
    pod: Pod,
    kind: str,
    message: str,
    remedies: Sequence[Remedy],
    name: str = "",
    *,
    sentence: str = "",
    resolution: str = MANUAL,
    since: dt.datetime | None = None,
    end: dt.datetime | None = None,
    consequence: str = "",
) -> Blocker:
    """A blocker of a pod, within the limits of the schema; the sentence is the remedies in other words."""
    made = node_blocker(
        pod.spec.node_name, kind, message, remedies, name,
        sentence=sentence, resolution=resolution, since=since,
    )  # fmt: skip
    meta = pod.metadata
    return replace(
        made,
        namespace=meta.namespace,
        pod=meta.name,
        end_time=end and end.replace(microsecond=0),
        consequence=consequence,
    )


def node_blocker(
    node: str,
    kind: str,
    message: str,
    remedies: Sequence[Remedy],
    name: str = "",
    *,
    sentence: str = "",
    resolution: str = MANUAL,
    since: dt.datetime | None = None,
) -> Blocker:
    """A blocker of a node, likewise."""
    return Blocker(
        node=node,
        kind=kind,
        name=name[:317],
        message=cut(message),
        remedy=cut(sentence or "; or ".join(one.phrase for one in remedies)),
        remedies=[
            BlockerRemedy(text=cut(one.text), command=one.command)
            for one in remedies[:MAX_REMEDIES]
            if len(one.command) <= MAX_MESSAGE  # a part of a command is none
        ],
        resolution=resolution,
        since=since and since.replace(microsecond=0),
    )


def cut(text: str) -> str:
    """The text, no longer than the schema allows."""
    return text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 1]}…"
