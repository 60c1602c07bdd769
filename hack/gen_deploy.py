"""Write everything under deploy/ from `vacate.install`: definition, kustomize base, Helm chart, dashboard.

python -m hack.gen_deploy            writes the files
python -m hack.gen_deploy --verify   fails where a committed file differs, is missing or is left over
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hack.deploy.chart import chart_files
from hack.deploy.kustomize import kustomize_files

from vacate.crds.definition import definitions
from vacate.install.manifest import manifest
from vacate.install.manifests.grafana import dashboard

DEPLOY = Path(__file__).parent.parent / "deploy"
HEADER = "# Written by hack/gen_deploy.py; a test keeps it current. Do not edit.\n"


def files() -> dict[str, str]:
    """Every file below deploy/ and what it holds."""
    made = {f"crds/{one['spec']['names']['plural']}.yaml": manifest(one) for one in definitions()}
    made |= {f"kustomize/{path}": text for path, text in kustomize_files().items()}
    made |= {f"helm/vacate/{path}": text for path, text in chart_files().items()}
    texts = {path: f"{HEADER if path.endswith('.yaml') else ''}{text}" for path, text in made.items()}
    return {**texts, "grafana/vacate.json": json.dumps(dashboard(), indent=1) + "\n"}


def outdated() -> list[str]:
    """Paths whose files are not as they should be."""
    wanted = files()
    there = {str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*") if path.is_file()}
    changed = {path for path, text in wanted.items() if path in there and (DEPLOY / path).read_text() != text}
    return sorted(changed | (wanted.keys() ^ there))


def main() -> int:
    if "--verify" in sys.argv[1:]:
        if wrong := outdated():
            print(f"not current, run python -m hack.gen_deploy: {', '.join(wrong)}", file=sys.stderr)
        return 1 if wrong else 0
    for path, text in files().items():
        (DEPLOY / path).parent.mkdir(parents=True, exist_ok=True)
        (DEPLOY / path).write_text(text)
    for path in outdated():
        (DEPLOY / path).unlink()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
