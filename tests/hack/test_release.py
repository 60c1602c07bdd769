"""A release is one command, and the same commit gives the same bytes."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from hack.release import SUMS, ReleaseError, notes_of, release

from support.processes.cluster import FAST_PODS, running_cluster
from support.realcluster.helm import helm_or_reason
from vacate import __version__
from vacate.cli.common.errors import NOT_EMBEDDED

ROOT = Path(__file__).resolve().parents[2]
REGISTRY = "registry.example.com/team"
DOWNLOADS = "https://downloads.example.com/0.1.0"


def made(folder: Path) -> Path:
    release(folder, REGISTRY, downloads=DOWNLOADS, dirty=True)
    return folder


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("release"))


@pytest.mark.thorough
def test_it_is_whole_and_the_same_each_time(parts: Path, tmp_path: Path) -> None:
    names = {path.name for path in parts.iterdir()}
    ends = ("-py3-none-any.whl", ".tar.gz", ".tgz", "-krew.tar.gz")
    assert names == {
        *(f"vacate-{__version__}{end}" for end in ends),
        f"vacate_embedded-{__version__}-py3-none-any.whl",
        "krew.yaml",
        "vacate.yaml",
        "vacate-crds.yaml",
        "vacate-dashboard.json",
        "vacate.cdx.json",
        "NOTES.md",
        SUMS,
    }
    for line in (parts / SUMS).read_text().splitlines():
        wanted, _, name = line.partition("  ")
        assert hashlib.sha256((parts / name).read_bytes()).hexdigest() == wanted
    assert (made(tmp_path / "again") / SUMS).read_text() == (parts / SUMS).read_text()


@pytest.mark.thorough
def test_manifests_and_chart_name_the_image_of_the_registry(parts: Path) -> None:
    image = f"{REGISTRY}/vacate:{__version__}"
    assert f"image: {image}\n" in (parts / "vacate.yaml").read_text()
    with tarfile.open(parts / f"vacate-{__version__}.tgz") as chart:
        values = chart.extractfile("vacate/values.yaml")
        assert values is not None
        assert yaml.safe_load(values)["image"] == image


@pytest.mark.thorough
def test_helm_takes_the_chart(parts: Path) -> None:
    helm, reason = helm_or_reason()
    if helm is None:
        pytest.skip(reason)
    archive = str(parts / f"vacate-{__version__}.tgz")
    for words in (["lint", archive], ["template", "vacate", archive, "--namespace", "vacate-system"]):
        done = subprocess.run([helm, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.thorough
def test_the_product_runs_without_this_checkout_and_without_the_embedded_cluster(
    parts: Path, tmp_path: Path
) -> None:
    (wheel,) = parts.glob("vacate-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = "import sys; sys.path.insert(0, '.'); from vacate.__main__ import main; main()"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    done = run("install", "--image", "x:1", "--print")
    assert done.returncode == 0, done.stderr
    assert "kind: CustomResourceDefinition" in done.stdout
    for words in (["up"], ["demo"], ["plan", "node-1"], ["drain", "node-1", "--plan"]):
        done = run(*words)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", f"error: {NOT_EMBEDDED}\n")


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_two_commands_lead_from_nothing_to_the_first_plan(parts: Path, tmp_path: Path) -> None:
    """The line of the README with `pipx`, and a plan of a cluster that others run.

    Without the embedded cluster, which `pip` leaves out unless it is named, the command says how to get it.
    """
    (wheel,) = parts.glob("vacate-*.whl")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / __version__).symlink_to(parts)
    venv.create(tmp_path / "env", with_pip=True)
    small, whole = tmp_path / "env" / "bin", tmp_path / "bin"
    (line,) = re.findall(r"^pipx install .*", (ROOT / "README.md").read_text(), re.MULTILINE)
    words = shlex.split(line, comments=True)
    with running_cluster(tmp_path / "cluster", "--nodes", "2", *FAST_PODS) as cluster:
        around = {**os.environ, "KUBECONFIG": str(cluster.kubeconfig), "COLUMNS": "120"}
        around |= {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(whole)}
        around.pop("PYTHONPATH", None)
        steps = (
            ([small / "pip", "install", "--quiet", wheel, "pipx"], 0),
            ([small / "vacate", "plan", "node-1"], 1),
            ([small / words[0], *words[1:]], 0),
            ([whole / "vacate", "plan", "node-1"], 0),
        )
        for command, code in steps:
            done = subprocess.run(
                [*map(str, command)],
                cwd=tmp_path,
                env=around,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, done.stdout + done.stderr
            assert not code or done.stderr == f"error: {NOT_EMBEDDED}\n"
    assert "2 nodes, " in done.stdout
    assert "WOULD FINISH in " in done.stdout


@pytest.mark.thorough
def test_krew_gets_a_plugin_that_runs(parts: Path, tmp_path: Path) -> None:
    plugin = parts / f"vacate-{__version__}-krew.tar.gz"
    spec = yaml.safe_load((parts / "krew.yaml").read_text())["spec"]
    assert spec["version"] == f"v{__version__}"
    for platform in spec["platforms"]:
        assert platform["uri"] == f"{DOWNLOADS}/{plugin.name}"
        assert platform["sha256"] == hashlib.sha256(plugin.read_bytes()).hexdigest()
    with tarfile.open(plugin) as archive:
        archive.extractall(tmp_path, filter="data")
    for argument in ("--version", "plan"):  # the first makes the environment
        command = [str(tmp_path / spec["platforms"][0]["bin"]), argument]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if argument == "--version":
            assert (done.returncode, done.stdout) == (0, f"vacate, version {__version__}\n"), done.stderr
        else:
            assert (done.returncode, "name nodes" in done.stderr.lower()) == (2, True), done.stderr


@pytest.mark.unit
def test_the_notes_are_the_section_of_the_version() -> None:
    text = "# Changelog\n\n## 2.0.0 (unreleased)\n\n### Drains\n\n- new [page](docs/a.md#b)\n\n## 1.0.0\n\n- [x](https://x)\n"
    new = "### Drains\n\n- new page\n"  # beside the notes there are no documents
    assert (notes_of(text, "2.0.0"), notes_of(text, "1.0.0")) == (new, "- [x](https://x)\n")
    with pytest.raises(ReleaseError, match=r"no section 3\.0\.0"):
        notes_of(text, "3.0.0")


@pytest.mark.unit
@pytest.mark.parametrize("registry", ["", "https://registry.example.com", "a b", "host/", "HOST/x", "-x"])
def test_what_is_no_registry_is_refused(registry: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="--registry"):
        release(tmp_path / "never", registry)
    assert not (tmp_path / "never").exists()


@pytest.mark.unit
def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(ReleaseError, match="is not empty"):
        release(tmp_path, REGISTRY, dirty=True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_workflow_publishes_the_parts_from_where_it_has_put_them() -> None:
    """An upload keeps the folders below the first pattern of its path, so that there must be none in it."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    steps = {
        one["uses"].partition("@")[0]: one["with"]
        for job in jobs.values()
        for one in job["steps"]
        if "with" in one
    }
    sent, fetched = steps["actions/upload-artifact"], steps["actions/download-artifact"]
    assert not set("*?[") & set(sent["path"])
    assert sent["name"] == fetched["name"]
    (make,) = [one["run"] for one in jobs["build"]["steps"] if "make release" in one.get("run", "")]
    assert f"FOLDER={sent['path']}" in make.split()
    (publish,) = [one["run"] for one in jobs["publish"]["steps"] if "run" in one]
    assert {f"{fetched['path']}/NOTES.md", f"{fetched['path']}/*"} <= set(publish.split())


def test_make_release_writes_to_the_named_folder() -> None:
    words = ["make", "--dry-run", "--silent", "release", "REGISTRY=r.example.com", "FOLDER=dist/release"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "-m hack.release" in done.stdout
    assert done.stdout.split()[-1] == "dist/release"


DOCUMENTS = ("README.md", "docs/how-to/install.md", "docs/how-to/adopt.md")
_LINES = r"^(?: {4})?(pipx install .*|helm install vacate oci://.*|vacate install --image \S+ --wait)$"


def test_every_way_of_installing_is_the_same_line_in_all_documents_and_of_this_version() -> None:
    texts = {name: (ROOT / name).read_text() for name in DOCUMENTS}
    lines = {
        name: [re.sub(r" +#.*", "", one) for one in re.findall(_LINES, text, re.MULTILINE)]
        for name, text in texts.items()
    }
    assert lines["README.md"] == lines["docs/how-to/install.md"][:3]
    assert [one.split()[0] for one in lines["README.md"]] == ["pipx", "helm", "vacate"]
    for text in texts.values():
        assert {*re.findall(r"(?:vacate[:-]|--version )(\d+\.\d+\.\d+)", text)} == {__version__}
