"""Each line counts once, as what it is."""

from __future__ import annotations

from hack.size import Size, size_of

_TEXT = '''"""A docstring.

Of three lines.
"""

import os
from a import (
    b,
)

# a comment
LIMIT = 3  # code, with a comment
"""Documents the name above."""


def f() -> str:
    """Another."""
    # why
    return """a text,

    which is code"""
'''


def test_each_line_counts_once() -> None:
    assert size_of(_TEXT) == Size(code=4, imports=4, docstrings=6, comments=2, blank=5, files=1, functions=1)
