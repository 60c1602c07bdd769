"""Write what is checked in of an installation, deploy/, from `vacate.install`: the kustomizations.

python -m hack.gen_deploy                 writes the files
python -m hack.gen_deploy --verify        fails where a committed file differs, is missing or is left over
python -m hack.gen_deploy --chart FOLDER  writes the Helm chart, which `make release` makes too, to the folder
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from hack.deploy.chart import chart_files
from hack.deploy.kustomize import kustomize_files

DEPLOY = Path(__file__).parent.parent / "deploy"
HEADER = "# Written by hack/gen_deploy.py; a test keeps it current. Do not edit.\n"


def files() -> dict[str, str]:
    """Every file below deploy/ and what it holds."""
    return _headed({f"kustomize/{path}": text for path, text in kustomize_files().items()})


def chart() -> dict[str, str]:
    """Every file of the Helm chart and what it holds."""
    return _headed(chart_files())


def outdated() -> list[str]:
    """Paths whose files are not as they should be."""
    wanted = files()
    there = {str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*") if path.is_file()}
    changed = {path for path, text in wanted.items() if path in there and (DEPLOY / path).read_text() != text}
    return sorted(changed | (wanted.keys() ^ there))


def write(folder: Path, made: Mapping[str, str]) -> None:
    """Write the files below the folder."""
    for path, text in made.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def _headed(made: Mapping[str, str]) -> dict[str, str]:
    return {path: f"{HEADER if path.endswith('.yaml') else ''}{text}" for path, text in made.items()}


def main() -> int:
    match sys.argv[1:]:
        case []:
            write(DEPLOY, files())
            for path in outdated():
                (DEPLOY / path).unlink()
        case ["--verify"]:
            if wrong := outdated():
                print(f"not current, run python -m hack.gen_deploy: {', '.join(wrong)}", file=sys.stderr)
            return 1 if wrong else 0
        case ["--chart", folder]:
            write(Path(folder), chart())
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
