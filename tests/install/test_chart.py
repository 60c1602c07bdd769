"""The Helm chart, rendered by Helm, has the objects of `vacate install --print`, with whatever values."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.realcluster.helm import Helm, Values, chart_folder, helm_or_reason, objects_of
from vacate import __version__
from vacate.api.objects import Obj
from vacate.install import Certificates, Monitoring, Settings, objects
from vacate.install.manifests.hooks import hook_accounts
from vacate.install.objectkinds import path_of
from vacate.install.settings import (
    Confinement,
    FailurePolicy,
    OwnPods,
    ShutdownAgent,
    ShutdownAgentMode,
)

RULES = "rules:\n  - interceptors:\n      - {name: a.b, priority: 1}\n"
HOOKS = "targets:\n  - name: flush\n    url: https://flush.shop.svc/hook\n    namespaces: [shop]\n"
BUCKETS = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nshutdownGracePeriod: 9s\n"
OWN_PODS: dict[str, Any] = {
    "labels": {"team": "platform", "number": "1"},
    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
    "tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    ],
    "priorityClassName": "system-cluster-critical",
    "resources": {"manager": {"limits": {"memory": "3Gi"}}, "hooks": {"requests": {"cpu": "1"}}},
}
CASES: dict[str, tuple[Values, Settings]] = {
    "defaults": ({}, Settings()),
    "another namespace": ({}, Settings(namespace="elsewhere")),
    "cert-manager": ({"certificates": "cert-manager"}, Settings(certificates=Certificates.CERT_MANAGER)),
    "monitoring": (
        {"monitoring": {"serviceMonitors": True, "alerts": True, "dashboard": True}},
        Settings(monitoring=Monitoring.everything()),
    ),
    "alerts only": ({"monitoring": {"alerts": True}}, Settings(monitoring=Monitoring(alerts=True))),
    "image": (
        {
            "image": "here/vacate@sha256:" + "0" * 64,
            "imagePullPolicy": "Never",
            "imagePullSecrets": ["a", "b"],
        },
        Settings(image="here/vacate@sha256:" + "0" * 64, pull_policy="Never", pull_secrets=("a", "b")),
    ),
    "allowed": (
        {"allowedInterceptors": ["a.k8s.io", "b.k8s.io"]},
        Settings(allowed_interceptors=("a.k8s.io", "b.k8s.io")),
    ),
    "accounts": (
        {
            "interceptorAccounts": {"a.example.com": ["x/one", "x/two"], "b.example.com": ["y/three"]},
            "managerUsers": ["ann", "bob"],
        },
        Settings(
            interceptor_accounts={
                "a.example.com": ("system:serviceaccount:x:one", "system:serviceaccount:x:two"),
                "b.example.com": ("system:serviceaccount:y:three",),
            },
            manager_users=("ann", "bob"),
        ),
    ),
    "lifecycle": (
        {"featureGates": "LifecycleAPI=true", "lifecycleController": "off"},
        Settings(feature_gates="LifecycleAPI=true", lifecycle=True, lifecycle_controller="off"),
    ),
    "limits": (
        {
            "limits": {
                "interceptors": 0,
                "requestSeconds": 86400,
                "drainingNodes": "10%",
                "topologyKey": "example.com/rack",
            }
        },
        Settings(
            max_interceptors=0,
            max_request_seconds=86400,
            max_draining_nodes="10%",
            topology_key="example.com/rack",
        ),
    ),
    "replicas": (
        {"manager": {"replicas": 1}, "webhook": {"replicas": 3}},
        Settings(manager_replicas=1, webhook_replicas=3),
    ),
    "policies": (
        {"failurePolicies": {"requests": "Ignore", "status": "Fail", "pods": "Fail"}},
        Settings(
            request_failure_policy=FailurePolicy.IGNORE,
            status_failure_policy=FailurePolicy.FAIL,
            pod_failure_policy=FailurePolicy.FAIL,
        ),
    ),
    "less": (
        {"podWebhooks": False, "networkPolicy": False, "definitions": False},
        Settings(pod_webhooks=False, network_policy=False, definitions=False),
    ),
    "guard": ({"guardForceDeletion": True}, Settings(guard_unlabelled=True)),
    "bridge": ({"evictionBridge": {"enabled": True}}, Settings(eviction_bridge=True)),
    "bridge of some namespaces": (
        {
            "evictionBridge": {
                "enabled": True,
                "namespaceSelector": {
                    "matchLabels": {"drains": "wait", "number": "1"},
                    "matchExpressions": [
                        {"key": "team", "operator": "In", "values": ["a", "b"]},
                        {"key": "unmoved", "operator": "DoesNotExist"},
                    ],
                },
                "waitSeconds": 90,
            }
        },
        Settings(
            eviction_bridge=True,
            bridge_namespaces="drains=wait,number=1,team in (a,b),!unmoved",
            bridge_wait_seconds=90,
        ),
    ),
    "reasons": ({"terminationReasons": True}, Settings(termination_reasons=True)),
    "wrapper": ({"preStopWrapper": True}, Settings(prestop_wrapper=True)),
    "audited": (
        {"confine": "audit", "shutdownAgent": {"enabled": True}},
        Settings(confine=Confinement.AUDIT, shutdown_agent=ShutdownAgent()),
    ),
    "unconfined": ({"confine": "off"}, Settings(confine=Confinement.OFF)),
    "unconfined, as YAML reads it": (
        {"confine": False, "shutdownAgent": {"enabled": True}},
        Settings(confine=Confinement.OFF, shutdown_agent=ShutdownAgent()),
    ),
    "fencing jobs": ({"fencingJobs": True}, Settings(fencing_jobs=True)),
    "bridge and rules": (
        {"evictionBridge": {"enabled": True}, "podRules": RULES},
        Settings(eviction_bridge=True, pod_rules=RULES),
    ),
    "rules": ({"podRules": RULES}, Settings(pod_rules=RULES)),
    "sources": (
        {"networkPolicySources": {"webhook": ["10.0.0.0/24", "fd00::/64"], "metrics": ["10.1.0.0/16"]}},
        Settings(webhook_sources=("10.0.0.0/24", "fd00::/64"), metrics_sources=("10.1.0.0/16",)),
    ),
    "client certificates": (
        {"webhook": {"clientCA": "PEM\nPEM\n", "clientNames": ["a", "b"]}, "podRules": RULES},
        Settings(client_ca="PEM\nPEM\n", client_names=("a", "b"), pod_rules=RULES),
    ),
    "series of requests": (
        {"monitoring": {"perRequest": True}},
        Settings(monitoring=Monitoring(per_request=True)),
    ),
    "rules and cert-manager": (
        {"podRules": RULES, "certificates": "cert-manager", "podWebhooks": False},
        Settings(pod_rules=RULES, certificates=Certificates.CERT_MANAGER, pod_webhooks=False),
    ),
    "shutdown agent": ({"shutdownAgent": {"enabled": True}}, Settings(shutdown_agent=ShutdownAgent())),
    "shutdown agent beside kubelets": (
        {
            "shutdownAgent": {
                "enabled": True,
                "mode": "beside-kubelet",
                "namespace": "nodes",
                "kubeletInsecureTLS": True,
                "config": BUCKETS,
            },
            "featureGates": "EvictionRequestAPI=false",
            "imagePullSecrets": ["a"],
            "networkPolicySources": {"metrics": ["10.1.0.0/16"]},
        },
        Settings(
            shutdown_agent=ShutdownAgent(ShutdownAgentMode.BESIDE_KUBELET, BUCKETS, "nodes", True),
            feature_gates="EvictionRequestAPI=false",
            pull_secrets=("a",),
            metrics_sources=("10.1.0.0/16",),
        ),
    ),
    "hooks": (
        {
            "hooks": {"enabled": True, "config": HOOKS},
            "interceptorAccounts": {"a.example.com": ["x/one"]},
            "networkPolicySources": {"metrics": ["10.1.0.0/16"]},
        },
        Settings(
            namespace="elsewhere",
            hooks=HOOKS,
            interceptor_accounts={
                "a.example.com": ("system:serviceaccount:x:one",),
                "hooks.vacate.dev": ("system:serviceaccount:elsewhere:vacate-hooks",),
            },
            metrics_sources=("10.1.0.0/16",),
        ),
    ),
    "pages": (
        {
            "web": {
                "enabled": True,
                "hosts": ["vacate.example.com", "10.0.0.1:8443"],
                "dashboard": "https://grafana.example.com/d/vacate?orgId=1",
                "url": "https://vacate.example.com",
            },
            "monitoring": {"dashboard": True},
        },
        Settings(
            web=True,
            web_hosts=("vacate.example.com", "10.0.0.1:8443"),
            web_dashboard="https://grafana.example.com/d/vacate?orgId=1",
            web_url="https://vacate.example.com",
            monitoring=Monitoring(dashboard=True),
        ),
    ),
    "pages without a proxy": (
        {"web": {"enabled": True}, "networkPolicy": False},
        Settings(web=True, network_policy=False),
    ),
    "hooks alone": (
        {"hooks": {"enabled": True, "config": HOOKS}},
        Settings(hooks=HOOKS, interceptor_accounts=hook_accounts("vacate-system")),
    ),
    "hooks of another account": (
        {
            "hooks": {"enabled": True, "config": HOOKS},
            "interceptorAccounts": {"hooks.vacate.dev": ["shop/own"]},
        },
        Settings(hooks=HOOKS, interceptor_accounts={"hooks.vacate.dev": ("system:serviceaccount:shop:own",)}),
    ),
    "own pods": (
        {"ownPods": OWN_PODS, "hooks": {"enabled": True, "config": HOOKS}},
        Settings(
            own_pods=OwnPods(
                labels=OWN_PODS["labels"],
                node_selector=OWN_PODS["nodeSelector"],
                tolerations=tuple(OWN_PODS["tolerations"]),
                affinity=OWN_PODS["affinity"],
                topology_spread_constraints=tuple(OWN_PODS["topologySpreadConstraints"]),
                priority_class_name=OWN_PODS["priorityClassName"],
                resources=OWN_PODS["resources"],
            ),
            hooks=HOOKS,
            interceptor_accounts=hook_accounts("vacate-system"),
        ),
    ),
    "gates": (
        {"featureGates": "EvictionRequestAPI=false"},
        Settings(feature_gates="EvictionRequestAPI=false"),
    ),
}


@pytest.fixture
def helm(tmp_path: Path) -> Helm:
    program, reason = helm_or_reason()
    if program is None:
        pytest.skip(reason)
    return Helm(program, tmp_path)


@pytest.mark.process
def test_helm_has_nothing_to_say_against_the_chart(helm: Helm) -> None:
    assert "1 chart(s) linted, 0 chart(s) failed" in helm.run("lint", "--strict", str(chart_folder()))


@pytest.mark.process
@pytest.mark.parametrize("case", CASES)
def test_the_chart_has_the_objects_of_the_settings(case: str, helm: Helm) -> None:
    values, settings = CASES[case]
    found = helm.template({**values, "createNamespace": True}, settings.namespace)
    assert _by_path(found) == _by_path(_kept(objects(settings)))


REFUSED: dict[str, Values] = {
    "replica": {"manager": {"replica": 2}},  # no such value
    "certificates": {"certificates": "letsencrypt"},
    "evictionBridge": {"evictionBridge": True},
    "app.kubernetes.io/name": {"ownPods": {"labels": {"app.kubernetes.io/name": "mine"}}},
    "--set image=registry.example.com/vacate": {"image": ""},
}


@pytest.mark.process
@pytest.mark.parametrize("named", REFUSED)
def test_a_value_that_cannot_be_used_is_named(named: str, helm: Helm) -> None:
    given = helm.values({"image": "here/vacate:1", **REFUSED[named]})
    done = helm.ran("template", "vacate", str(chart_folder()), "-f", given, "--kube-version", "1.36.0")
    assert done.returncode != 0
    assert named in done.stderr


@pytest.mark.process
def test_what_helm_tests_runs_where_the_manager_could(helm: Helm) -> None:
    given = helm.values({"image": "here/vacate:1", "ownPods": OWN_PODS, "imagePullSecrets": ["a"]})
    (pod,) = objects_of(
        helm.run("template", "vacate", str(chart_folder()), "-f", given, "-s", "templates/tests/check.yaml")
    )
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    assert (pod["spec"]["serviceAccountName"], pod["spec"]["containers"][0]["args"]) == (
        "vacate-manager",
        ["check"],
    )
    assert pod["spec"]["tolerations"] == OWN_PODS["tolerations"]


@pytest.mark.process
def test_the_chart_leaves_the_namespace_to_helm(helm: Helm) -> None:
    kinds = [obj["kind"] for obj in helm.template({}, "x")]
    assert "Namespace" not in kinds
    assert "Deployment" in kinds


@pytest.mark.thorough
@pytest.mark.unit
def test_the_chart_is_of_this_version() -> None:
    chart = yaml.safe_load((chart_folder() / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.unit
def test_every_value_is_used() -> None:
    """Each case gives other objects than the defaults, so that no value is without effect."""
    defaults = _by_path(objects(Settings()))
    for case, (_, settings) in CASES.items():
        same = _by_path(objects(replace(settings))) == defaults
        assert same is (case == "defaults"), case


def _by_path(found: list[Obj]) -> dict[str, Obj]:
    paths = {path_of(obj): obj for obj in found}
    assert len(paths) == len(found)
    return paths


def _kept(found: list[Obj]) -> list[Obj]:
    """With what is for Helm alone: the definition stays when the release goes."""
    found = copy.deepcopy(found)
    for obj in found:
        if obj["kind"] == "CustomResourceDefinition":
            obj["metadata"].setdefault("annotations", {})["helm.sh/resource-policy"] = "keep"
    return found
