"""An image made by hand: an OCI archive with a layer for each folder, the same bytes for the same folders."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    entry_point: Sequence[str] = ()
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    architecture: str = ""
    """This machine's where it is empty."""

    def configuration(self, layers: Sequence[str]) -> dict[str, Any]:
        """The document that a runtime reads; `layers` are the digests of the files."""
        run: dict[str, Any] = {
            "Env": [f"{name}={value}" for name, value in self.environment.items()],
            "Cmd": list(self.command),
            "Entrypoint": list(self.entry_point),
            "User": self.user,
            "Labels": dict(self.labels),
        }
        return {
            "architecture": self.architecture or architecture(),
            "os": "linux",
            "config": {name: value for name, value in run.items() if value or name == "Env"},
            "rootfs": {"type": "layers", "diff_ids": list(layers)},
            "history": [{"created_by": "packages"} for _ in layers],  # builders count the layers by it
        }


def write_archive(image: Image, root: Path | Sequence[Path], target: Path, *, compress: bool = False) -> None:
    """Pack the folder, or the folders one above the other; the owner of everything is root."""
    with tarfile.open(target, "w") as archive:
        _add(archive, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        files, listed = [], []
        for folder in [root] if isinstance(root, Path) else root:
            with _layer(folder, compress=compress) as (content, digest):
                files.append(digest)
                size, packed = content.seek(0, io.SEEK_END), _digest(content)
                _add_blob(archive, packed, content, size)
                kind = f"{_OCI}.layer.v1.tar{'+gzip' if compress else ''}"
                listed.append({"mediaType": kind, "digest": packed, "size": size})
        config = _blob(archive, image.configuration(files), f"{_OCI}.config.v1+json")
        kind = f"{_OCI}.manifest.v1+json"
        manifest = {"schemaVersion": 2, "mediaType": kind, "config": config, "layers": listed}
        found = _blob(archive, manifest, kind)
        named = {**found, "annotations": {"org.opencontainers.image.ref.name": image.name}}
        _add(archive, "index.json", _json({"schemaVersion": 2, "manifests": [named]}))


@contextmanager
def _layer(folder: Path, *, compress: bool) -> Iterator[tuple[BinaryIO, str]]:
    """The packed files, and the digest of what they are unpacked."""
    with tempfile.TemporaryFile() as files, tempfile.TemporaryFile() as zipped:
        with tarfile.open(fileobj=files, mode="w", format=tarfile.PAX_FORMAT) as layer:
            layer.add(folder, arcname=".", filter=_by_root)
        digest = _digest(files)
        if compress:
            # The name and time of gzip's own header would differ from run to run.
            with gzip.GzipFile("", "wb", 6, zipped, mtime=0) as out:
                shutil.copyfileobj(files, out)
        yield zipped if compress else files, digest


def _by_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mtime = 0
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
