"""The cache of built programs: made once, by one caller, whole or not at all."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hack.kubelab import golang
from hack.kubelab.golang import Go
from hack.kubelab.obtain import cache_folder, cache_key, cached, obtain
from hack.kubelab.otherrelease import module_text
from hack.kubelab.programs import check_versions, missing_programs
from hack.kubelab.release import MODULE, PROGRAMS, KubeError, Release, architecture, pinned_release

pytestmark = pytest.mark.process

RELEASE = Release("v1.36.4", "v3.6.8", (1, 26), "0123456789ab")


def program(path: Path, prints: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)


def programs(folder: Path) -> Path:
    """Five programs that say what the real ones say."""
    for name in PROGRAMS:
        program(folder / name, "etcd Version: 3.6.8" if name == "etcd" else "Kubernetes v1.36.4")
    return folder


def make(work: Path) -> Path:
    (work / "gigabytes").write_text("of build cache")
    return programs(work / "ready")


def test_a_folder_of_the_users_is_used_as_it_is(tmp_path: Path) -> None:
    assert obtain({"KUBEBUILDER_ASSETS": str(programs(tmp_path / "a"))}) == tmp_path / "a"


def test_what_is_missing_in_a_folder_of_the_users_is_named(tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        program(tmp_path / name, "")
    with pytest.raises(KubeError, match=r"has no kube-controller-manager, kube-scheduler \("):
        obtain({"KUBEBUILDER_ASSETS": str(tmp_path)})


def test_the_second_call_makes_nothing(tmp_path: Path) -> None:
    kept = cached(tmp_path, "key", make)
    assert missing_programs(kept) == []
    assert cached(tmp_path, "key", lambda _: pytest.fail("made again")) == kept
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "lock"]


def test_a_failed_build_leaves_nothing(tmp_path: Path) -> None:
    def fail(work: Path) -> Path:
        make(work)
        raise KubeError("no")

    with pytest.raises(KubeError):
        cached(tmp_path, "key", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    cached(tmp_path, "key", make)


def test_a_damaged_folder_is_made_anew(tmp_path: Path) -> None:
    (cached(tmp_path, "key", make) / "kubectl").unlink()
    assert missing_programs(cached(tmp_path, "key", make)) == []


def _obtain_together(cache: Path) -> None:
    def once_both_are_here(work: Path) -> Path:
        (cache / f"made-by-{os.getpid()}").touch()
        while len(list(cache.glob("arrived-*"))) < 2:
            time.sleep(0.01)
        return make(work)

    (cache / f"arrived-{os.getpid()}").touch()
    cached(cache, "key", once_both_are_here)


def test_of_two_callers_at_once_one_builds(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    both = [spawn.Process(target=_obtain_together, args=(tmp_path,)) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [one.exitcode for one in both] == [0, 0]
    assert len(list(tmp_path.glob("made-by-*"))) == 1


# A shell that starts the tests in the background has them ignore SIGINT, and their children with them.
_KILLED = """
import signal, sys, time
from pathlib import Path
from hack.kubelab.obtain import cached
signal.signal(signal.SIGINT, signal.default_int_handler)
def make(work):
    (work / "gigabytes").touch()
    print("building", flush=True)
    time.sleep(60)
cached(Path(sys.argv[1]), "key", make)
"""


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "left"), [("TERM", 0), ("INT", 0), ("KILL", 1)])
def test_an_interrupted_build_leaves_nothing(tmp_path: Path, number: str, left: int) -> None:
    """After kill -9 the next caller cleans up: nobody else is left to do it."""
    builder = subprocess.Popen(
        [sys.executable, "-c", _KILLED, tmp_path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert builder.stdout is not None
    with builder.stdout:
        assert builder.stdout.readline() == b"building\n"
        subprocess.run(["kill", f"-{number}", str(builder.pid)], check=True)
        assert builder.wait(60) != 0
    assert len(list(tmp_path.glob("building-*"))) == left
    cached(tmp_path, "key", make)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key", "lock"]


def test_every_program_must_be_of_the_release(tmp_path: Path) -> None:
    check_versions(programs(tmp_path), RELEASE)
    program(tmp_path / "kube-scheduler", "Kubernetes v1.35.0")
    with pytest.raises(
        KubeError, match=r"kube-scheduler should be v1\.36\.4, and says: Kubernetes v1\.35\.0"
    ):
        check_versions(tmp_path, RELEASE)
    (tmp_path / "etcd").write_text("#!/nowhere/at/all\n")
    with pytest.raises(KubeError, match="etcd does not run"):
        check_versions(tmp_path, RELEASE)


def test_the_pinned_release_is_that_of_the_module() -> None:
    release = pinned_release()
    assert re.fullmatch(r"v1\.37\.\d+", release.kubernetes)
    assert re.fullmatch(r"v3\.7\.\d+", release.etcd)
    assert release.oldest_go == (1, 26)
    assert f"component-base/version.gitVersion={release.kubernetes} " in release.link_flags()


@pytest.mark.parametrize(("machine", "expected"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_architectures(machine: str, expected: str) -> None:
    assert architecture(machine) == expected


def test_an_unsupported_architecture_is_a_clear_error() -> None:
    with pytest.raises(KubeError, match="no Kubernetes is built for riscv64"):
        architecture("riscv64")


def test_the_key_distinguishes_compilers_and_sources() -> None:
    keys = {
        cache_key(RELEASE, Go("1.26.8", None)),
        cache_key(RELEASE, Go("1.26.6", None)),
        cache_key(Release("v1.36.4", "v3.6.8", (1, 26), "other"), Go("1.26.8", None)),
    }
    assert len(keys) == 3


def test_where_the_cache_is(tmp_path: Path) -> None:
    assert cache_folder({"VACATE_KUBE_CACHE": str(tmp_path)}) == tmp_path
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "vacate" / "kube"


@pytest.mark.parametrize(
    ("prints", "own"),
    [("go version go1.26.8 linux/amd64", True), ("go version go1.27rc1 linux/arm64", True),
     ("go version go1.25.3 linux/amd64", False), ("gibberish", False)],
)  # fmt: skip
def test_only_a_new_enough_go_of_the_machine_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, own: bool
) -> None:
    program(tmp_path / "go", prints)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    chosen = golang.choose_go((1, 26))
    assert (chosen.program == tmp_path / "go") is own
    assert chosen.version == (prints.split()[2].removeprefix("go") if own else "1.26.6")


def test_the_module_of_another_release_pins_all_that_is_released_with_it() -> None:
    theirs = (
        "module k8s.io/kubernetes\n\ngo 1.24.0\n\ngodebug default=go1.24\n\nrequire (\n"
        "\texample.com/a v1.2.3\n\tk8s.io/api v0.0.0\n)\n"
        "\nrequire (\n\texample.com/b v2.0.0+incompatible // indirect\n)\n"
        "\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n"
    )
    made = module_text((MODULE / "go.mod").read_text(), theirs, "33.13")
    assert "\ngo 1.24.0\ngodebug default=go1.24\n" in made
    assert "\tk8s.io/kubernetes/cmd/kubelet\n" in made
    for line in ("example.com/a v1.2.3", "example.com/b v2.0.0+incompatible", "k8s.io/kubernetes v1.33.13"):
        assert f"\t{line}\n" in made
    assert made.partition("replace (")[2] == "\n\tk8s.io/api => k8s.io/api v0.33.13\n)\n"


@pytest.mark.parametrize("name", ["1.33", "latest", "v2.1.0", "../x"])
def test_a_release_that_there_cannot_be(name: str, tmp_path: Path) -> None:
    with pytest.raises(KubeError, match="is no release of Kubernetes"):
        obtain({"VACATE_KUBE_RELEASE": name, "VACATE_KUBE_CACHE": str(tmp_path)})
