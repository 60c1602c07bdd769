"""What `vacate delete` takes for a pod, and what for the type of an object that it does not delete."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from vacate.cli.delete.command import chosen_pods
from vacate.cli.main import cli

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "typed",
    [
        "deployment", "deployments", "deploy", "deployment.apps", "deployments.apps", "sts", "job", "svc",
        "secrets", "evictionrequest", "nodemaintenances",
    ],
)  # fmt: skip
def test_another_type_is_refused_before_anything_is_deleted(typed: str) -> None:
    refused = CliRunner().invoke(cli, ["delete", typed, "web", "--kubeconfig", "/no/such/file"])
    assert refused.exit_code == 2
    assert f"only pods and nodes can be deleted here, and {typed!r} is neither;" in refused.output
    assert f"write pod/{typed}." in " ".join(refused.output.split())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (("deployment",), ("deployment",)),
        (("pod", "deployment"), ("deployment",)),
        (("pod", "deployment", "web"), ("deployment", "web")),
        (("pod/deployment", "web"), ("deployment", "web")),
        (("web", "deployment"), ("web", "deployment")),
        (("pods", "a", "pod/a", "b"), ("a", "b")),
        (("pod",), ()),
        ((), ()),
    ],
)
def test_a_pod_may_have_the_name_of_a_type(typed: tuple[str, ...], meant: tuple[str, ...]) -> None:
    assert chosen_pods(typed) == meant


def test_a_type_with_a_slash_is_no_pod() -> None:
    with pytest.raises(click.BadParameter, match="is not a pod"):
        chosen_pods(("deployment/web",))
