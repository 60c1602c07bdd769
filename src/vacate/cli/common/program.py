"""Under which name the command line was called: by itself, or as a plugin of kubectl."""

from __future__ import annotations

import sys
from pathlib import PurePath

NAME = "vacate"
PLUGIN = "kubectl vacate"


def program_name(called: str | None = None) -> str:
    """How the reader calls it: usage lines and remedies speak the same way."""
    path = (sys.argv[0] if sys.argv else "") if called is None else called
    return PLUGIN if PurePath(path).name.startswith("kubectl-vacate") else NAME
