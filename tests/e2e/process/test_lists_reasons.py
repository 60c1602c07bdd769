"""What the design of termination reasons wants tested is tested: its own list, line by line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

LIST = tomllib.loads(Path(__file__).with_name("lists_reasons.toml").read_text())
ROOT = Path(__file__).parents[3]


def test_every_line_of_the_design_names_tests_that_exist() -> None:
    assert len(LIST) == 6
    for line, functions in LIST.items():
        assert functions, line
        for one in functions:
            file, _, function = one.partition("::")
            found = re.search(rf"^ *(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE)
            assert found, f"{line}: {one}"
