"""What is rendered: complete, narrow, and unable to lock a cluster out."""

from __future__ import annotations

import itertools
import json
import math
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from support.certificates import Authority
from vacate.api.installednames import (
    CERTIFICATES,
    DEFAULT_NAMESPACE,
    HOOKS,
    INTERCEPTOR,
    INTERCEPTOR_DELETES,
    MANAGER,
    SHUTDOWN_AGENT,
    WEBHOOK,
)
from vacate.api.objects import Obj
from vacate.cli.main import cli
from vacate.crds.definition import definition
from vacate.errors import BadRequest
from vacate.eviction.registration import ALLOWED_KUBERNETES_NAMES
from vacate.httpserver.certificate import ServedCertificate
from vacate.install import Certificates, Monitoring, Settings, objects
from vacate.install.apply.uninstaller import removable
from vacate.install.objectkinds import kind_of, path_of
from vacate.install.settings import DEFAULT_HOOKS, FailurePolicy, ShutdownAgent
from vacate.webhook import evictionbridge, handler
from vacate.webhook.reviewer import PATHS

pytestmark = pytest.mark.unit

RULES = "rules: []"
EVERYTHING = Settings(
    pod_rules=RULES,
    monitoring=Monitoring.everything(),
    shutdown_agent=ShutdownAgent(kubelet_insecure_tls=True),
    hooks=DEFAULT_HOOKS,
)
VARIANTS = {
    "defaults": Settings(),
    "everything": EVERYTHING,
    "cert-manager": replace(EVERYTHING, certificates=Certificates.CERT_MANAGER),
    "guarded": replace(
        EVERYTHING,
        client_ca="PEM",
        client_names=("a",),
        webhook_sources=("10.0.0.0/8",),
        monitoring=replace(Monitoring.everything(), per_request=True),
    ),
    "bridge": replace(
        EVERYTHING,
        eviction_bridge=True,
        bridge_namespaces="drains=wait",
        max_interceptors=2,
        max_request_seconds=60,
    ),
    "reasons": replace(EVERYTHING, termination_reasons=True),
    "wrapper": replace(EVERYTHING, prestop_wrapper=True),
    "fencing jobs": replace(EVERYTHING, fencing_jobs=True),
    "outside": Settings(webhook_url="https://10.0.0.1:9443", ca_bundle=b"PEM", deploy_manager=False),
}
METRICS_PAGE = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()


def of_kind(kind: str, settings: Settings = EVERYTHING) -> list[Obj]:
    return [obj for obj in objects(settings) if obj["kind"] == kind]


FORCE_DELETIONS = "forcedeletions.record.vacate.dev"


def hooks(settings: Settings = EVERYTHING) -> dict[str, Obj]:
    found = [*of_kind("MutatingWebhookConfiguration", settings)]
    found += of_kind("ValidatingWebhookConfiguration", settings)
    return {hook["name"]: hook for one in found for hook in one["webhooks"]}


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_every_object_is_there_once_and_of_a_known_kind(settings: Settings) -> None:
    found = objects(settings)
    assert len({path_of(obj) for obj in found}) == len(found)
    assert found == objects(settings)
    json.dumps(found)
    for obj in found:
        assert kind_of(obj).namespaced == ("namespace" in obj["metadata"]), obj


def test_what_others_need_comes_first_and_webhooks_last() -> None:
    kinds = [obj["kind"] for obj in objects(EVERYTHING)]
    assert kinds[:2] == ["Namespace", "CustomResourceDefinition"]
    assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_whatever_was_installed_can_be_removed_and_webhooks_go_first(settings: Settings) -> None:
    found = [path_of(obj) for obj in removable(settings.namespace)]
    assert {path_of(obj) for obj in objects(settings)} <= set(found)
    assert len(found) == len(set(found))
    assert [path.split("/")[4] for path in found[:2]] == [
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    ]
    assert found[-1].endswith(f"/namespaces/{settings.namespace}")


def test_only_writes_of_requests_fail_closed() -> None:
    closed = {name for name, hook in hooks().items() if hook["failurePolicy"] == "Fail"}
    of_nodes = "lifecyclerequests.validate.vacate.dev"  # those of Kubernetes' own API, by nodes alone
    closed.remove(of_nodes)
    assert [one["name"] for one in hooks()[of_nodes]["matchConditions"]] == ["by-a-node"]
    kinds = ("evictionrequests", "evacuations")
    assert closed == {
        f"{hook}.vacate.dev"
        for kind in kinds
        for hook in (f"{kind}.mutate", f"{kind}.validate", f"deletion.{kind}.validate")
    }
    for name in closed:
        (resources,) = [rule["resources"] for rule in hooks()[name]["rules"]]
        assert resources in [[kind] for kind in kinds]


def test_failure_policies_can_be_chosen() -> None:
    ignore, fail = FailurePolicy.IGNORE, FailurePolicy.FAIL
    chosen = replace(
        EVERYTHING, request_failure_policy=ignore, status_failure_policy=fail, pod_failure_policy=fail
    )
    before, after = hooks(), hooks(chosen)
    same = {name for name in before if before[name]["failurePolicy"] == after[name]["failurePolicy"]}
    assert same == {FORCE_DELETIONS}  # which only records
    assert after[FORCE_DELETIONS]["failurePolicy"] == "Ignore"


def test_force_deletions_are_recorded_where_the_guard_holds() -> None:
    def chosen(settings: Settings) -> list[Obj]:
        expressions: list[Obj] = hooks(settings)[FORCE_DELETIONS]["namespaceSelector"]["matchExpressions"]
        return expressions[1:]

    assert chosen(EVERYTHING) == [
        {"key": "vacate.dev/force-delete-guard", "operator": "In", "values": ["enabled"]}
    ]
    assert chosen(replace(EVERYTHING, guard_unlabelled=True)) == []  # and where it is switched off, too


@pytest.mark.parametrize("name", hooks())
def test_every_webhook_is_narrow_quick_and_without_side_effects(name: str) -> None:
    hook = hooks()[name]
    assert hook["matchConditions"]
    assert hook["timeoutSeconds"] <= 10
    assert hook["sideEffects"] == ("NoneOnDryRun" if name == FORCE_DELETIONS else "None")
    assert hook["admissionReviewVersions"] == ["v1"]
    for rule in hook["rules"]:
        assert "*" not in json.dumps(rule)


def test_what_the_webhook_limits_itself_to_is_over_before_api_servers_give_up() -> None:
    waits: dict[str, int] = {}
    for hook in hooks(replace(VARIANTS["bridge"], termination_reasons=True)).values():
        path = hook["clientConfig"]["service"]["path"]
        waits[path] = max(hook["timeoutSeconds"], waits.get(path, 0))
    assert waits["/validate/evictions"] > evictionbridge.ANSWER_SECONDS
    limited = {path for path in PATHS if math.isfinite(PATHS[path].answer_seconds)}
    assert limited == {"/annotate/reasons", "/record/forcedeletions"}
    assert all(waits[path] > PATHS[path].answer_seconds for path in limited)
    assert max(waits.values()) > handler.ANSWER_SECONDS


def test_no_webhook_sees_pods_of_the_system_or_of_its_own_namespace() -> None:
    about_pods = [hook for hook in hooks().values() if hook["rules"][0]["resources"] == ["pods"]]
    assert len(about_pods) == 4
    for hook in about_pods:
        expression, *chosen = hook["namespaceSelector"]["matchExpressions"]
        assert bool(chosen) is hook["name"].startswith(("workloadpods.", "forcedeletions."))
        assert expression["operator"] == "NotIn"
        assert {"kube-system", "vacate-system"} <= set(expression["values"])


def test_the_bridge_is_asked_for_fails_open_soon_and_never_sees_its_own_namespace() -> None:
    name = "evictions.validate.vacate.dev"
    assert name not in hooks()
    bridged = Settings(eviction_bridge=True, bridge_namespaces="!legacy,team in (a,b),tier!=dev")
    hook = hooks(bridged)[name]
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Ignore", 2)
    assert hook["sideEffects"] == "NoneOnDryRun"
    assert hook["rules"][0]["resources"] == ["pods/eviction"]
    own = ["kube-system", "kube-public", "kube-node-lease", "vacate-system"]
    assert hook["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": own},
        {"key": "legacy", "operator": "DoesNotExist"},
        {"key": "team", "operator": "In", "values": ["a", "b"]},
        {"key": "tier", "operator": "NotIn", "values": ["dev"]},
    ]
    assert hooks(Settings(eviction_bridge=True))[name]["namespaceSelector"]["matchExpressions"] == [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": own}
    ]


@pytest.mark.parametrize("selector", ["tier>3", "team=a,tier<3"])
def test_no_comparison_becomes_another_condition_on_namespaces(selector: str) -> None:
    with pytest.raises(BadRequest, match="compares numbers"):
        hooks(Settings(eviction_bridge=True, bridge_namespaces=selector))


def test_only_with_the_bridge_may_the_webhook_delete_pods() -> None:
    def verbs(settings: Settings) -> set[str]:
        role = next(one for one in of_kind("ClusterRole", settings) if one["metadata"]["name"] == WEBHOOK)
        return {verb for rule in role["rules"] if "pods" in rule["resources"] for verb in rule["verbs"]}

    assert verbs(EVERYTHING) == {"get"}
    assert verbs(VARIANTS["bridge"]) == {"get", "delete"}


def test_without_rules_no_new_pod_is_sent_to_the_webhook() -> None:
    assert "pods.mutate.vacate.dev" not in hooks(Settings())
    assert not [name for name in hooks(Settings(pod_webhooks=False)) if name.startswith("pods")]


def test_new_pods_of_workloads_are_seen_where_a_namespace_says_so_and_start_without_the_webhook() -> None:
    name = "workloadpods.mutate.vacate.dev"
    hook = hooks(Settings())[name]
    chosen = hook["namespaceSelector"]["matchExpressions"][1]
    assert chosen == {"key": "vacate.dev/move-before-eviction", "operator": "Exists"}
    assert (hook["failurePolicy"], hook["timeoutSeconds"]) == ("Ignore", 3)
    assert [one for one in hooks(EVERYTHING) if one.endswith("pods.mutate.vacate.dev")][-1] == name
    assert name not in hooks(Settings(pod_webhooks=False))


def test_a_webhook_outside_is_reached_by_its_address() -> None:
    outside = VARIANTS["outside"]
    for hook in hooks(outside).values():
        assert hook["clientConfig"]["url"].startswith("https://10.0.0.1:9443/")
        assert hook["clientConfig"]["caBundle"] == "UEVN"
    assert not of_kind("Deployment", outside)
    assert not of_kind("NetworkPolicy", outside)


@pytest.mark.parametrize("name", [MANAGER, WEBHOOK])
def test_processes_need_no_privilege_and_survive_a_node(name: str) -> None:
    (deployment,) = [one for one in of_kind("Deployment") if one["metadata"]["name"] == name]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert deployment["spec"]["replicas"] == 2
    assert pod["affinity"]["podAntiAffinity"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["livenessProbe"]
    assert container["readinessProbe"]
    assert container["resources"]["requests"]
    (budget,) = [one for one in of_kind("PodDisruptionBudget") if one["metadata"]["name"] == name]
    assert budget["spec"]["selector"] == deployment["spec"]["selector"]


@pytest.mark.parametrize("name", [MANAGER, WEBHOOK])
def test_a_copy_is_found_ready_within_seconds_and_unready_only_after_half_a_minute(name: str) -> None:
    (deployment,) = [one for one in of_kind("Deployment") if one["metadata"]["name"] == name]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    probe = container["readinessProbe"]
    assert probe["periodSeconds"] <= 2
    assert probe["periodSeconds"] * probe["failureThreshold"] >= 30


def test_the_webhook_goes_on_until_nobody_sends_reviews_any_more() -> None:
    found = of_kind("Deployment", Settings())
    (deployment,) = [one for one in found if one["metadata"]["name"] == WEBHOOK]
    pod = deployment["spec"]["template"]["spec"]
    command = cli.get_command(click.Context(cli), "webhook")
    assert command is not None
    given = [arg for arg in pod["containers"][0]["args"][1:] if not arg.startswith("--cert-dir")]
    chosen = command.make_context("webhook", given).params
    assert chosen["delay"].total_seconds() == 5
    needed = (chosen["delay"] + chosen["grace"]).total_seconds()
    assert pod["terminationGracePeriodSeconds"] >= needed + 5


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_nothing_can_be_written_into_a_pod(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even keys on their way into OpenSSL: they pass through memory."""
    for deployment in of_kind("Deployment", settings):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert all(mount["readOnly"] for mount in container.get("volumeMounts", []))
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    pair = Authority().issue("hook")
    ServedCertificate().use(pair.certificate, pair.key)


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_the_arguments_of_processes_are_options_of_the_commands(settings: Settings) -> None:
    for deployment in of_kind("Deployment", replace(settings, allowed_interceptors=("a.k8s.io",))):
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        name, *args = container["args"]
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        assert {arg.partition("=")[0] for arg in args} <= known, args


def test_metrics_name_no_pod_unless_that_is_asked_for() -> None:
    def asked(settings: Settings) -> list[str]:
        of = [one["spec"]["template"]["spec"]["containers"][0] for one in of_kind("Deployment", settings)]
        return [arg for one in of for arg in one["args"] if "per-request" in arg]

    assert asked(Settings()) == []
    assert asked(Settings(monitoring=Monitoring(per_request=True))) == ["--metrics-per-request"]


def test_no_role_has_more_than_names() -> None:
    for role in [*of_kind("ClusterRole"), *of_kind("Role")]:
        for rule in role["rules"]:
            assert "*" not in itertools.chain(*rule.values()), role["metadata"]["name"]


def test_secrets_and_leases_are_only_those_at_home() -> None:
    # Whether nodes report is read from their Leases, and from nothing else of them.
    reports = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}
    # Users and the bridge see whether a manager works from its one Lease.
    expected = (reports, {**reports, "resourceNames": ["vacate-manager"]})
    rules = [rule for role in of_kind("ClusterRole") for rule in role["rules"] if rule not in expected]
    everywhere = {one for rule in rules for one in rule["resources"]}
    assert not everywhere & {"secrets", "leases", "configmaps"}
    for role in of_kind("Role"):
        named = [rule for rule in role["rules"] if rule["verbs"] != ["create"]]
        assert all(rule["resourceNames"] for rule in named)


def test_the_manager_may_create_jobs_at_home_and_only_when_asked() -> None:
    def jobs(settings: Settings) -> list[str]:
        made = objects(settings)
        bound = {
            (one["roleRef"]["kind"], one["roleRef"]["name"])
            for one in made
            if one["kind"] in ("RoleBinding", "ClusterRoleBinding")
            and any(subject["name"] == MANAGER for subject in one["subjects"])
        }
        roles = [one for one in made if (one["kind"], one["metadata"]["name"]) in bound]
        assert roles
        return [one["kind"] for one in roles if any("jobs" in rule["resources"] for rule in one["rules"])]

    assert jobs(EVERYTHING) == []
    assert jobs(replace(EVERYTHING, fencing_jobs=True)) == ["Role"]


def test_an_interceptor_may_delete_no_pods_unless_it_is_given_that_role_too() -> None:
    found = {role["metadata"]["name"]: role["rules"] for role in of_kind("ClusterRole")}
    assert "delete" not in {verb for rule in found[INTERCEPTOR] for verb in rule["verbs"]}
    assert found[INTERCEPTOR_DELETES] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}]
    bound = [one["roleRef"]["name"] for one in of_kind("ClusterRoleBinding")]
    assert not {INTERCEPTOR, INTERCEPTOR_DELETES} & set(bound)


def test_roles_of_users_are_part_of_those_of_kubernetes() -> None:
    aggregated: dict[str, Any] = {}
    for role in of_kind("ClusterRole"):
        marks = [key for key in role["metadata"]["labels"] if key.startswith("rbac.")]
        aggregated[role["metadata"]["name"]] = [mark.rpartition("-")[2] for mark in marks]
    assert aggregated == {
        "vacate-manager": [], "vacate-webhook": [], "vacate-certificates": [], "vacate-interceptor": [],
        "vacate-interceptor-pod-deletion": [], "vacate-node-maintainer": [], "vacate-node-fencer": [],
        "vacate-shutdown-requester": [],
        "vacate-shutdown-agent": [], "vacate-hooks": [], "vacate-hooks-jobs": [],
        "vacate-requester": ["edit"], "vacate-viewer": ["view"],
    }  # fmt: skip


@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS)
def test_a_listener_may_touch_no_secret_and_no_webhook_configuration(settings: Settings) -> None:
    dangerous = {"secrets", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
    for role in [*of_kind("ClusterRole", settings), *of_kind("Role", settings)]:
        touched = {one for rule in role["rules"] for one in rule["resources"]} & dangerous
        assert not touched or role["metadata"]["name"] == CERTIFICATES


def test_sources_are_named_where_they_are_known() -> None:
    given = replace(
        EVERYTHING, webhook_sources=("10.0.0.0/24",), metrics_sources=("10.1.0.0/16", "fd00::/64")
    )
    found = {
        one["metadata"]["name"]: one["spec"].get("ingress", []) for one in of_kind("NetworkPolicy", given)
    }
    metrics = {
        "ports": [{"port": 8085, "protocol": "TCP"}],
        "from": [{"ipBlock": {"cidr": "10.1.0.0/16"}}, {"ipBlock": {"cidr": "fd00::/64"}}],
    }
    reviews = {"ports": [{"port": 9443, "protocol": "TCP"}], "from": [{"ipBlock": {"cidr": "10.0.0.0/24"}}]}
    agents = {SHUTDOWN_AGENT: [metrics]}
    assert found == {
        MANAGER: [metrics],
        WEBHOOK: [reviews, metrics],
        CERTIFICATES: [],
        HOOKS: [metrics],
        **agents,
    }
    assert all(
        "from" not in rule for one in of_kind("NetworkPolicy") for rule in one["spec"].get("ingress", [])
    )


def test_a_client_ca_is_mounted_and_demanded() -> None:
    given = replace(EVERYTHING, client_ca="PEM\n", client_names=("kube-apiserver",))
    (deployment,) = [one for one in of_kind("Deployment", given) if one["metadata"]["name"] == WEBHOOK]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {"--client-ca=/etc/vacate/client-ca/ca.crt", "--client-name=kube-apiserver"} <= set(
        container["args"]
    )
    (found,) = [one for one in of_kind("ConfigMap", given) if one["metadata"]["name"].endswith("client-ca")]
    assert found["data"] == {"ca.crt": "PEM\n"}


def test_who_keeps_the_certificates_listens_nowhere_and_is_reached_by_nobody() -> None:
    (deployment,) = [one for one in of_kind("Deployment") if one["metadata"]["name"] == CERTIFICATES]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert "ports" not in container
    assert not [one for one in of_kind("Service") if one["metadata"]["name"] == CERTIFICATES]
    (policy,) = [one for one in of_kind("NetworkPolicy") if one["metadata"]["name"] == CERTIFICATES]
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert not policy["spec"].get("ingress")
    command = cli.get_command(click.Context(cli), "certificates")
    assert command is not None
    options = {option for parameter in command.params for option in parameter.opts}
    assert not options & {"--port", "--address", "--metrics-port", "--metrics-address"}


@pytest.mark.parametrize("settings", [Settings(), VARIANTS["cert-manager"]], ids=["self", "cert-manager"])
def test_the_webhook_mounts_its_certificate_and_never_the_key_of_the_ca(settings: Settings) -> None:
    (deployment,) = [one for one in of_kind("Deployment", settings) if one["metadata"]["name"] == WEBHOOK]
    (volume,) = [one for one in deployment["spec"]["template"]["spec"]["volumes"] if one["name"] == "tls"]
    assert [one["key"] for one in volume["secret"]["items"]] == ["tls.crt", "tls.key"]


def test_with_cert_manager_the_webhook_may_touch_no_secret_and_no_configuration() -> None:
    settings = VARIANTS["cert-manager"]
    rules = [rule for role in of_kind("ClusterRole", settings) for rule in role["rules"]]
    assert not [rule for rule in rules if rule["apiGroups"] == ["admissionregistration.k8s.io"]]
    assert [role["metadata"]["name"] for role in of_kind("Role", settings)] == [MANAGER, HOOKS]
    for one in of_kind("MutatingWebhookConfiguration", settings):
        assert one["metadata"]["annotations"] == {
            "cert-manager.io/inject-ca-from": "vacate-system/vacate-webhook"
        }


def test_names_of_kubernetes_and_those_allowed_are_in_the_definition() -> None:
    text = json.dumps(definition(["mine.k8s.io"]))
    assert all(f"'{name}'" in text for name in [*ALLOWED_KUBERNETES_NAMES, "mine.k8s.io"])
    assert "mine.k8s.io" not in json.dumps(definition())


def test_alerts_and_dashboard_speak_of_metrics_that_exist() -> None:
    (alerts,) = of_kind("PrometheusRule")
    expressions = [rule["expr"] for group in alerts["spec"]["groups"] for rule in group["rules"]]
    (board,) = of_kind("ConfigMap", Settings(monitoring=Monitoring(dashboard=True)))
    panels = json.loads(board["data"]["vacate.json"])["panels"]
    expressions += [target["expr"] for panel in panels for target in panel["targets"]]
    found = set(re.findall(r"\b(?:vacate|evictionrequest|workqueue|leader)_\w+", " ".join(expressions)))
    for metric in found:
        assert metric.removesuffix("_bucket") in METRICS_PAGE, metric
    assert {
        "vacate_evictions_total",
        "workqueue_depth",
        "vacate_interceptor_oldest_turn_seconds",
    } <= found
    # A manager shows these only when it is asked to: everyone in the cluster could read the names of pods.
    assert not [metric for metric in found if metric.startswith("evictionrequest_controller")]


@pytest.mark.parametrize("settings", [Settings(), EVERYTHING], ids=["default", "everything"])
def test_another_namespace_is_another_everywhere(settings: Settings) -> None:
    """Kustomize changes neither expressions nor arguments: who wants another has it printed."""
    made = json.dumps(objects(replace(settings, namespace="elsewhere")))
    assert DEFAULT_NAMESPACE not in made
    assert "system:serviceaccount:elsewhere:vacate-manager" in made
