"""What the agent and the supervisor write to each other, made from values and read into them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vacate.nodeagent.runtime.protocol import ContainerExit, ContainerSpec, ContainerState
from vacate.nodeagent.runtime.supervisor.procfs import MARKER, marker


def start_request(spec: ContainerSpec, folder: Path, cgroup: str, scratch: Path | None) -> dict[str, Any]:
    """Run a container: in a cgroup below this one, and with a view of the file system made in `scratch`."""
    request: dict[str, Any] = {
        "id": spec.id,
        "argv": list(spec.argv),
        "env": marked(spec.env, folder, spec.id),
        "cwd": spec.cwd or str(spec.folder),
        "log": str(spec.log),
        "labels": dict(spec.labels),
        "user": list(spec.user) if spec.user else None,
    }
    if cgroup:
        request |= {"cgroup": f"{cgroup}/{spec.id}", "cgroup_top": cgroup}
    if scratch is not None:
        own = (str(spec.folder), str(spec.folder), False)
        binds = [own, *((str(one.source), one.target, one.read_only) for one in spec.binds)]
        request["view"] = {"root": str(scratch / "root"), "scratch": str(scratch), "binds": binds}
    return request


def marked(env: Mapping[str, str], folder: Path, container: str) -> dict[str, str]:
    """The environment with the marker by which processes of the container are found."""
    return {**env, MARKER: marker(str(folder), container)}


def state_of(reported: Mapping[str, Any]) -> ContainerState:
    """One run as the supervisor reports it."""
    ended = reported["exit"]
    found = ContainerExit(ended["code"], _moment(ended["finished_at"])) if ended else None
    return ContainerState(
        reported["id"], reported["labels"], _moment(reported["started_at"]), reported["log"], found
    )


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
