"""The processes: manager and webhook, two copies of each, on different nodes where there are several.

And the rotator of the webhook's certificates, of which one is enough: what it does is due days ahead.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.identity import service_account_user
from vacate.api.installednames import (
    CERTIFICATES,
    CLIENT_CA_CONFIG_MAP,
    MANAGER,
    METRICS_PORT,
    PART_OF,
    REASONS_PORT,
    RULES_CONFIG_MAP,
    SHUTDOWN_AGENT,
    TLS_SECRET,
    WEBHOOK,
    WEBHOOK_PORT,
    labels,
)
from vacate.api.objects import Obj
from vacate.install.settings import Settings

# A Service learns with a delay that a pod is terminating: until then it still receives reviews.
_DELAY_SECONDS = 5
_GRACE_SECONDS = 30  # of the pod: the delay, what is under way (ten seconds), and room to spare
_CERTIFICATES, _RULES, _RULES_FILE = "/etc/vacate/tls", "/etc/vacate/rules", "rules.yaml"
_CLIENT_CA, _CLIENT_CA_FILE = "/etc/vacate/client-ca", "ca.crt"


def namespace(settings: Settings) -> Obj:
    """A namespace of its own, for pods that need no privilege."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    meta = {"name": settings.namespace, "labels": {**PART_OF, **levels}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def manager(settings: Settings) -> list[Obj]:
    """The controllers; one copy works, the other is ready to take over."""
    args = [
        "manager",
        f"--lease-namespace={settings.namespace}",
        "--metrics-address=0.0.0.0",
        f"--metrics-port={METRICS_PORT}",
        *_limits(settings),
        *_drain_limits(settings),
        *_lifecycle(settings),
        *([f"--fencing-job-namespace={settings.namespace}"] if settings.fencing_jobs else []),
        *(["--guard-node-deletion"] if settings.guard_unlabelled else []),
        *(["--metrics-per-request"] if settings.monitoring.per_request else []),
        *gate_options(settings),
    ]
    ports = [{"name": "metrics", "containerPort": METRICS_PORT}]
    container = container_of("manager", args, ports, settings)
    return [
        deployment_of(MANAGER, settings.manager_replicas, container, settings),
        _budget(MANAGER, settings),
        _service(MANAGER, [_port("metrics", METRICS_PORT, METRICS_PORT)], settings),
    ]


def webhook(settings: Settings) -> list[Obj]:
    """The admission webhook; all copies answer."""
    args = [
        "webhook",
        f"--port={WEBHOOK_PORT}",
        "--metrics-address=0.0.0.0",
        f"--metrics-port={METRICS_PORT}",
        f"--cert-dir={_CERTIFICATES}",
        f"--shutdown-delay={_DELAY_SECONDS}s",
        *(f"--allow-interceptor={name}" for name in settings.allowed_interceptors),
        *_authority(settings),
        *([f"--rules={_RULES}/{_RULES_FILE}"] if settings.pod_rules else []),
        *([f"--client-ca={_CLIENT_CA}/{_CLIENT_CA_FILE}"] if settings.client_ca else []),
        *(f"--client-name={name}" for name in settings.client_names if settings.client_ca),
        *_bridge(settings),
        *(["--termination-reasons"] if settings.termination_reasons else []),
        *_wrapping(settings),
        *gate_options(settings),
    ]
    ports = [
        {"name": "https", "containerPort": WEBHOOK_PORT},
        {"name": "metrics", "containerPort": METRICS_PORT},
    ]
    service_ports = [_port("https", 443, WEBHOOK_PORT), _port("metrics", METRICS_PORT, METRICS_PORT)]
    if settings.prestop_wrapper:
        ports.append({"name": "reasons", "containerPort": REASONS_PORT})
        service_ports.append(_port("reasons", REASONS_PORT, REASONS_PORT))
    container = container_of("webhook", args, ports, settings)
    deployment = deployment_of(WEBHOOK, settings.webhook_replicas, container, settings)
    # The Secret may hold the CA's key as well, which is no business of a listener.
    files_served = ("tls.crt", "tls.key", *(["ca.crt"] if settings.prestop_wrapper else []))
    items = [{"key": key, "path": key} for key in files_served]
    mount(deployment, "tls", _CERTIFICATES, {"secret": {"secretName": TLS_SECRET, "items": items}})
    files = []
    if settings.pod_rules:
        files.append(_config_map(RULES_CONFIG_MAP, _RULES_FILE, settings.pod_rules, settings))
        mount(deployment, "rules", _RULES, {"configMap": {"name": RULES_CONFIG_MAP}})
    if settings.client_ca:
        files.append(_config_map(CLIENT_CA_CONFIG_MAP, _CLIENT_CA_FILE, settings.client_ca, settings))
        mount(deployment, "client-ca", _CLIENT_CA, {"configMap": {"name": CLIENT_CA_CONFIG_MAP}})
    # The Service comes first: pods that start after it find its address in their environment.
    return [_service(WEBHOOK, service_ports, settings), *files, deployment, _budget(WEBHOOK, settings)]


def certificates(settings: Settings) -> list[Obj]:
    """The rotator. It listens nowhere and has no probes: the webhook's metrics show if it fails."""
    args = ["certificates", f"--namespace={settings.namespace}"]
    container = container_of("certificates", args, [], settings)
    return [deployment_of(CERTIFICATES, 1, container, settings)]


def _config_map(name: str, file: str, text: str, settings: Settings) -> Obj:
    meta = {"name": name, "namespace": settings.namespace, "labels": labels("webhook")}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {file: text}}


def _limits(settings: Settings) -> list[str]:
    made = []
    if settings.max_interceptors is not None:
        made.append(f"--max-interceptors={settings.max_interceptors}")
    if settings.max_request_seconds is not None:
        made.append(f"--max-request-duration={settings.max_request_seconds}s")
    return made


def _lifecycle(settings: Settings) -> list[str]:
    chosen = settings.lifecycle_controller
    return [] if chosen == "auto" else [f"--lifecycle-controller={chosen}"]


def _drain_limits(settings: Settings) -> list[str]:
    made = []
    if settings.max_draining_nodes is not None:
        made.append(f"--max-draining-nodes={settings.max_draining_nodes}")
    if settings.topology_key:
        made.append(f"--topology-key={settings.topology_key}")
    return made


def _authority(settings: Settings) -> list[str]:
    """Who reports for whom, and as whom the managers work."""
    bound = [
        f"--interceptor={name}={'/'.join(user.split(':')[2:])}"
        for name, users in settings.interceptor_accounts.items()
        for user in users
    ]
    made = [*bound, *(f"--manager-user={user}" for user in settings.controllers)]
    if settings.shutdown_agent is not None:
        user = service_account_user(settings.shutdown_agent.namespace, SHUTDOWN_AGENT)
        made.append(f"--shutdown-agent-user={user}")
    return made


def _bridge(settings: Settings) -> list[str]:
    """A drain asks for all pods of a node at once, and each request made for them is reviewed in turn."""
    if not settings.eviction_bridge:
        return []
    wait = f"--bridge-wait={settings.bridge_wait_seconds}s"
    unverified = f"--bridge-unverified-callers={settings.unverified_callers}"
    return ["--eviction-bridge", wait, unverified, "--max-reviews=1000", *_limits(settings)]


def _wrapping(settings: Settings) -> list[str]:
    if not settings.prestop_wrapper:
        return []
    host = f"{WEBHOOK}.{settings.namespace}.svc"
    return [
        f"--prestop-wrapper={settings.image}", f"--reasons-port={REASONS_PORT}", f"--reasons-host={host}",
    ]  # fmt: skip


def gate_options(settings: Settings) -> list[str]:
    """The feature gates, as every process takes them."""
    return [f"--feature-gates={settings.feature_gates}"] if settings.feature_gates else []


def deployment_of(name: str, replicas: int, container: Obj, settings: Settings) -> Obj:
    """A Deployment of pods without privileges, under an account of the same name."""
    component, own = name.removeprefix("vacate-"), settings.own_pods
    marks = labels(component)
    spec: Obj = {
        "serviceAccountName": name,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": dict(own.affinity) or {"podAntiAffinity": _apart(marks)},
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
    }
    chosen = {
        "nodeSelector": dict(own.node_selector),
        "tolerations": list(own.tolerations),
        "topologySpreadConstraints": list(own.topology_spread_constraints),
        "priorityClassName": own.priority_class_name,
    }
    spec |= {key: value for key, value in chosen.items() if value}
    if settings.pull_secrets:
        spec["imagePullSecrets"] = [{"name": one} for one in settings.pull_secrets]
    resources = own.resources.get(component)
    spec["containers"] = [{**container, **({"resources": resources} if resources else {})}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": marks},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": marks},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": {**own.labels, **marks}}, "spec": spec},
        },
    }


def container_of(name: str, args: Sequence[str], ports: list[Obj], settings: Settings) -> Obj:
    """A container of our image; with probes where it has ports."""
    probes = {
        "ports": ports,
        "livenessProbe": _probe("/livez", period=10, failures=6),
        # Asked often: the copy that a disruption budget waits for while its node is drained is ready soon.
        "readinessProbe": _probe("/readyz", period=2, failures=15),
    }
    return {
        "name": name,
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": list(args),
        **(probes if ports else {}),
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str, *, period: int, failures: int) -> Obj:
    get = {"path": path, "port": "metrics"}
    return {"httpGet": get, "periodSeconds": period, "timeoutSeconds": 5, "failureThreshold": failures}


def _apart(marks: Obj) -> Obj:
    """Copies on different nodes if possible, but not at the price of not running."""
    term = {"labelSelector": {"matchLabels": marks}, "topologyKey": "kubernetes.io/hostname"}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]}


def mount(deployment: Obj, name: str, path: str, source: Obj) -> None:
    """Let the container read files."""
    pod = deployment["spec"]["template"]["spec"]
    pod.setdefault("volumes", []).append({"name": name, **source})
    container = pod["containers"][0]
    container.setdefault("volumeMounts", []).append({"name": name, "mountPath": path, "readOnly": True})


def _budget(name: str, settings: Settings) -> Obj:
    """One at a time, and never in the way of a drain: a copy that does not work may always go."""
    marks = labels(name.removeprefix("vacate-"))
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": marks},
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": marks},
        },
    }


def _service(name: str, ports: list[Obj], settings: Settings) -> Obj:
    marks = labels(name.removeprefix("vacate-"))
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": marks},
        "spec": {"selector": marks, "ports": ports},
    }


def _port(name: str, port: int, target: int) -> Obj:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}
