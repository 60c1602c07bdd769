"""The allow-list as a file: read again when it changes, so that what is withdrawn is withdrawn at once."""

from __future__ import annotations

import logging
from pathlib import Path

from vacate.errors import ConfigError
from vacate.interceptors.hooks.targets import AllowList, read_allow_list

log = logging.getLogger(__name__)


class AllowListFile:
    """The list that the file holds; what was read before where it cannot be used any more."""

    def __init__(self, path: Path, option: str = "--config") -> None:
        self._path = path
        self._option = option
        self._seen = b""
        self._reported = ""
        self._list = self._read()

    def current(self) -> AllowList:
        """What is allowed now."""
        try:
            self._list, self._reported = self._read(), ""
        except ConfigError as error:
            if str(error) != self._reported:
                log.warning("%s; what was read before stays in use", error)
            self._reported = str(error)
        return self._list

    def _read(self) -> AllowList:
        try:
            content = self._path.read_bytes()
        except OSError as error:
            raise ConfigError(f"{self._option}: {self._path}: cannot be read: {error.strerror}") from None
        if content == self._seen:
            return self._list
        found = read_allow_list(content.decode(errors="replace"), f"{self._option}: {self._path}")
        self._seen = content
        return found
