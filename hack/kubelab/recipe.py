"""What is built from a folder with a `go.mod`, and how its programs are known.

The versions are those of `go.mod`: there is no second place to change them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

_REQUIRED = re.compile(r"^\s*(?:require )?(?P<module>\S+) (?P<version>v\d\S*)", re.MULTILINE)
_OLDEST_GO = re.compile(r"^go (\d+)\.(\d+)", re.MULTILINE)


class Recipe(Protocol):
    """All that a build has to know."""

    @property
    def module(self) -> Path:
        """The folder of `go.mod`, whose tools are built."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def slug(self) -> str:
        """The same at the beginning of a folder's name."""

    @property
    def oldest_go(self) -> tuple[int, int]:
        """The oldest Go that builds it."""

    @property
    def digest(self) -> str:
        """Other sources, another digest."""

    @property
    def programs(self) -> Sequence[str]:
        """The names of the programs."""

    @property
    def tags(self) -> str:
        """Build tags, with commas."""

    @property
    def files(self) -> Mapping[str, tuple[str, str]]:
        """Files to keep beside the programs: folder → module, and the folder in it."""

    def built_name(self, program: str) -> str:
        """The name under which `go build` leaves a program."""

    def version_of(self, program: str) -> str:
        """The version that a program must print."""

    def version_arguments(self, program: str) -> Sequence[str]:
        """How it is asked for it."""

    def link_flags(self) -> str:
        """The flags of the linker."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """What a `go.mod` pins: versions with their `v`, and a digest of all that goes into the programs."""

    required: Mapping[str, str]
    oldest_go: tuple[int, int]
    digest: str


def read_module(module: Path, *sources: Path) -> Pinned:
    """The `go.mod` of a folder; `sources` go into the programs too."""
    text = (module / "go.mod").read_text()
    oldest = _OLDEST_GO.search(text)
    assert oldest is not None
    rest = b"".join(path.read_bytes() for path in (module / "go.sum", *sources))
    return Pinned(
        {one["module"]: one["version"] for one in _REQUIRED.finditer(text)},
        (int(oldest[1]), int(oldest[2])),
        hashlib.sha256(text.encode() + rest).hexdigest()[:12],
    )
