"""What a refused update of a pod would have changed, as kube-apiserver shows it: a diff of JSON."""

from __future__ import annotations

import json
from difflib import unified_diff

from vacate.admission.shape import mapping
from vacate.api.objects import Obj
from vacate.api.schema.internal import internal_form

# Fields of the spec that lie in the security context inside the server.
_OF_THE_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_ESCAPED = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def difference(old: Obj, new: Obj) -> str:
    """A unified diff, each line with its end."""
    lines = unified_diff(_lines(old), _lines(new))
    return "".join(line for number, line in enumerate(lines) if number > 1)  # without the names of files


def _lines(spec: Obj) -> list[str]:
    of_host = {key: spec[key] for key in _OF_THE_HOST if key in spec}
    inside = {**spec, "securityContext": {**mapping(spec.get("securityContext")), **of_host}}
    shown = json.dumps(internal_form("PodSpec", inside), indent=1, ensure_ascii=False).translate(_ESCAPED)
    return [f"{line}\n" for line in shown.split("\n")]
