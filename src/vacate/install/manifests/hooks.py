"""The hooks interceptor: a process of its own, under an account that may do nothing else.

Jobs are another matter: who may create them in a namespace can act as every service account there. So the
right is a role that nobody has, and that an administrator binds in the namespaces where it is wanted.
"""

from __future__ import annotations

from vacate.api.identity import service_account_user
from vacate.api.installednames import HOOK_JOBS, HOOKS, HOOKS_SECRET, METRICS_PORT, labels
from vacate.api.objects import Obj
from vacate.install.manifests.confinement import hooks_confinement
from vacate.install.manifests.deployments import container_of, deployment_of, gate_options, mount
from vacate.install.manifests.roles import account_of, cluster_role_of, role_rule
from vacate.install.settings import Settings
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR
from vacate.wiring.hooks import HOOK_RULES, JOB_RULES

_COMPONENT = HOOKS.removeprefix("vacate-")
_CONFIG, _FILE, _SECRETS = "/etc/vacate/hooks", "hooks.yaml", "/etc/vacate/hooks-secret"


def hook_accounts(namespace: str) -> dict[str, tuple[str, ...]]:
    """Nobody else reports that a hook is done, unless the administrator says so: for interceptor_accounts."""
    return {HOOKS_INTERCEPTOR: (service_account_user(namespace, HOOKS),)}


def hooks(settings: Settings) -> list[Obj]:
    """All of it."""
    at_home = [
        # A right to create cannot be narrowed to a name: the name is not known before.
        role_rule("coordination.k8s.io", ["leases"], ["create"]),
        role_rule("coordination.k8s.io", ["leases"], ["get", "patch"], only=[HOOKS]),
    ]
    return [
        *account_of(HOOKS, [one.to_obj() for one in HOOK_RULES], at_home, settings),
        *hooks_confinement(settings),
        cluster_role_of(HOOK_JOBS, [one.to_obj() for one in JOB_RULES]),
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _meta(settings),
            "data": {_FILE: settings.hooks},
        },
        _deployment(settings),
        *([_network_policy(settings)] if settings.network_policy else []),
    ]


def _meta(settings: Settings) -> Obj:
    return {"name": HOOKS, "namespace": settings.namespace, "labels": labels(_COMPONENT)}


def _deployment(settings: Settings) -> Obj:
    """One copy: a turn outlasts the minute in which another one starts."""
    args = [
        "hooks",
        f"--config={_CONFIG}/{_FILE}",
        f"--lease-namespace={settings.namespace}",
        "--metrics-address=0.0.0.0",
        f"--metrics-port={METRICS_PORT}",
        *gate_options(settings),
    ]
    container = container_of(_COMPONENT, args, [{"name": "metrics", "containerPort": METRICS_PORT}], settings)
    made = deployment_of(HOOKS, 1, container, settings)
    mount(made, "config", _CONFIG, {"configMap": {"name": HOOKS}})
    # Authorities and tokens of targets, where they need any: the administrator makes the Secret.
    mount(made, "secret", _SECRETS, {"secret": {"secretName": HOOKS_SECRET, "optional": True}})
    return made


def _network_policy(settings: Settings) -> Obj:
    """Where targets are is for the allow-list to say."""
    metrics: Obj = {"ports": [{"port": METRICS_PORT, "protocol": "TCP"}]}
    if settings.metrics_sources:
        metrics["from"] = [{"ipBlock": {"cidr": one}} for one in settings.metrics_sources]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _meta(settings),
        "spec": {
            "podSelector": {"matchLabels": labels(_COMPONENT)},
            "policyTypes": ["Ingress"],
            "ingress": [metrics],
        },
    }
