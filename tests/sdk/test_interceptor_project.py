"""The project that authors of interceptors begin with: its tests pass, and its account has what it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from support.processes.cluster import FAST_PODS, ClusterProcess, environment, running_cluster
from vacate.sdk import EvictionContext, Interceptor, TurnResult
from vacate.testing import LiveCluster, namespace

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples/interceptor-project"
TOOLS = Path(sys.executable).parent
MANIFEST = {one["kind"]: one for one in yaml.safe_load_all((PROJECT / "manifest.yaml").read_text())}
NAMESPACE, ACCOUNT = "shop", "backup"


def commands() -> list[str]:
    """What the workflow runs, in this order."""
    jobs = yaml.safe_load((PROJECT / ".github/workflows/test.yml").read_text())["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def run_pytest(folder: Path, command: str) -> str:
    """All that it prints; an error where a test fails."""
    path = f"{TOOLS}:{os.environ['PATH']}"
    environ = {**environment(), "PATH": path, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environ, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_workflow_passes(tmp_path: Path) -> None:
    install, test = commands()
    project = shutil.copytree(PROJECT, tmp_path / "project")
    assert "3 passed" in run_pytest(project, test)
    # What is installed is not tried: it comes from an index.
    assert shutil.which(install.split()[0], path=str(TOOLS))
    metadata = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert '"vacate[embedded]"' in install
    assert (metadata["name"], "embedded" in metadata["optional-dependencies"]) == ("vacate", True)


def test_the_page_names_the_commands_of_the_workflow() -> None:
    page = (ROOT / "docs/how-to/test-an-interceptor-in-ci.md").read_text()
    assert re.search(r"```sh\n(.*?)```", page, re.DOTALL)[1].splitlines() == commands()  # type: ignore[index]


CASES = """
import pytest

@pytest.fixture(scope="session")
def live_cluster_options():
    return ("--no-such-option",)

@pytest.mark.simulated(feature_gates="EvacuationAPI=true", seed=7)
class TestOfAClass:
    @pytest.mark.parametrize("hours", [1, 2])
    async def test_time_is_virtual(self, hours, simulated_cluster, tmp_path):
        began = simulated_cluster.clock.now()
        await simulated_cluster.clock.sleep(hours * 3600)
        assert (simulated_cluster.clock.now() - began).total_seconds() == hours * 3600
        assert simulated_cluster.world.settings.gates.enabled("EvacuationAPI")
        assert simulated_cluster.world.sim.seed == 7

async def test_that_fails(simulated_cluster):
    assert simulated_cluster.find_pod("db") == "there"

def test_that_is_plain(simulated_cluster):
    pass

def test_with_options(live_cluster):
    pass
"""


@pytest.mark.parametrize("mode", ["strict", "auto"])
def test_the_fixtures(mode: str, tmp_path: Path) -> None:
    """Also where another plugin would run tests that are coroutines."""
    shutil.copy(PROJECT / "conftest.py", tmp_path)
    (tmp_path / "test_cases.py").write_text(CASES)
    options = f"-o asyncio_mode={mode} -o asyncio_default_fixture_loop_scope=function"
    printed = run_pytest(tmp_path, f"pytest -q --strict-markers -W error {options} -rA || true")
    assert "2 passed, 1 failed, 2 errors" in printed.replace("1 failed, 2 passed", "2 passed, 1 failed")
    assert "AssertionError: assert {} == 'there'" in printed
    assert "simulated_cluster is for `async def` tests that take it themselves" in printed
    assert "No such option" in printed


def test_the_manifest_has_no_more_rights_than_the_page_explains() -> None:
    page = (ROOT / "docs/how-to/write-an-interceptor.md").read_text().partition("## Permissions")[2]
    explained = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])["rules"]  # type: ignore[index]
    needed = [rule for rule in explained if rule["resources"] != ["pods/eviction"]]  # for context.evict()
    assert MANIFEST["Role"]["rules"] == needed


async def fails(context: EvictionContext) -> None:
    raise OSError("the backup server is away")


async def reports(context: EvictionContext) -> None:
    await context.report("Backing up")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ClusterProcess, LiveCluster]]:
    """The cluster for its administrator, and for the account of the manifest."""
    folder = tmp_path_factory.mktemp("cluster")
    with running_cluster(folder / "cluster", *FAST_PODS) as cluster:
        cluster.create(namespace(NAMESPACE), *MANIFEST.values())
        config = yaml.safe_load(cluster.kubeconfig.read_text())
        config["users"][0]["user"]["as"] = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
        (folder / "kubeconfig").write_text(yaml.safe_dump(config))
        yield cluster, LiveCluster(folder / "kubeconfig")


def test_the_account_of_the_manifest_has_the_rights_that_a_program_needs(
    installed: tuple[ClusterProcess, LiveCluster],
) -> None:
    cluster, as_account = installed
    ends = []
    for pod, handler in (("db-1", reports), ("db-2", fails)):
        serving = Interceptor("backup.example.com", handler, namespace=NAMESPACE, attempts=1)
        with as_account.program(serving), cluster.requester() as requester:
            cluster.pod(pod, serving, namespace=NAMESPACE)
            result = requester.wait(requester.request(pod, NAMESPACE), timeout=timedelta(minutes=1))
            ends.append([turn.result for turn in result.history])
    assert ends == [[TurnResult.COMPLETED], [TurnResult.FAILED]]
    events = cluster.https().get(f"/api/v1/namespaces/{NAMESPACE}/events").ok()["items"]
    # The controller writes Events of its own about the same turns.
    written = {one["reason"] for one in events if one["source"].get("component") == "backup.example.com"}
    assert written == {"InterceptorAttemptFailed"}
