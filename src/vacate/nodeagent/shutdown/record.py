"""PURE. What an agent writes down of a shutdown, so that it goes on with it after a restart.

The first two fields are those of the kubelet's own file of this name.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

import msgspec

from vacate.nodeagent.shutdown.machine import Shutdown
from vacate.wire.json import decode_json

FINISHED, CANCELLED = "finished", "cancelled"


@dataclass(frozen=True, slots=True)
class ShutdownRecord:
    """The last shutdown of this node. Without an end it is under way, unless the machine was booted since."""

    start: dt.datetime | None = None
    end: dt.datetime | None = None
    boot: str = ""
    shutdown: Shutdown | None = None
    gone: tuple[str, ...] = ()  # uids of pods that have terminated
    outcome: str = ""  # FINISHED or CANCELLED, once it is over

    def under_way(self, boot: str) -> bool:
        """Whether an agent that starts now must go on with it."""
        return self.shutdown is not None and self.end is None and self.boot == boot

    def closed(self, outcome: str, end: dt.datetime) -> ShutdownRecord:
        """The same, over."""
        return replace(self, end=end, shutdown=None, gone=(), outcome=outcome)


def encode_record(record: ShutdownRecord) -> bytes:
    """As JSON."""
    return msgspec.json.encode(
        {
            "startTime": record.start,
            "endTime": record.end,
            "boot": record.boot,
            "shutdown": record.shutdown,
            "gone": record.gone,
            "outcome": record.outcome,
        }
    )


class _File(msgspec.Struct):
    startTime: dt.datetime | None = None  # noqa: N815 - the kubelet's spelling
    endTime: dt.datetime | None = None  # noqa: N815
    boot: str = ""
    shutdown: Shutdown | None = None
    gone: tuple[str, ...] = ()
    outcome: str = ""


def decode_record(content: bytes) -> ShutdownRecord:
    """The record, or ValueError where it cannot be read."""
    found = decode_json(content, _File)
    return ShutdownRecord(
        found.startTime, found.endTime, found.boot, found.shutdown, found.gone, found.outcome
    )
