"""What runs on one of the two clusters alone is listed, and the list is true."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

HERE = Path(__file__).parent


def test_every_listed_test_exists() -> None:
    listed = tomllib.loads((HERE / "only_embedded.toml").read_text())
    for name, reason in listed.items():
        file, _, function = name.partition("/")
        text = (HERE / f"test_{file}.py").read_text()
        assert re.search(rf"^def test_{function}\(", text, re.MULTILINE), name
        assert reason
