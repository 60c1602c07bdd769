"""The record of the last shutdown on disk, in the file that the kubelet has for it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from vacate.nodeagent.shutdown.record import ShutdownRecord, decode_record, encode_record

log = logging.getLogger(__name__)

FILE = "graceful_node_shutdown_state"


class FileStorage:
    """One file in the agent's folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def load(self) -> ShutdownRecord:
        """The record; one that cannot be read counts as none."""
        try:
            return decode_record(self._path.read_bytes())
        except FileNotFoundError:
            return ShutdownRecord()
        except (OSError, ValueError) as error:
            log.warning("%s cannot be read, the last shutdown is unknown: %s", self._path, error)
            return ShutdownRecord()

    def save(self, record: ShutdownRecord) -> None:
        """Write beside, sync, rename, sync the folder."""
        scratch = self._path.with_suffix(".new")
        with scratch.open("wb") as file:
            file.write(encode_record(record))
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def boot_id() -> str:
    """Tells one boot of the machine from another."""
    return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
