"""A manifest put together from those of its parts, which thousands of branches of the chart share."""

from __future__ import annotations

import json
import textwrap
from functools import cache
from typing import Any

from vacate.install.manifest import manifest

_ONE_LINE = float("inf")


@cache
def manifest_of(value: str) -> str:
    """What `manifest` makes of the JSON value without a limit for lines, much sooner: YAML takes its time."""
    parts = json.loads(value)
    if isinstance(parts, dict) and parts:
        return "".join(_entry(key, part) for key, part in parts.items())
    if isinstance(parts, list) and parts:
        return "".join(_item(part) for part in parts)
    return manifest(parts, width=_ONE_LINE)


def _entry(key: str, part: Any) -> str:
    if not isinstance(part, dict | list) or not part:
        return _leaf(key, json.dumps(part))
    return f"{_leaf(key, '')}{_set_in(manifest_of(json.dumps(part)))}"


@cache
def _leaf(key: str, part: str) -> str:
    """A key and a value without parts; or only the key of one with parts."""
    if part:
        return manifest({key: json.loads(part)}, width=_ONE_LINE)
    return manifest({key: {"": 0}}, width=_ONE_LINE).partition("\n")[0] + "\n"


def _item(part: Any) -> str:
    if not isinstance(part, dict | list) or not part:
        return _alone(json.dumps(part))
    return f"- {_set_in(manifest_of(json.dumps(part)))[2:]}"


@cache
def _alone(part: str) -> str:
    return manifest([json.loads(part)], width=_ONE_LINE)


def _set_in(text: str) -> str:
    return textwrap.indent(text, "  ")  # empty lines of a text stay so
