"""Writes the table of the types that a server works with inside: facts from the Go module k8s.io/kubernetes.

Run it with `python hack/gen_internal.py`; it needs Go, which fetches the modules.

Some refusals show a pod's spec as Go prints these types: by the names and in the order of their fields. What
the fields are called in JSON is known to the tags of the published types, which have the same names in Go.
The notation is explained in `vacate.api.schema.internal`.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

RELEASE = "36.4"
KUBERNETES, API = f"k8s.io/kubernetes@v1.{RELEASE}", f"k8s.io/api@v0.{RELEASE}"
ROOT = "PodSpec"
TARGET = Path(__file__).parent.parent / "src/vacate/api/schema/internal.txt"
SCALARS = {
    "string": "string", "bool": "bool", "int32": "int", "int64": "int", "resource.Quantity": "quantity",
    "intstr.IntOrString": "int", "types.UID": "string", "metav1.Time": "time",
}  # fmt: skip
# Fields of the published spec that lie elsewhere inside.
MOVED = {"PodSecurityContext": "PodSpec"}

_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.M | re.S)
_NAMED = re.compile(r"^type (\w+) ((?:map\[\w+\]|\[\])?[\w.]+)$", re.M)
_FIELD = re.compile(r'^\t(?:(\w+)\s+)?([\w.\[\]*]+)(?:\s+`json:"([^",]*)[^`]*`)?\s*(?://.*)?$', re.M)

Fields = list[tuple[str, str, str]]  # name in Go (none where embedded), type, name in JSON


def main() -> None:
    folders = download()
    inside = (folders["k8s.io/kubernetes"] / "pkg/apis/core/types.go").read_text()
    published = read_structs((folders["k8s.io/api"] / "core/v1/types.go").read_text())
    named = {"string": "string", **dict(_NAMED.findall(inside))}
    lines = [f"# Kubernetes 1.{RELEASE}; written by hack/gen_internal.py"]
    lines += render(read_structs(inside), published, named)
    TARGET.write_text("".join(f"{line}\n" for line in lines))
    print(f"{TARGET.name}: {len(lines)} lines")


def download() -> dict[str, Path]:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "go.mod").write_text("module scratch\n")
        command = ["go", "mod", "download", "-json", KUBERNETES, API]
        done = subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True)
    decoder, text, found = json.JSONDecoder(), done.stdout.strip(), {}
    while text:
        entry, end = decoder.raw_decode(text)
        found[entry["Path"]] = Path(entry["Dir"])
        text = text[end:].strip()
    return found


def read_structs(source: str) -> dict[str, Fields]:
    return {name: _FIELD.findall(body) for name, body in _STRUCT.findall(source)}


def render(inside: dict[str, Fields], published: dict[str, Fields], named: dict[str, str]) -> Iterator[str]:
    pending, seen = [ROOT], {ROOT}
    while pending:
        name = pending.pop(0)
        yield f"type {name}"
        tags = json_names(published, MOVED.get(name, name)) | json_names(published, name)
        for go_name, go_type, _ in inside[name]:
            shape = shape_of(go_type, named)
            if go_name:
                yield f"{go_name} {tags[go_name]} {shape}"
            else:
                yield f"= {tags.get(go_type.rpartition('.')[2]) or '='} {shape}"
            inner = shape.rpartition("@")[2] if "@" in shape else ""
            if inner and inner not in seen:
                seen.add(inner)
                pending.append(inner)


def json_names(published: dict[str, Fields], name: str) -> dict[str, str]:
    return {go_name or go_type.rpartition(".")[2]: tag for go_name, go_type, tag in published.get(name, [])}


def shape_of(go_type: str, named: dict[str, str]) -> str:
    if go_type.startswith("*"):
        return f"*{shape_of(go_type[1:], named)}"
    if go_type.startswith("[]"):
        return f"[]{shape_of(go_type[2:], named)}"
    if go_type.startswith("map["):
        return f"{{}}{shape_of(go_type.partition(']')[2], named)}"
    if go_type in SCALARS:
        return SCALARS[go_type]
    if go_type.startswith("metav1."):
        return f"meta.v1.{go_type.partition('.')[2]}"
    return shape_of(named[go_type], named) if go_type in named else f"@{go_type}"


if __name__ == "__main__":
    main()
