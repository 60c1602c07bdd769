"""What `vacate check` makes of what it has read; and on a cluster of `vacate up`."""

from __future__ import annotations

import copy
import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pytest

from support.processes.cluster import FAST_PODS, running_cluster
from support.processes.commands import Lab
from vacate.api.installednames import DEFAULT_NAMESPACE, MANAGER_VERSION
from vacate.api.objects import Obj
from vacate.api.types import Lease, Node
from vacate.cli.check import check_layout
from vacate.client.codec import codec_for
from vacate.crds.definition import definitions
from vacate.install import Settings
from vacate.install.check import findings as find
from vacate.install.check.findings import Finding, State
from vacate.install.check.shown import install_again, shown_settings
from vacate.install.manifests.webhooks import webhook_configurations
from vacate.install.settings import Certificates
from vacate.pki.issue import new_authority
from vacate.views.interceptors import InterceptorSummary
from vacate.views.managerhealth import ManagerHealth, ManagerState
from vacate.views.model import Remedy

pytestmark = pytest.mark.unit

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
REQUESTS = "evictionrequests.mutate.vacate.dev"
REFUSED = 'failed to call webhook: Post "https://vacate-webhook.ours.svc:443/mutate": connection refused'
AGAIN = Remedy("Apply it again", "vacate install")


def lease(renewed: dt.datetime, version: str = "") -> Lease:
    spec = {"holderIdentity": "m", "renewTime": renewed.isoformat(), "leaseDurationSeconds": 40}
    meta = {"name": "n", "annotations": {MANAGER_VERSION: version} if version else {}}
    return codec_for(Lease).convert({"metadata": meta, "spec": spec})


def node(ready: bool = True) -> Node:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return codec_for(Node).convert({"metadata": {"name": "n"}, "status": {"conditions": conditions}})


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        (Settings(), "vacate install"),
        (Settings(namespace="ours", eviction_bridge=True), "vacate install -n ours --eviction-bridge"),
        (
            Settings(webhook_url="https://10.0.0.1:9443", deploy_manager=False, prestop_wrapper=True),
            "vacate install --webhook-url https://10.0.0.1:9443 --no-manager --prestop-wrapper",
        ),
        (
            Settings(pod_webhooks=False, termination_reasons=True),
            "vacate install --no-pod-webhooks --termination-reasons",
        ),
    ],
)
def test_the_objects_show_the_options(settings: Settings, command: str) -> None:
    deployments: list[Obj] = []
    if settings.deploy_manager:
        container = {"image": settings.image}
        spec = {"template": {"spec": {"containers": [container]}}}
        deployments.append({"metadata": {"name": "vacate-manager"}, "spec": spec})
    mutating, validating = webhook_configurations(settings)
    shown = shown_settings(settings.namespace, mutating, validating, deployments)
    assert install_again(shown, "vacate").command == command
    where = f" -n {settings.namespace}" if settings.namespace != DEFAULT_NAMESPACE else ""
    assert install_again(shown, "vacate", kept=True).command == f"vacate install{where}"
    assert find.failure_policies([mutating, validating], shown, AGAIN).state is State.OK


def test_a_definition_differs_only_in_what_was_applied() -> None:
    for wanted in definitions():
        found = copy.deepcopy(wanted)
        found["spec"]["conversion"] = {"strategy": "None"}  # which the server adds
        assert not find.differs(wanted["spec"], found["spec"])
        found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].pop("spec")
        assert find.differs(wanted["spec"], found["spec"])
    allowed = zip(definitions(), definitions(("a.k8s.io",)), strict=True)
    assert not any(find.differs(one["spec"], other["spec"]) for one, other in allowed)


@pytest.mark.parametrize(
    ("bundle", "state", "text"),
    [
        (new_authority("ca", NOW, dt.timedelta(days=90)).certificate_pem, State.OK, "valid until 2026-04-01"),
        (new_authority("ca", NOW, dt.timedelta(days=2)).certificate_pem, State.WARNING, "until 2026-01-03"),
        (new_authority("ca", NOW - dt.timedelta(days=9), dt.timedelta(days=8)).certificate_pem, State.FAILED,
         "expired on 2025-12-31"),
        (b"---", State.FAILED, "is not a certificate"),
        (b"", State.FAILED, "have no authority yet"),
    ],
)  # fmt: skip
def test_the_authority_of_the_webhook(bundle: bytes, state: State, text: str) -> None:
    configurations = webhook_configurations(Settings(ca_bundle=bundle))
    for certificates in Certificates:
        settings = replace(Settings(), certificates=certificates)
        found = find.authority(configurations, settings, NOW)
        assert (found.state, text in found.text) == (state, True), found
        assert bool(found.remedies) is (state is not State.OK)
    assert found.state is State.OK or "certificate/vacate-webhook" in found.remedies[0].command


@pytest.mark.parametrize(
    ("message", "state", "remedy"),
    [
        (f'admission webhook "{REQUESTS}" denied the request: no such pod', State.OK, ""),
        (f'failed calling webhook "{REQUESTS}": {REFUSED}', State.FAILED, "kubectl -n ours get pods"),
        (f'failed calling webhook "{REQUESTS}": x509: unknown authority', State.FAILED, "rollout restart"),
        ("a request that it refuses was accepted", State.FAILED, "vacate install"),
    ],
)
def test_what_the_api_server_says_of_the_webhook(message: str, state: State, remedy: str) -> None:
    found = find.webhook_answer(message, 0.01, Settings(), AGAIN)
    assert found.state is state
    assert remedy in (found.remedies[0].command if found.remedies else "")


@pytest.mark.parametrize(
    ("offset", "renewed", "ready", "text"),
    [
        (0, 0, True, ""),
        (60, 0, True, "this machine is 60s behind the API server"),
        (-60, 0, True, "this machine is 60s ahead of the API server"),
        (0, 90, True, "node n is 90s ahead of it"),
        (0, -90, True, "node n is about 90s behind it"),
        (0, -90, False, ""),  # it has not renewed for that long
    ],
)
def test_clocks(offset: int, renewed: int, ready: bool, text: str) -> None:
    pairs = [(node(ready), lease(NOW + dt.timedelta(seconds=renewed)))]
    found = find.clocks(dt.timedelta(seconds=offset), pairs, NOW)
    assert found.state is (State.WARNING if text else State.OK)
    assert text in found.text
    assert bool(found.remedies) is bool(text)


def test_a_manager_of_another_version_is_named() -> None:
    assert find.versions("v1.36.4", [lease(NOW, "0.0.9")], AGAIN).state is State.WARNING
    assert "0.0.9" in find.versions("v1.36.4", [lease(NOW, "0.0.9")], AGAIN).text
    for leases in (None, [], [lease(NOW)]):
        assert find.versions("v1.36.4", leases, AGAIN).state is State.OK


def test_what_the_caller_may_not_do_is_named_with_one_command_for_each_role() -> None:
    """Who may look at the requests of a namespace is not said to see none, although drains are hidden."""
    allowed = {"look at evictions": True, "look at drains": False, "drain nodes": False, "fence nodes": False}
    grants = {task: "give fencer" if task == "fence nodes" else "give maintainer" for task in allowed}
    found = find.caller("ada", allowed, grants)
    assert found.text == (
        "you (ada) may look at evictions; you may not look at drains, drain nodes or fence nodes"
    )
    assert [(one.text, one.command) for one in found.remedies] == [
        ("An administrator lets you look at drains and drain nodes", "give maintainer"),
        ("An administrator lets you fence nodes", "give fencer"),
    ]


def test_what_helps_a_manager_is_not_the_command_that_says_so() -> None:
    look, logs = (
        Remedy("See what else is wrong", "vacate check"),
        Remedy("See what it logs", "kubectl logs m"),
    )
    health = ManagerHealth(ManagerState.ABSENT, "No manager works.", (logs, look))
    assert find.manager(health, [], NOW).remedies == (logs,)


def test_interceptors_that_never_answered_or_are_bound_to_none() -> None:
    silent = InterceptorSummary("a.example.com", turns=1, unanswered=1, accounts=())
    unbound = InterceptorSummary("b.example.com", accounts=())
    bound = InterceptorSummary("b.example.com", accounts=("system:serviceaccount:a:b",))
    for summaries, state, text in (
        ([silent, bound], State.WARNING, "a.example.com never answered"),
        ([unbound], State.WARNING, "not bound to an account"),
        ([bound], State.OK, "each bound to an account"),
        ([], State.OK, "no pod registers one"),
    ):
        found = find.interceptors(summaries, "vacate")
        assert (found.state, text in found.text) == (state, True)


@pytest.mark.parametrize("width", [40, 80])
def test_commands_stay_whole_and_texts_fit(width: int) -> None:
    long = Finding("webhook", State.FAILED, "word " * 40, (Remedy("Do " * 30, "kubectl " * 20),))
    lines = check_layout([long], width)
    assert all(len(line) <= width for line in lines if "kubectl" not in line)
    assert sum("kubectl" in line for line in lines) == 1
    assert lines[-1] == "1 check: 1 failed."


@pytest.mark.thorough
@pytest.mark.process
def test_an_embedded_cluster_without_a_manager(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "dir", "--no-evictions", "--nodes", "1", *FAST_PODS) as cluster:
        lab = Lab(cluster)
        ended = lab.vacate("check", "-o", "json")
        found = {one["check"]: one for one in json.loads(ended.out)["findings"]}
        assert (ended.code, json.loads(ended.out)["ok"]) == (1, False)
        assert found["manager"]["state"] == "failed"
        assert found["manager"]["remedies"][0]["command"] == "vacate manager"
        assert all(one["state"] == "ok" for name, one in found.items() if name != "manager"), found
        refused = lab.vacate("install", "--interceptor", "backup.example.com=shop/backup")
        assert refused.code == 1
        assert "this cluster was started by `vacate up`, and Vacate is part of it" in refused.err
