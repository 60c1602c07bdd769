"""Errors as the command line prints them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vacate.cli.common.errors import FAILED, NOT_EMBEDDED, run_command_line
from vacate.cli.common.remedies import with_reader, with_remedy, with_webhook_remedy
from vacate.errors import ConfigError, ConfigErrors, Forbidden, InternalError

pytestmark = pytest.mark.unit

REQUESTS = 'resource "evictionrequests" in API group "evictionrequest.coordination.k8s.io"'


def printed(error: Exception, capsys: pytest.CaptureFixture[str]) -> list[str]:
    def run() -> None:
        raise error

    assert run_command_line(run) == FAILED
    return capsys.readouterr().err.splitlines()


def test_each_of_several_problems_is_a_line_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(ConfigErrors(["a: is wrong", "b: is\nmissing"]), capsys) == [
        "error: a: is wrong",
        "error: b: is missing",
    ]


def test_a_break_in_one_message_makes_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(printed(ConfigError("a\nerror: b"), capsys)) == 1


def test_a_webhook_that_is_away_is_named_with_the_command_that_shows_why() -> None:
    server = 'Internal error occurred: failed calling webhook "{}": failed to call webhook: Post '
    server += '"https://vacate-webhook.ops.svc:443/mutate?timeout=10s": dial tcp: connection refused'
    shown = with_webhook_remedy(InternalError(server.format("requests.mutating.vacate.dev")))
    assert "kubectl -n ops get pods -l app.kubernetes.io/component=webhook" in str(shown)
    assert str(with_webhook_remedy(shown)) == str(shown)
    others = InternalError(server.format("policies.example.com"))
    assert with_webhook_remedy(others) is others


@pytest.mark.parametrize(
    ("user", "denied", "granted"),
    [
        (
            "jane",
            f'list {REQUESTS} in the namespace "shop"',
            "create rolebinding NAME --clusterrole=vacate-viewer --user=jane -n shop",
        ),
        (
            "system:serviceaccount:ops:bot",
            f'create {REQUESTS} in the namespace "shop"',
            "create rolebinding NAME --clusterrole=vacate-requester --serviceaccount=ops:bot -n shop",
        ),
        (
            "jane",
            'create resource "nodemaintenances" in API group "vacate.dev" at the cluster scope',
            "create clusterrolebinding NAME --clusterrole=vacate-node-maintainer --user=jane",
        ),
        (
            "jane",
            'delete resource "pods" in API group "" in the namespace "shop"',
            "create rolebinding NAME --clusterrole=edit --user=jane -n shop",
        ),
        (
            "jane",
            'get resource "deployments" in API group "apps" in the namespace "shop"',
            "create rolebinding NAME --clusterrole=view --user=jane -n shop",
        ),
        ("jane", 'get resource "secrets" in API group "" in the namespace "shop"', ""),
    ],
)
def test_a_missing_right_is_named_with_the_role_that_has_it(user: str, denied: str, granted: str) -> None:
    error = Forbidden(f'x is forbidden: User "{user}" cannot {denied}')
    shown = with_remedy(error)
    assert str(shown).endswith(f"kubectl {granted}") if granted else shown is error
    assert str(with_remedy(shown)) == str(shown)


def test_a_plan_where_vacate_is_not_installed_names_none_of_its_roles() -> None:
    denied = 'User "jane" cannot list resource "nodes" in API group "" at the cluster scope'
    shown = with_reader(Forbidden(f"nodes is forbidden: {denied}"))
    assert str(shown).endswith(
        "kubectl create clusterrole plan-reader --verb=list --resource=nodes,pods && "
        "kubectl create clusterrolebinding plan-reader --clusterrole=plan-reader --user=jane"
    )
    assert str(with_remedy(shown)) == str(shown)


def test_what_the_image_has_not_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    def run() -> object:
        raise ModuleNotFoundError("No module named 'vacate.cli.up'", name="vacate.cli.up")

    assert run_command_line(run) == 1
    assert capsys.readouterr().err.startswith(f"error: {NOT_EMBEDDED}")


def test_output_that_cannot_be_written_is_one_error() -> None:
    """As on a full disk."""
    command = "sys.exit(run_command_line(lambda: terminal.echo('a line')))"
    code = f"import sys; from vacate.cli.common.errors import run_command_line, terminal; {command}"
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    shown = "error: the output cannot be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (FAILED, shown)
