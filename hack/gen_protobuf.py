"""Writes the table of protobuf field numbers: facts from the Go modules k8s.io/api and k8s.io/apimachinery.

Run it with `python hack/gen_protobuf.py`; it needs Go, which fetches the modules.

Numbers, names and types come from the modules' .proto files. What JSON does with a field (inlined, dropped
when zero, written whatever it holds) is known only to the Go structs' tags. Fields are in Go's order.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RELEASE = "0.36.4"
MODULES = ("k8s.io/api", "k8s.io/apimachinery")
TARGET = Path(__file__).parent.parent / "src/vacate/embedded/schema/protobuf/table.txt"
# Where the packages lie, and the short name that the table gives them.
PACKAGES = {
    "k8s.io/api": {
        "core/v1": "core.v1",
        "apps/v1": "apps.v1",
        "batch/v1": "batch.v1",
        "policy/v1": "policy.v1",
        "policy/v1beta1": "policy.v1beta1",
        "coordination/v1": "coordination.v1",
        "scheduling/v1": "scheduling.v1",
        "storage/v1": "storage.v1",
        "rbac/v1": "rbac.v1",
        "authorization/v1": "authorization.v1",
        "authentication/v1": "authentication.v1",
        "autoscaling/v1": "autoscaling.v1",
        "autoscaling/v2": "autoscaling.v2",
    },
    "k8s.io/apimachinery": {
        "pkg/apis/meta/v1": "meta.v1",
        "pkg/api/resource": "resource",
        "pkg/util/intstr": "intstr",
        "pkg/runtime": "runtime",
    },
}
ROOTS = {
    "v1": [
        "Binding",
        "ConfigMap",
        "Event",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "Secret",
        "ServiceAccount",
    ],
    "apps/v1": ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
    "batch/v1": ["CronJob", "Job"],
    "policy/v1": ["Eviction", "PodDisruptionBudget"],
    "policy/v1beta1": ["Eviction"],
    "coordination.k8s.io/v1": ["Lease"],
    "storage.k8s.io/v1": ["StorageClass"],
    "scheduling.k8s.io/v1": ["PriorityClass"],
    "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
    "authorization.k8s.io/v1": ["SelfSubjectAccessReview", "SubjectAccessReview"],
    "authentication.k8s.io/v1": ["SelfSubjectReview", "TokenRequest"],
    "autoscaling/v1": ["Scale"],
    "autoscaling/v2": ["HorizontalPodAutoscaler"],
    "meta.k8s.io/v1": ["DeleteOptions"],
}
# Decoded by hand: their JSON is not an object of their fields.
SPECIAL = {"meta.v1.Time", "meta.v1.MicroTime", "resource.Quantity", "intstr.IntOrString", "meta.v1.FieldsV1",
           "runtime.RawExtension", "authorization.v1.ExtraValue", "authentication.v1.ExtraValue"}  # fmt: skip
SCALARS = {"string", "bool", "int32", "int64", "bytes", "double"}

_MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.M | re.S)
_FIELD = re.compile(
    r"^\s+(?:optional |repeated |required )?(map<string, [\w.]+>|[\w.]+) (\w+) = (\d+);", re.M
)
_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.M | re.S)
_TAGGED = re.compile(r"^\s+(?:\w+\s+)?([\w.\[\]*]+)\s+`json:\"([^\"]*)\" .*?protobuf:\"\w+,(\d+)", re.M)


@dataclass
class Message:
    name: str
    # Number, name in JSON, type.
    fields: list[tuple[int, str, str]] = field(default_factory=list)


def main() -> None:
    TARGET.write_text("".join(f"{line}\n" for line in render(read_modules())))
    print(f"{TARGET.name}: {len(TARGET.read_text().splitlines())} lines")


def read_modules() -> dict[str, Message]:
    messages: dict[str, Message] = {}
    for module, folder in download().items():
        for path, short in PACKAGES[module].items():
            for message in read_package(folder / path, short):
                messages[message.name] = message
    return messages


def download() -> dict[str, Path]:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "go.mod").write_text("module scratch\n")
        wanted = [f"{module}@v{RELEASE}" for module in MODULES]
        done = subprocess.run(
            ["go", "mod", "download", "-json", *wanted],
            cwd=scratch,
            check=True,
            capture_output=True,
            text=True,
        )
    decoder, text, found = json.JSONDecoder(), done.stdout.strip(), {}
    while text:
        entry, end = decoder.raw_decode(text)
        found[entry["Path"]] = Path(entry["Dir"])
        text = text[end:].strip()
    return found


def read_package(folder: Path, short: str) -> Iterator[Message]:
    tags = read_tags(folder)
    for name, body in _MESSAGE.findall((folder / "generated.proto").read_text()):
        message = Message(f"{short}.{name}")
        for line in body.splitlines():
            match = _FIELD.match(line)
            if match is None:
                continue
            type_, json_name, number = match.group(1), match.group(2), int(match.group(3))
            go_type, json_tag = tags.get(name, {}).get(number, ("", json_name))
            message.fields.append(
                (number, "=" if ",inline" in json_tag else json_tag.partition(",")[0] or json_name,
                 render_type(type_, short, repeated="repeated" in line, go_type=go_type, json_tag=json_tag))
            )  # fmt: skip
        yield message


def read_tags(folder: Path) -> dict[str, dict[int, tuple[str, str]]]:
    found: dict[str, dict[int, tuple[str, str]]] = {}
    for source in sorted(folder.glob("*.go")):
        if source.name.startswith(("generated", "zz_")) or source.name.endswith("_test.go"):
            continue
        for name, body in _STRUCT.findall(source.read_text()):
            found[name] = {int(n): (go, tag) for go, tag, n in _TAGGED.findall(body)}
    return found


def render_type(type_: str, short: str, *, repeated: bool, go_type: str, json_tag: str) -> str:
    always = "" if ",omit" in json_tag or ",inline" in json_tag else "!"
    if type_.startswith("map<"):
        return f"map:{resolve(type_[len('map<string, ') : -1], short)}{always}"
    resolved = resolve(type_, short)
    if repeated:
        return f"{resolved}*{always}"
    if go_type.startswith("*"):
        return f"{resolved}~" if always else resolved
    if ",omitempty" not in json_tag:
        return f"{resolved}{always}"
    if resolved in SCALARS:
        return f"{resolved}?"
    # `omitempty` does nothing for a struct that is no pointer.
    return resolved if ",omitzero" in json_tag else f"{resolved}!"


def resolve(type_: str, short: str) -> str:
    if type_ in SCALARS:
        return type_
    if "." not in type_:
        return f"{short}.{type_}"
    path, _, name = type_.lstrip(".").rpartition(".")
    for module, packages in PACKAGES.items():
        for folder, alias in packages.items():
            if path == f"{module}/{folder}".replace("/", "."):
                return f"{alias}.{name}"
    raise SystemExit(f"no package for {type_}")


def render(messages: dict[str, Message]) -> Iterator[str]:
    yield f"# Kubernetes 1.{RELEASE.partition('.')[2]}; written by hack/gen_protobuf.py"
    pending: list[str] = []
    for api_version, kinds in ROOTS.items():
        for kind in kinds:
            group, _, version = api_version.rpartition("/")
            message = f"{group.partition('.')[0] or 'core'}.{version}.{kind}"
            yield f"kind {api_version} {kind} {message}"
            pending.append(message)
    seen: set[str] = set()
    listed: list[Message] = []
    while pending:
        name = pending.pop()
        if name in seen or name in SPECIAL:
            continue
        seen.add(name)
        listed.append(messages[name])
        pending += [base for _, _, t in messages[name].fields if (base := bare(t)) not in SCALARS]
    for found in sorted(listed, key=lambda one: one.name):
        yield f"message {found.name}"
        for number, name, type_ in found.fields:
            yield f"{number} {name} {type_}"


def bare(type_: str) -> str:
    return type_.removeprefix("map:").rstrip("*?!~")


if __name__ == "__main__":
    main()
