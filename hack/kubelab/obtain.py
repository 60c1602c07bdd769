"""The programs of a control plane: from KUBEBUILDER_ASSETS, from the cache, or built once.

    python -m hack.kubelab.obtain        prints the folder

The cache is outside of the tree and keyed by all that goes into the programs. A build that fails or is
interrupted leaves nothing: it happens in a folder that only becomes part of the cache when it is whole.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from hack.kubelab.build import Build
from hack.kubelab.golang import Go, choose_go
from hack.kubelab.otherrelease import other_release
from hack.kubelab.programs import given_folder, missing_programs
from hack.kubelab.progress import Progress
from hack.kubelab.recipe import Recipe
from hack.kubelab.release import PROGRAMS, KubeError, architecture, pinned_release

ASSETS = "KUBEBUILDER_ASSETS"
RELEASE = "VACATE_KUBE_RELEASE"  # another one than the pinned, such as 1.33.13
CACHE = "VACATE_KUBE_CACHE"
_UNFINISHED = "building-"
Make = Callable[[Path], Path]


def obtain(environment: Mapping[str, str] = os.environ, progress: Progress | None = None) -> Path:
    """The folder with the programs, made where it does not exist yet."""
    if given := environment.get(ASSETS):
        return given_folder(Path(given))
    asked = environment.get(RELEASE)
    release = other_release(asked, cache_folder(environment)) if asked else pinned_release()
    return built(release, environment, progress)


def built(
    recipe: Recipe, environment: Mapping[str, str] = os.environ, progress: Progress | None = None
) -> Path:
    """The folder with what the recipe gives, from the cache or built into it."""
    go, shown = choose_go(recipe.oldest_go), progress or Progress()

    def make(work: Path) -> Path:
        shown.say(f"Building {recipe.title} with Go {go.version}:")
        shown.say("  several minutes and 4 GB of disk, once; the next time it takes a moment")
        return Build(recipe, go, work, shown).run()

    return cached(cache_folder(environment), cache_key(recipe, go), make, recipe.programs)


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where built programs are kept."""
    if chosen := environment.get(CACHE):
        return Path(chosen).expanduser().resolve()
    base = environment.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "vacate" / "kube"


def cache_key(recipe: Recipe, go: Go) -> str:
    """Other sources, another machine or another compiler give another folder."""
    return f"{recipe.slug}-{architecture()}-go{go.version}-{recipe.digest}"


def cached(cache: Path, key: str, make: Make, programs: Sequence[str] = PROGRAMS) -> Path:
    """The folder of that key, made by one caller while the others wait."""
    kept = cache / key
    if not missing_programs(kept, programs):
        return kept
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache):
        if missing_programs(kept, programs):
            _discard_unfinished(cache)
            _make(cache, kept, make)
    return kept


def _make(cache: Path, kept: Path, make: Make) -> None:
    work = Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=cache))
    try:
        with _interrupted_by_signals():
            ready = make(work)
            shutil.rmtree(kept, ignore_errors=True)  # damaged, or it would not be made again
            ready.rename(kept)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _discard_unfinished(cache: Path) -> None:
    """What a killed process has left: nobody is building, since the lock is ours."""
    for left in cache.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """One process at a time. The kernel lets go of the lock when its holder dies."""
    with (cache / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another build of the same cache", file=sys.stderr)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def _interrupted_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the build as Ctrl-C does: cleaning up."""

    def interrupt(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, interrupt) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def print_folder(name: str, found: Callable[[], Path]) -> None:
    """The whole of a command: print the folder, or what a person has to mend."""
    try:
        print(found())
    except KubeError as error:
        sys.exit(f"{name}: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    print_folder("kube", obtain)
