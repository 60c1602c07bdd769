"""What the design of shutdowns by priority says is held by tests: its sentences, each with the functions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

LISTS = tomllib.loads(Path(__file__).with_name("lists_shutdown.toml").read_text())
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("part", "sentences"),
    [("order", 7), ("configuration", 5), ("dependencies", 3), ("monitoring", 3), ("tests", 2)],
)
def test_every_sentence_of_the_design_names_tests_that_exist(part: str, sentences: int) -> None:
    assert len(LISTS[part]) == sentences
    for sentence, functions in LISTS[part].items():
        assert functions, sentence
        for one in functions:
            file, _, function = one.partition("::")
            found = re.search(rf"^(async )?def {function}\(", (ROOT / file).read_text(), re.MULTILINE)
            assert found, f"{sentence}: {one}"
