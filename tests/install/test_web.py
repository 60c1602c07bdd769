"""The pages in the cluster: off by default, and a pod without any right."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from vacate.cli.main import cli
from vacate.install import Settings, objects

pytestmark = pytest.mark.unit


def test_the_pod_has_no_token_and_its_account_no_rights() -> None:
    before = [(one["kind"], one["metadata"]["name"]) for one in objects(Settings())]
    made = {(one["kind"], one["metadata"]["name"]): one for one in objects(Settings(web=True))}
    added = [key for key in made if key not in before]
    names = ("ServiceAccount", "Deployment", "NetworkPolicy")
    assert added == [(kind, "vacate-web") for kind in names]
    assert made["ServiceAccount", "vacate-web"]["automountServiceAccountToken"] is False
    pod = made["Deployment", "vacate-web"]["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert [list(one) for one in pod["volumes"]] == [["name", "configMap"]]
    subjects = [who for one in made.values() for who in one.get("subjects") or []]
    assert "vacate-web" not in {who["name"] for who in subjects}


def test_nothing_of_the_cluster_reaches_the_port_of_the_pages() -> None:
    """Only the loopback of the pod, which a port-forward and a proxy in the pod reach."""
    made = objects(Settings(web=True))
    (pod,) = [one for one in made if (one["kind"], one["metadata"]["name"]) == ("Deployment", "vacate-web")]
    (container,) = pod["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in container["ports"]] == ["metrics"]
    assert not [one for one in made if (one["kind"], one["metadata"]["name"]) == ("Service", "vacate-web")]
    (policy,) = [
        one for one in made if (one["kind"], one["metadata"]["name"]) == ("NetworkPolicy", "vacate-web")
    ]
    assert [port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]] == [8085]


def test_the_pages_and_the_dashboard_link_to_each_other() -> None:
    """Both where an administrator says that they are; the dashboard by default to the reader's machine."""
    links = ["--web-dashboard=https://grafana.example.com/d/vacate", "--web-url=https://vacate.example.com/"]
    given = ["install", "--image", "x:1", "--print", "--web", "--monitoring"]
    made = CliRunner().invoke(cli, [*given, *links])
    assert made.exit_code == 0, made.output
    assert "--dashboard=https://grafana.example.com/d/vacate" in made.output
    assert '"url": "https://vacate.example.com/drains"' in made.output
    assert "https://vacate.example.com/drains/${__field.labels.maintenance}" in made.output
    assert "127.0.0.1:7411" not in made.output
    plain = CliRunner().invoke(cli, given).output
    assert '"url": "http://127.0.0.1:7411/drains"' in plain
    assert "--dashboard=" not in plain


@pytest.mark.parametrize(
    ("options", "trouble"),
    [
        (["--web-host", "vacate.example.com"], "--web-host: names the pages of --web; give it as well"),
        (["--web-dashboard", "https://a.example.com"], "--web-dashboard: is what the pages of --web link to"),
        (
            ["--web-url", "https://a.example.com"],
            "--web-url: is where the dashboard of --monitoring links to",
        ),
        (["--web", "--web-dashboard", "a.example.com"], "is not the address of a site"),
        (["--web", "--web-host", "https://a.example.com"], "write NAME or NAME:PORT, without https://"),
        (["--web", "--web-host", "a.example.com:0"], "is not a host"),
    ],
)
def test_options_that_cannot_be_used(options: list[str], trouble: str) -> None:
    result = CliRunner().invoke(cli, ["install", "--image", "x:1", "--print", *options])
    assert result.exit_code == 2
    assert trouble in " ".join(result.output.split())
