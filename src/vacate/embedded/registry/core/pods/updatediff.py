"""What a refused update of a pod would have changed: a diff of JSON."""

from __future__ import annotations

import json
from difflib import unified_diff

from vacate.api.objects import Obj


def difference(old: Obj, new: Obj) -> str:
    """A unified diff, each line with its end."""
    lines = unified_diff(_lines(old), _lines(new))
    return "".join(line for number, line in enumerate(lines) if number > 1)  # without the names of files


def _lines(spec: Obj) -> list[str]:
    shown = json.dumps(spec, indent=1, ensure_ascii=False, sort_keys=True)
    return [f"{line}\n" for line in shown.split("\n")]
