"""The settings of this machine's pip, for a build only: it never becomes part of an image."""

from __future__ import annotations

import ast
import configparser
import io
import subprocess
import sys
from pathlib import Path


def current() -> dict[str, str]:
    """All settings of this machine and this environment, the later ones over the earlier."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return parse(listed)


def parse(listed: str) -> dict[str, str]:
    """The answer of `pip config list`; the environment stands above the files."""
    lines = [line.partition("=") for line in listed.splitlines() if "=" in line]
    found = [(name, str(ast.literal_eval(value))) for name, _, value in lines]
    in_order = sorted(found, key=lambda one: one[0].startswith(":env:"))
    return {name.rpartition(".")[2]: value for name, value in in_order}


def as_file(settings: dict[str, str]) -> str:
    """The same as a configuration file."""
    file = configparser.RawConfigParser()
    file["global"] = settings
    text = io.StringIO()
    file.write(text)
    return text.getvalue()


def named_paths(settings: dict[str, str]) -> list[Path]:
    """Files and folders of this machine that the settings lead to."""
    words = [word for value in settings.values() for word in value.split()]
    return sorted({Path(word) for word in words if word.startswith("/") and Path(word).exists()})
