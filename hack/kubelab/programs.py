"""A folder with programs: is everything there, and does it run?"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hack.kubelab.recipe import Recipe
from hack.kubelab.release import CONTROL_PLANE, PROGRAMS, KubeError


def missing_programs(folder: Path, programs: Sequence[str] = PROGRAMS) -> list[str]:
    """The programs that are not in the folder or cannot be executed."""
    return [name for name in programs if not os.access(folder / name, os.X_OK) or (folder / name).is_dir()]


def given_folder(folder: Path) -> Path:
    """A folder that a person has named, used as it is; KubeError where something is missing in it."""
    missing = missing_programs(folder, CONTROL_PLANE)
    if missing:
        raise KubeError(
            f"KUBEBUILDER_ASSETS={folder} has no {', '.join(missing)} (setup-envtest brings only etcd,"
            " kube-apiserver and kubectl); add them, or unset it and they are built"
        )
    return folder.resolve()


def check_versions(folder: Path, recipe: Recipe) -> None:
    """Run every program once; KubeError where one does not run or is of another release."""
    for program in recipe.programs:
        output = says_version(folder / program, recipe.version_arguments(program))
        expected = recipe.version_of(program)
        if expected not in output.split():
            raise KubeError(f"{program} should be {expected}, and says: {output.strip()}")


def says_version(program: Path, arguments: Sequence[str]) -> str:
    """What a program prints about its version."""
    try:
        ran = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise KubeError(f"{program.name} does not run: {error}") from error
    return ran.stdout
