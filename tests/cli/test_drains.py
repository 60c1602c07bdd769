"""`vacate drains`, which only reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from vacate.cli import drains
from vacate.cli.main import cli
from vacate.errors import Forbidden

pytestmark = pytest.mark.unit


def test_who_may_not_look_is_given_no_more_than_the_right_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = (
        'nodemaintenances.vacate.dev is forbidden: User "ada" cannot list resource "nodemaintenances" '
        'in API group "vacate.dev" at the cluster scope'
    )

    async def show(*_: object) -> None:
        raise Forbidden(refused)

    monkeypatch.setattr(drains, "_show", show)
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    kubeconfig.write_text(
        json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "c", "users": users})
    )
    found = CliRunner().invoke(cli, ["drains", "--kubeconfig", str(kubeconfig)])
    assert isinstance(found.exception, Forbidden)
    assert "ClusterRole vacate-viewer has this right" in found.exception.message
    assert "--clusterrole=vacate-viewer --user=ada" in found.exception.message
