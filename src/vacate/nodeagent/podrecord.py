"""What an agent keeps of a pod on disk, so that one that restarts, or the next boot, ends what was begun.

It is written before the first container starts and before a termination does anything, and it is kept with
the pod's folder until the API server knows how the pod has ended. It needs no API server to be read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from vacate.nodeagent.lifecycle.stages import ContainerTermination
from vacate.nodeagent.model import NodeReason
from vacate.nodeagent.view import AgentPod

log = logging.getLogger(__name__)

FILE = "pod.json"


class TerminationOrder(msgspec.Struct, frozen=True):
    """The node itself terminates the pod: it goes down, or is short of something."""

    start: float  # on the monotonic clock; before it interceptors prepare the pod
    deadline: float
    cause: NodeReason
    begun: bool = False  # the pod was asked to end

    def overtaken_by(self, other: TerminationOrder) -> TerminationOrder:
        """The order after another one: the sooner of both times, for the first cause."""
        return TerminationOrder(
            min(self.start, other.start),
            min(self.deadline, other.deadline),
            self.cause,
            self.begun or other.begun,
        )


class PodRecord(msgspec.Struct):
    """One pod. Times are those of one boot: of an earlier one only what had begun counts."""

    boot: str = ""
    pod: AgentPod | None = None  # without its status; None where the API server was not heard yet
    namespace: str = ""
    name: str = ""
    address: str = ""
    environments: dict[str, dict[str, str]] = msgspec.field(default_factory=dict)  # by container
    order: TerminationOrder | None = None
    terminations: dict[str, ContainerTermination] = msgspec.field(default_factory=dict)  # by run

    def booted(self, boot: str) -> None:
        """Take it over in this boot of the machine."""
        if self.boot != boot:
            order, self.terminations = self.order, {}
            self.order = TerminationOrder(0.0, 0.0, order.cause, True) if order and order.begun else None
        self.boot = boot


def facts(pod: AgentPod) -> AgentPod:
    """PURE. The pod without what changes by itself: its status, and the version of the object."""
    meta = msgspec.structs.replace(pod.metadata, resource_version="", generation=0)
    return msgspec.structs.replace(pod, metadata=meta, status={})


def save(folder: Path, record: PodRecord, *, sync: bool = False) -> None:
    """Replace the file whole; with `sync` it outlives a loss of power. What fails is logged."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o711)
        fd = os.open(folder / f"{FILE}.new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:  # environments may hold secrets
            file.write(msgspec.json.encode(record))
            if sync:
                file.flush()
                os.fsync(fd)
        (folder / f"{FILE}.new").replace(folder / FILE)
    except OSError as error:
        log.warning("%s is not on disk, a restart would forget it: %s", folder / FILE, error.strerror)


def load_all(folder: Path, boot: str) -> Iterator[tuple[str, PodRecord]]:
    """The records below the folder by uid; one that cannot be read is as none."""
    for path in sorted(folder.glob(f"*/{FILE}")):
        try:
            record = msgspec.json.decode(path.read_bytes(), type=PodRecord)
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read; the pod waits for the API server: %s", path, error)
            continue
        record.booted(boot)
        yield path.parent.name, record
