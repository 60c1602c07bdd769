"""The layers: imports point downwards, pure packages do no I/O, the product never loads the imitation."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Container, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import vacate
from support.rights import rights_of, written_rights
from vacate.cli.main import COMMANDS, EMBEDDED
from vacate.features import parse_feature_gates
from vacate.interceptors.hooks.targets import AllowList, JobPermission
from vacate.wiring.controllers import CONTROLLERS
from vacate.wiring.hooks import JOB_RULES, hook_controllers

pytestmark = pytest.mark.unit

ROOT = Path(vacate.__file__).parent
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("clock", "entropy", "metrics", "features"),
    ("api", "wire"),
    ("kube", "client", "pki", "httpclient"),
    ("eviction", "httpserver", "cache", "queue"),
    ("admission", "views", "runtime"),
    ("crds", "maintenance", "descheduling", "fencing", "sdk"),
    ("controllers", "interceptors", "nodeagent", "fenceagents"),
    ("webhook",),
    ("wiring",),
    ("install",),
    ("embedded",),
    ("sim",),
    ("plan", "web"),
    ("cli", "testing"),
)
"""Lowest first. Packages of one layer do not import each other; ARCHITECTURE.md says what each is."""

ALL_APIS = parse_feature_gates("EvacuationAPI=true")
LAYER_OF = {name: number for number, layer in enumerate(LAYERS) for name in layer}
PURE = ("kube", "eviction", "admission", "views", "crds", "maintenance", "descheduling", "fencing")
IMPURE_MODULES = {"time", "random", "os", "asyncio", "logging", "uuid", "secrets", "socket", "threading"}
# The two readers of time and randomness, and those that must speak to real time beside them.
TIME_READERS = {
    "clock.py",
    "entropy.py",
    "nodeagent/runtime/supervisor/loop.py",  # a program of its own, which must stay small: no asyncio in it
    "nodeagent/shutdownagent/launcher.py",  # likewise
}
TIME_OR_CHANCE = re.compile(
    r"\btime\.(time|monotonic|perf_counter|sleep)\b|\bdatetime\.(now|utcnow|today)\b|\basyncio\.sleep\((?!0\))"
    r"|\buuid\.?uuid[14]\b|\brandom\.(?!Random\b)\w+\("
)
PRODUCT_ENTRY_POINTS = (
    "vacate.wiring.manager",
    "vacate.wiring.webhook",
    "vacate.wiring.nodeagent",
    "vacate.install.objects",
    "vacate.sdk",
    "vacate.nodeagent",
    *(place.partition(":")[0] for place, _ in COMMANDS.values() if place != EMBEDDED),
)
"""What runs on a cluster of others, or speaks to one: none of it needs the embedded cluster."""


def sources() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def package_of(path: Path) -> str:
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


@cache
def imports_of(path: Path) -> list[str]:
    return list(_imports_of(path))


def _imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_package_has_a_layer() -> None:
    packages = {package_of(path) for path in sources()} - {"__init__", "__main__"}
    assert packages <= set(LAYER_OF)


def test_imports_point_only_towards_lower_layers() -> None:
    breaches = []
    for path in sources():
        package = package_of(path)
        if package not in LAYER_OF:
            continue
        for target in imports_of(path):
            parts = target.split(".")
            if parts[0] != "vacate" or len(parts) < 2 or parts[1] not in LAYER_OF:
                continue
            if parts[1] != package and LAYER_OF[parts[1]] >= LAYER_OF[package]:
                breaches.append(f"{path.relative_to(ROOT)} (layer {LAYER_OF[package]}) imports {target}")
    assert not breaches, "\n".join(breaches)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_modules_import_each_other() -> None:
    """Nor in a circle of several. Imports for types only, and those inside functions, count as well."""
    modules = {module_of(path): path for path in sources()}
    graph = {name: {_module_in(modules, one) for one in imports_of(path)} for name, path in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("a circle of imports: " + " <- ".join(error.args[1]))


def _module_in(modules: Container[str], target: str) -> str:
    """The module that is imported, or out of which a name is."""
    return target if target in modules else target.rpartition(".")[0]


def test_the_product_never_loads_the_embedded_cluster() -> None:
    """In a fresh interpreter: an import inside a function, or by name, would escape a look at the sources.

    All in the same one, until the first that loads it: it is named.
    """
    program = """
import importlib, sys
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    for one in getattr(module, "__all__", ()):
        getattr(module, one)  # some are loaded on use
    loaded = [one for one in sys.modules if one.startswith("vacate.embedded")]
    if loaded:
        sys.exit(f"{name} loads {loaded}")
"""
    command = [sys.executable, "-c", program, *PRODUCT_ENTRY_POINTS]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_say_so(package: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / package / "__init__.py").read_text()))
    assert docstring is not None
    assert docstring.startswith("PURE.")


@pytest.mark.parametrize("package", PURE)
def test_pure_packages_import_nothing_impure(package: str) -> None:
    breaches = [
        f"{path.relative_to(ROOT)} imports {target}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for target in imports_of(path)
        if target.split(".")[0] in IMPURE_MODULES
        or target.startswith(("vacate.clock", "vacate.entropy", "vacate.client"))
    ]
    assert not breaches


def test_pure_packages_never_await() -> None:
    for package in PURE:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text())
            assert not any(isinstance(n, ast.Await | ast.AsyncFunctionDef) for n in ast.walk(tree)), path


def test_only_clock_and_entropy_read_time_and_chance() -> None:
    breaches = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sources()
        if path.relative_to(ROOT).as_posix() not in TIME_READERS
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if TIME_OR_CHANCE.search(line.partition("#")[0])
    ]
    assert not breaches, "\n".join(breaches)


def test_files_stay_small() -> None:
    tables = {"api/kinds.py"}
    long = [
        f"{path.relative_to(ROOT)}: {count} lines"
        for path in sources()
        if (count := len(path.read_text().splitlines())) > 600
        and path.relative_to(ROOT).as_posix() not in tables
    ]
    assert not long, "cut these along a seam:\n" + "\n".join(long)


def test_folders_stay_small() -> None:
    full = [
        f"{folder.relative_to(ROOT)}: {count} files"
        for folder in sorted({path.parent for path in sources()})
        if (count := len(list(folder.glob("*.py")))) > 24
    ]
    assert not full, "give these sub-folders:\n" + "\n".join(full)


def test_each_controller_has_exactly_the_rights_that_are_written_down() -> None:
    """A right more is a decision of its own: add it to tests/support/rights.txt, and say why it is needed."""
    hooks = hook_controllers(lambda: AllowList(jobs=JobPermission(("*",))), ALL_APIS)
    given = {one.component: rights_of(one.rules) for one in (*CONTROLLERS, *hooks)}
    given["vacate-hooks-jobs"] = rights_of(JOB_RULES)
    assert given == written_rights()
