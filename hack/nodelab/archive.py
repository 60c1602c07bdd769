"""An image made by hand: an OCI archive with one layer, out of a folder."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from hack.kubelab.release import architecture

_OCI = "application/vnd.oci.image"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Image:
    """What an image says about itself."""

    name: str
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def configuration(self, layer: str) -> dict[str, Any]:
        """The document that a runtime reads; `layer` is the digest of the files."""
        run: dict[str, Any] = {"Env": [f"{name}={value}" for name, value in self.environment.items()]}
        if self.command:
            run["Cmd"] = list(self.command)
        return {
            "architecture": architecture(),
            "os": "linux",
            "config": run,
            "rootfs": {"type": "layers", "diff_ids": [layer]},
            "history": [{"created_by": "packages"}],  # builders count the layers by it
        }


def write_archive(image: Image, root: Path, target: Path) -> None:
    """Pack the folder as an image; the owner of everything is root."""
    with tempfile.TemporaryFile() as files, tarfile.open(target, "w") as archive:
        with tarfile.open(fileobj=files, mode="w", format=tarfile.PAX_FORMAT) as layer:
            layer.add(root, arcname=".", filter=_by_root)
        size, digest = files.tell(), _digest(files)
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add_blob(archive, digest, files, size)
        config = _blob(archive, image.configuration(digest), f"{_OCI}.config.v1+json")
        layers = [{"mediaType": f"{_OCI}.layer.v1.tar", "digest": digest, "size": size}]
        kind = f"{_OCI}.manifest.v1+json"
        manifest = {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}
        listed = _blob(archive, manifest, kind)
        named = {**listed, "annotations": {"org.opencontainers.image.ref.name": image.name}}
        _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": [named]}))


def _by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def _digest(file: BinaryIO) -> str:
    file.seek(0)
    summed = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        summed.update(chunk)
    file.seek(0)
    return f"sha256:{summed.hexdigest()}"


def _blob(archive: tarfile.TarFile, document: Any, kind: str) -> dict[str, Any]:
    content = _json(document)
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    _add_blob(archive, digest, io.BytesIO(content), len(content))
    return {"mediaType": kind, "digest": digest, "size": len(content)}


def _add_blob(archive: tarfile.TarFile, digest: str, content: BinaryIO, size: int) -> None:
    member = tarfile.TarInfo(f"blobs/{digest.replace(':', '/')}")
    member.size = size
    archive.addfile(member, content)


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True).encode()
