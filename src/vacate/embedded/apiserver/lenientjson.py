"""JSON that Go reads with less care than orjson does."""

from __future__ import annotations

import re
from typing import Any

import orjson

_SURROGATES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def mended(body: bytes) -> Any:
    """The value as Go reads it: bytes that are no UTF-8 and halves of pairs become replacement characters."""
    text = body.decode("utf-8", "replace")
    return orjson.loads(_SURROGATES.sub(_whole_or_replaced, text))


def _whole_or_replaced(match: re.Match[str]) -> str:
    found = match.group()
    return "\\ufffd" if len(found) == len("\\ud800") else found
