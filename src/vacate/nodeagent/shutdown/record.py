"""What an agent writes down of a shutdown, so that it goes on with it after a restart.

The first two fields, and the name of the file, are those of the kubelet's own.
"""

from __future__ import annotations

import datetime as dt
import logging
from pathlib import Path

import msgspec

from vacate.client.privatefile import write_private
from vacate.nodeagent.shutdown.buckets import Shutdown
from vacate.wire.json import decode_json

log = logging.getLogger(__name__)

FILE = "graceful_node_shutdown_state"
FINISHED, CANCELLED = "finished", "cancelled"


class ShutdownRecord(msgspec.Struct, frozen=True):
    """The last shutdown of this node. Without an end it is under way, unless the machine was booted since."""

    start: dt.datetime | None = msgspec.field(default=None, name="startTime")
    end: dt.datetime | None = msgspec.field(default=None, name="endTime")
    boot: str = ""
    shutdown: Shutdown | None = None
    gone: tuple[str, ...] = ()  # uids of pods that have terminated
    outcome: str = ""  # FINISHED or CANCELLED, once it is over

    def under_way(self, boot: str) -> bool:
        """Whether an agent that starts now must go on with it."""
        return self.shutdown is not None and self.end is None and self.boot == boot

    def closed(self, outcome: str, end: dt.datetime) -> ShutdownRecord:
        """The same, over."""
        return msgspec.structs.replace(self, end=end, shutdown=None, gone=(), outcome=outcome)


class FileStorage:
    """One file in the agent's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def load(self) -> ShutdownRecord:
        """The record; one that cannot be read counts as none."""
        try:
            return decode_json(self._path.read_bytes(), ShutdownRecord)
        except FileNotFoundError:
            return ShutdownRecord()
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read, the last shutdown is unknown: %s", self._path, error)
            return ShutdownRecord()

    def save(self, record: ShutdownRecord) -> None:
        """Write it so that it is there after a crash, whole."""
        write_private(self._path, msgspec.json.encode(record), mode=0o644)
