"""What the design wants tested is tested: its own lists, each line with the functions that are it here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

LISTS = {
    name: tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text())
    for name in ("lists", "lists_evacuation")
}
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("design", "part", "items"),
    [
        *((name, part, items) for name in LISTS for part, items in (("integration", 5), ("e2e", 2))),
        ("lists_evacuation", "stories", 4),
        ("lists_evacuation", "walkthroughs", 5),
    ],
)
def test_every_line_of_the_design_names_tests_that_exist(design: str, part: str, items: int) -> None:
    assert len(LISTS[design][part]) == items
    for line, functions in LISTS[design][part].items():
        assert functions, line
        for one in functions:
            file, _, function = one.partition("::")
            found = re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE)
            assert found, f"{line}: {one}"
