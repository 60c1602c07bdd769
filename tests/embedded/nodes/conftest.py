"""Seeds for the tests of nodes in virtual time."""

from __future__ import annotations

from support.seeds import pytest_generate_tests

__all__ = ["pytest_generate_tests"]
