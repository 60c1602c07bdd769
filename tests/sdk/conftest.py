"""Seeds: a test that asks for `sim_seed` runs once for each, or once with the one given by --seed."""

from __future__ import annotations

from support.seeds import pytest_generate_tests

__all__ = ["pytest_generate_tests"]
