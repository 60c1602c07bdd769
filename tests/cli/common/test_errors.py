"""Errors as the command line prints them."""

from __future__ import annotations

import pytest

from vacate.cli.common.errors import FAILED, run_command_line
from vacate.errors import ConfigError, ConfigErrors

pytestmark = pytest.mark.unit


def printed(error: Exception, capsys: pytest.CaptureFixture[str]) -> list[str]:
    def run() -> None:
        raise error

    assert run_command_line(run) == FAILED
    return capsys.readouterr().err.splitlines()


def test_each_of_several_problems_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(ConfigErrors(["a: is wrong", "b: is\nmissing"]), capsys) == [
        "error: a: is wrong",
        "error: b: is missing",
    ]


def test_a_break_in_one_message_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(ConfigError("a\nerror: b"), capsys)) == 1
