"""Objects as YAML, as users read and tools apply them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from vacate.api.objects import Obj

_WIDTH = 110


class _Dumper(yaml.SafeDumper):
    """Lists are set in below their keys, texts of several lines stay so, and no value refers to another."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def manifest(obj: Obj | list[Obj], *, width: float = _WIDTH) -> str:
    """One object, or one list of them."""
    text = _dumped(obj, width, unicode=True)
    # What a terminal could obey, and readers cannot see, is written with escapes.
    return text if all(map(str.isprintable, text.split("\n"))) else _dumped(obj, width, unicode=False)


def _dumped(obj: Obj | list[Obj], width: float, *, unicode: bool) -> str:
    return yaml.dump(obj, Dumper=_Dumper, sort_keys=False, width=width, allow_unicode=unicode)


def manifests(objects: Iterable[Obj], *, width: float = _WIDTH) -> str:
    """Several, one after the other."""
    return "---\n".join(manifest(obj, width=width) for obj in objects)
