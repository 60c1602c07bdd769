"""Under which name the command line was called: by itself, or as a plugin of kubectl."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path, PurePath

NAME = "vacate"
PLUGIN = "kubectl vacate"


def program_name(called: str | None = None) -> str:
    """How the reader calls it: usage lines and remedies speak the same way."""
    path = (sys.argv[0] if sys.argv else "") if called is None else called
    return PLUGIN if PurePath(path).name.startswith("kubectl-vacate") else NAME


def path_export(called: str | None = None) -> str:
    """The command after which a shell finds this program by its name; empty where it does already."""
    path = Path((sys.argv[0] if sys.argv else "") if called is None else called)
    if path.name != NAME or shutil.which(NAME) is not None:
        return ""
    return f"export PATH={shlex.quote(str(path.absolute().parent))}:$PATH"
