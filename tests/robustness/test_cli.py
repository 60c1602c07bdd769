"""Option values that nobody means: one clear line, a failing exit code, no traceback, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from vacate.cli.main import cli
from vacate.errors import ConfigError

pytestmark = pytest.mark.process

HOSTILE = [
    (("--port", "-1"), "--port"),
    (("--port", "65536"), "--port"),
    (("--port", "x"), "--port"),
    (("--port", "1e3"), "--port"),
    (("--nodes", "-1"), "--nodes"),
    (("--nodes", "1001"), "--nodes"),
    (("--nodes", "9" * 5000), "--nodes"),
    (("--pod-start", "nan"), "--pod-start"),
    (("--pod-start", "inf"), "--pod-start"),
    (("--pod-ready", "-1"), "--pod-ready"),
    (("--pod-stop", "1e308"), "--pod-stop"),
    (("--feature-gates", "x"), "--feature-gates"),
    (("--feature-gates", "=,=,,"), "--feature-gates"),
    (("--feature-gates", "EvictionRequestAPI=maybe"), "--feature-gates"),
    (("--dir", ""), "--dir"),
    (("--dir", "."), "--dir"),
    (("--dir", "x" * 300), "--dir"),
    (("--dir", "/dev/null"), "--dir"),
    (("--dir", "/dev/null/x"), "--dir"),
    (("--dir", "/proc/nothing"), "--dir"),
    (("--dir", "a\tb\nc" * 100), "--dir"),
    (("--nope",), "--nope"),
    (("surplus",), "surplus"),
]


@pytest.mark.parametrize(("options", "named"), HOSTILE, ids=lambda value: str(value)[:30])
def test_hostile_options_are_refused_in_a_word(
    options: tuple[str, ...], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["up", *options])
    assert done.exit_code in (1, 2)
    # A refusal of our own becomes one line in `main`, as the tests below see; others are click's.
    assert isinstance(done.exception, ConfigError | SystemExit)
    assert named in f"{done.stderr}{done.exception}"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["kubeconfig", "pki", "cluster.db"])
@pytest.mark.thorough
def test_a_folder_with_something_else_in_it_is_refused(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    (folder / name).mkdir(parents=True) if name != "pki" else folder.mkdir()
    if name == "pki":
        (folder / name).write_text("no folder")
    command = [sys.executable, "-m", "vacate", "up", "--dir", str(folder), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1, done.stdout
    assert name in done.stderr
    assert "Traceback" not in done.stderr
