"""Everything that a release consists of, in one folder.

    python -m hack.release --registry registry.example.com/team [FOLDER]

Wheels, sdist, chart, manifests, definitions, dashboard, the plugin for krew, the bill of materials, the notes
of the version, and the checksums of all of them. The same commit gives the same bytes: times are those of it.
`--image` adds the images for all architectures, of Debian's packages. `--push` sends the images, under one
name for all architectures, and the chart to the registry.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml
from hack.gen_deploy import chart as chart_files
from hack.kubelab.release import KubeError
from hack.registry import Registry, RegistryError
from hack.sbom import GO_MODULE, GO_PIN, LOCK, sbom

from vacate import __version__
from vacate.crds.definition import definitions
from vacate.errors import ConfigError
from vacate.install import Settings, objects
from vacate.install.manifest import manifests
from vacate.install.manifests.grafana import dashboard

_ROOT = Path(__file__).resolve().parent.parent
_EMBEDDED = _ROOT / "distributions/vacate-embedded"
_KREW = _ROOT / "hack/krew"
_ARCHITECTURES = ("amd64", "arm64")
_REGISTRY = re.compile(r"[a-z0-9]+([.:_/-][a-z0-9]+)*")
_DOCUMENT_LINK = re.compile(r"\[([^]]+)\]\((?!https?:)[^)]+\)")
SUMS = "SHA256SUMS"


class ReleaseError(Exception):
    """Why there is no release."""


def release(
    folder: Path,
    registry: str,
    *,
    downloads: str = "",
    images: Sequence[str] = (),
    dirty: bool = False,
) -> list[Path]:
    """Write all parts to the folder, which must be empty or missing; in the order of their names.

    `downloads` is the address of the folder where users find it: krew's manifest is written only with it.
    `images` are the architectures to make images for.
    """
    if not _REGISTRY.fullmatch(registry):
        raise ReleaseError(
            f"--registry: {registry!r} is no registry: write host/path, as registry.example.com/team"
        )
    if folder.exists() and any(folder.iterdir()):
        raise ReleaseError(f"{folder} is not empty: remove it, or name another folder")
    changed = "" if dirty else _git("status", "--porcelain")
    if changed:
        names = ", ".join(line[3:] for line in changed.splitlines()[:5])
        raise ReleaseError(
            f"these files are not committed: {names}; commit them, or pass --dirty for a trial"
        )
    notes = notes_of((_ROOT / "CHANGELOG.md").read_text(), __version__)
    folder.mkdir(parents=True, exist_ok=True)
    image, made_at = f"{registry}/vacate:{__version__}", _git("log", "-1", "--format=%ct").strip()
    _build_distributions(folder, made_at)
    (folder / f"vacate-{__version__}.tgz").write_bytes(chart(image, int(made_at)))
    texts = {
        "vacate.yaml": manifests(objects(replace(Settings(), image=image))),
        "vacate-crds.yaml": manifests(definitions()),
        "vacate-dashboard.json": json.dumps(dashboard(), indent=1) + "\n",
        "vacate.cdx.json": _bill(),
        "NOTES.md": notes,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    plugin = f"vacate-{__version__}-krew.tar.gz"
    (folder / plugin).write_bytes(krew_plugin(sorted(folder.glob("*.whl")), int(made_at)))
    if downloads:
        (folder / "krew.yaml").write_text(krew_manifest(folder / plugin, downloads))
    for wanted in images:
        shutil.copyfile(_image(wanted), folder / f"vacate-{__version__}-{wanted}.oci.tar")
    parts = sorted(path for path in folder.iterdir() if path.name != SUMS)
    sums = "".join(f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in parts)
    (folder / SUMS).write_text(sums)
    return [*parts, folder / SUMS]


def push(folder: Path, registry: str, credentials: Mapping[str, str] = os.environ) -> list[str]:
    """Send the images and the chart of a release; what to pull them by, with their digests."""
    target = Registry(registry, credentials)
    made = []
    if archives := sorted(folder.glob("*.oci.tar")):
        digest = target.push_image(archives, "vacate", __version__)
        made.append(f"{registry}/vacate:{__version__}@{digest}")
    about = yaml.safe_load(chart_files()["Chart.yaml"])
    digest = target.push_chart(folder / f"vacate-{__version__}.tgz", about)
    return [*made, f"oci://{registry}/charts/vacate:{__version__}@{digest}"]


def notes_of(changelog: str, version: str) -> str:
    """The section of the version, without its heading and without links to documents, which are elsewhere."""
    sections = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, text = section.partition("\n")
        if heading.split()[:1] == [version]:
            return _DOCUMENT_LINK.sub(r"\1", text).strip() + "\n"
    raise ReleaseError(
        f"CHANGELOG.md has no section {version}: write one, or set the version in src/vacate/__init__.py"
    )


def chart(image: str, made_at: int) -> bytes:
    """The Helm chart as `helm package` would archive it, with this image as its default."""
    found = chart_files()
    default = 'image: ""\n'
    if found["values.yaml"].count(default) != 1:
        raise ReleaseError(f"the chart's values have no line {default.strip()!r} to replace")
    found["values.yaml"] = found["values.yaml"].replace(default, f"image: {image}\n")
    return _archive({f"vacate/{path}": text.encode() for path, text in found.items()}, made_at)


def krew_plugin(wheels: Sequence[Path], made_at: int) -> bytes:
    """What krew unpacks: the same for all systems, as the program makes its environment at first use."""
    parts = {"kubectl-vacate": _KREW / "kubectl-vacate", "LICENSE": _ROOT / "LICENSE"}
    parts |= {wheel.name: wheel for wheel in wheels}
    return _archive({name: path.read_bytes() for name, path in parts.items()}, made_at, {"kubectl-vacate"})


def krew_manifest(plugin: Path, downloads: str) -> str:
    """The plugin as an index of krew lists it."""
    platforms = [
        {
            "selector": {"matchLabels": {"os": system, "arch": machine}},
            "uri": f"{downloads.rstrip('/')}/{plugin.name}",
            "sha256": hashlib.sha256(plugin.read_bytes()).hexdigest(),
            "bin": "kubectl-vacate",
        }
        for system in ("linux", "darwin")
        for machine in _ARCHITECTURES
    ]
    made = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "vacate"},
        "spec": {
            "version": f"v{__version__}",
            "shortDescription": "Drain nodes, and see what blocks a drain",
            "description": "Plans drains, runs them, and says what holds them and what helps.",
            "caveats": "Needs Python 3.11 or newer as python3; the first use installs what it depends on.",
            "platforms": platforms,
        },
    }
    return yaml.safe_dump(made, sort_keys=False)


def _archive(parts: Mapping[str, bytes], made_at: int, programs: Collection[str] = ()) -> bytes:
    out = io.BytesIO()
    # The name and time of gzip's own header would differ from run to run.
    with (
        gzip.GzipFile("", "wb", fileobj=out, mtime=made_at) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for path, content in sorted(parts.items()):
            member = tarfile.TarInfo(path)
            member.size, member.mtime = len(content), made_at
            member.mode = 0o755 if path in programs else 0o644
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _bill() -> str:
    found = sbom(LOCK.read_text(), GO_PIN.read_text(), GO_MODULE.read_text())
    return json.dumps(found, indent=1) + "\n"


def _build_distributions(folder: Path, made_at: str) -> None:
    words = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.resolve())]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": made_at}
    # The sdist has the whole repository, thus both.
    for where, targets in ((_ROOT, ()), (_EMBEDDED, ("--target", "wheel"))):
        command = [*words, *targets]
        done = subprocess.run(
            command, cwd=where, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise ReleaseError(f"the wheel of {where.name} cannot be built:\n{done.stdout}{done.stderr}")


def _image(wanted: str) -> Path:
    from hack.nodelab.image import vacate_archive  # noqa: PLC0415  only where an image is wanted

    try:
        return vacate_archive(wanted)
    except KubeError as error:
        raise ReleaseError(f"--image: {error}") from error


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ReleaseError(
            f"git {' '.join(words)}: {done.stderr.strip()}; a release is made in a git checkout"
        )
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="hack.release", description="Write all parts of a release to a folder."
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path("dist") / __version__)
    parser.add_argument(
        "--registry", required=True, help="where the images will be, as registry.example.com/team"
    )
    parser.add_argument("--image", action="store_true", help=f"add the images ({', '.join(_ARCHITECTURES)})")
    parser.add_argument(
        "--architecture", action="append", choices=_ARCHITECTURES, help="only this image; all by default"
    )
    parser.add_argument("--downloads", default="", help="where the folder will be, for krew: https://…")
    parser.add_argument("--push", action="store_true", help="send images and chart to the registry")
    parser.add_argument("--dirty", action="store_true", help="also with changes that are not committed")
    given = parser.parse_args()
    try:
        for path in release(
            given.folder,
            given.registry,
            downloads=given.downloads,
            images=(given.architecture or _ARCHITECTURES) if given.image else (),
            dirty=given.dirty,
        ):
            print(path)
        for part in push(given.folder, given.registry) if given.push else []:
            print(part)
    except (ReleaseError, RegistryError, ConfigError, OSError) as error:
        sys.exit(f"release: {error}")


if __name__ == "__main__":
    main()
