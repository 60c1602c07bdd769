"""A software bill of materials of the image, in CycloneDX 1.6, from the lock file and nothing else.

    python -m hack.sbom > vacate.cdx.json

The lock file has every dependency with its version and the hashes of the files that may be installed, and
says who needs it. The same lock gives the same text, byte for byte: no time or random number stands in it.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path
from typing import Any

from vacate import __version__

LOCK = Path(__file__).resolve().parent.parent / "requirements/runtime.lock"
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: ; (?P<marker>[^\\]+?))? \\$")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    #   (?:via )?(\S+)|^    # via (\S+)")


def sbom(lock: str) -> dict[str, Any]:
    """The document."""
    found = _read(lock)
    root = f"pkg:pypi/vacate@{__version__}"
    depends: dict[str, list[str]] = {root: []} | {one["bom-ref"]: [] for one in found.values()}
    refs = {name: one["bom-ref"] for name, one in found.items()}
    for name, one in found.items():
        for who in one.pop("via"):
            depends[refs.get(who, root)].append(refs[name])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, lock)}",
        "version": 1,
        "metadata": {"component": _component("vacate", __version__, "application")},
        "components": list(found.values()),
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


def _component(name: str, version: str, sort: str) -> dict[str, Any]:
    address = f"pkg:pypi/{name}@{version}"
    return {"type": sort, "bom-ref": address, "name": name, "version": version, "purl": address}


def main() -> None:
    json.dump(sbom(LOCK.read_text()), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
