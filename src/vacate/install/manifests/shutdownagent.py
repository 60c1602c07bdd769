"""The shutdown agent: one pod on each node, with exactly the access to its host that it needs."""

from __future__ import annotations

from vacate.api.installednames import METRICS_PORT, PART_OF, SHUTDOWN_AGENT, labels
from vacate.api.kinds import EVACUATIONS, EVICTIONREQUESTS, LIFECYCLE_EVICTIONS, LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.install.settings import Settings, ShutdownAgent, ShutdownAgentMode
from vacate.nodeagent.nodeobject import RUNTIME_LABEL
from vacate.nodeagent.shutdownagent.kubelet import LOWEST_PRIORITY

_COMPONENT = SHUTDOWN_AGENT.removeprefix("vacate-")
_RBAC = "rbac.authorization.k8s.io/v1"
_CONFIG, _CONFIG_FILE = "/etc/vacate/shutdown", "kubelet.yaml"
_BUS, _DROP_INS, _RECORD = "/run/dbus", "/etc/systemd/logind.conf.d", "/var/lib/vacate-shutdown-agent"
_GRACE_SECONDS = 3600
"""Longer than any bucket: a kubelet that waits for the agent waits for the shorter of the two."""
_KUBELET_PORT = 10250


def shutdown_agent(settings: Settings) -> list[Obj]:
    """All of it; nothing where it is not wanted."""
    chosen = settings.shutdown_agent
    if chosen is None:
        return []
    return [
        _namespace(chosen),
        _priority_class(),
        *_roles(chosen),
        _config(chosen),
        _daemon_set(chosen, settings),
        *([_network_policy(chosen, settings)] if settings.network_policy else []),
    ]


def _namespace(chosen: ShutdownAgent) -> Obj:
    """Of its own: paths of the host are for none of Vacate's other pods."""
    levels = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
    meta = {"name": chosen.namespace, "labels": {**PART_OF, **levels}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}


def _priority_class() -> Obj:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": SHUTDOWN_AGENT, "labels": labels(_COMPONENT)},
        "value": LOWEST_PRIORITY,
        "preemptionPolicy": "Never",
        "description": "The shutdown agent, in the lowest bucket of kubelets that shut down by themselves.",
    }


def _meta(chosen: ShutdownAgent) -> Obj:
    return {"name": SHUTDOWN_AGENT, "namespace": chosen.namespace, "labels": labels(_COMPONENT)}


def _roles(chosen: ShutdownAgent) -> list[Obj]:
    subject = {"kind": "ServiceAccount", "name": SHUTDOWN_AGENT, "namespace": chosen.namespace}
    meta = {"name": SHUTDOWN_AGENT, "labels": labels(_COMPONENT)}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": SHUTDOWN_AGENT}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _meta(chosen)},
        {"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": dict(meta), "rules": rules()},
        {
            "apiVersion": _RBAC,
            "kind": "ClusterRoleBinding",
            "metadata": meta,
            "roleRef": role,
            "subjects": [subject],
        },
    ]


REQUEST_VERBS = ["get", "list", "watch", "create", "patch", "delete"]
"""Deleting is for requests that are over: one that is in the way of a new one for the same pod."""


def rules() -> list[Obj]:
    """Roles cannot say "of its own node": admission policies do."""
    made = (
        ("", ["pods"], ["get", "list", "watch", "delete"]),
        ("", ["pods/status"], ["patch"]),
        ("", ["nodes"], ["get", "patch"]),
        ("", ["nodes/status"], ["patch"]),
        ("", ["nodes/configz"], ["get"]),  # of the kubelet itself, which asks the API server
        ("", ["events"], ["create", "patch"]),
        (EVICTIONREQUESTS.group, ["evictionrequests"], REQUEST_VERBS),
        # Also for those that request by the other API: a request that goes on is joined, whatever its kind.
        (EVACUATIONS.group, ["evacuations"], REQUEST_VERBS),
        (LIFECYCLE_REQUESTS.group, [LIFECYCLE_REQUESTS.plural], REQUEST_VERBS),
        (LIFECYCLE_EVICTIONS.group, [LIFECYCLE_EVICTIONS.plural], ["list", "watch"]),
    )
    return [{"apiGroups": [group], "resources": what, "verbs": verbs} for group, what, verbs in made]


def _config(chosen: ShutdownAgent) -> Obj:
    data = {_CONFIG_FILE: chosen.config}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": _meta(chosen), "data": data}


def _daemon_set(chosen: ShutdownAgent, settings: Settings) -> Obj:
    marks = labels(_COMPONENT)
    beside = chosen.mode is ShutdownAgentMode.BESIDE_KUBELET
    spec: Obj = {
        "serviceAccountName": SHUTDOWN_AGENT,
        "priorityClassName": SHUTDOWN_AGENT if beside else "system-node-critical",
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        # Everywhere, and also while the node goes down; but not where processes are pods: those have theirs.
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _stock_nodes()}},
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
    }
    if settings.pull_secrets:
        spec["imagePullSecrets"] = [{"name": one} for one in settings.pull_secrets]
    spec["containers"] = [_container(chosen, settings)]
    spec["volumes"] = [
        {"name": "config", "configMap": {"name": SHUTDOWN_AGENT}},
        {"name": "bus", "hostPath": {"path": _BUS, "type": "DirectoryOrCreate"}},
        {"name": "drop-ins", "hostPath": {"path": _DROP_INS, "type": "DirectoryOrCreate"}},
        {"name": "record", "hostPath": {"path": _RECORD, "type": "DirectoryOrCreate"}},
    ]
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": _meta(chosen),
        "spec": {
            "selector": {"matchLabels": marks},
            "template": {"metadata": {"labels": marks}, "spec": spec},
        },
    }


def _stock_nodes() -> Obj:
    others = {"key": RUNTIME_LABEL, "operator": "NotIn", "values": ["process"]}
    return {"nodeSelectorTerms": [{"matchExpressions": [others]}]}


def _container(chosen: ShutdownAgent, settings: Settings) -> Obj:
    args = [
        "shutdown-agent",
        f"--config={_CONFIG}/{_CONFIG_FILE}",
        "--metrics-address=0.0.0.0",
        f"--metrics-port={METRICS_PORT}",
    ]
    if chosen.api != EVICTIONREQUESTS.singular:
        args.append(f"--api={chosen.api}")
    if chosen.kubelet_insecure_tls:
        args.append("--kubelet-insecure-tls")
    if settings.feature_gates:
        args.append(f"--feature-gates={settings.feature_gates}")
    fields = {"NODE_NAME": "spec.nodeName", "POD_UID": "metadata.uid", "HOST_IP": "status.hostIP"}
    probe = {"port": "metrics"}
    return {
        "name": "shutdown-agent",
        "image": settings.image,
        "imagePullPolicy": settings.pull_policy,
        "args": args,
        "env": [
            *(
                {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
                for name, path in fields.items()
            ),
            {"name": "DBUS_SYSTEM_BUS_ADDRESS", "value": f"unix:path={_BUS}/system_bus_socket"},
        ],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "livenessProbe": {"httpGet": {"path": "/livez", **probe}, "periodSeconds": 10, "failureThreshold": 6},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "20m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
        # logind hears of root only; of root's capabilities none is needed.
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": _CONFIG, "readOnly": True},
            {"name": "bus", "mountPath": _BUS, "readOnly": True},
            {"name": "drop-ins", "mountPath": _DROP_INS},
            {"name": "record", "mountPath": _RECORD},
        ],
    }


def _network_policy(chosen: ShutdownAgent, settings: Settings) -> Obj:
    metrics: Obj = {"ports": [{"port": METRICS_PORT, "protocol": "TCP"}]}
    if settings.metrics_sources:
        metrics["from"] = [{"ipBlock": {"cidr": one}} for one in settings.metrics_sources]
    dns = [{"port": 53, "protocol": protocol} for protocol in ("UDP", "TCP")]
    servers = [{"port": port, "protocol": "TCP"} for port in (443, 6443, _KUBELET_PORT)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": _meta(chosen),
        "spec": {
            "podSelector": {"matchLabels": labels(_COMPONENT)},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [metrics],
            "egress": [{"ports": [*dns, *servers]}],
        },
    }
