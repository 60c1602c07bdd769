"""What a person may choose about an installation."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from vacate import __version__
from vacate.api.installednames import DEFAULT_NAMESPACE, WEB_PORT
from vacate.api.objects import Obj
from vacate.eviction.callers import UnverifiedCallers

DEFAULT_IMAGE = f"vacate:{__version__}"
"""The name of the image without a registry: for a kustomization to replace, and no image that exists."""


LOCAL_PAGES = f"http://127.0.0.1:{WEB_PORT}"
"""Where the pages of a program, or of a port-forward, are on the reader's machine."""


class Certificates(enum.StrEnum):
    """Who makes the certificate of the webhook."""

    SELF = "self"  # `vacate certificates`, which also writes its CA into the webhook configurations
    CERT_MANAGER = "cert-manager"


class ShutdownAgentMode(enum.StrEnum):
    """Who ends the pods of a node that goes down."""

    ALONE = "alone"  # the agent; the kubelets' own graceful shutdown is off
    BESIDE_KUBELET = "beside-kubelet"  # the kubelet, which waits for the agent and its interceptors first


class Confinement(enum.StrEnum):
    """What becomes of a write of Vacate's own accounts that changes more than the account ever has to."""

    ENFORCE = "enforce"  # it is refused
    AUDIT = "audit"  # it is noted in the audit log, and answered with a warning
    OFF = "off"


class FailurePolicy(enum.StrEnum):
    """What the API server does with a write when the webhook does not answer."""

    FAIL = "Fail"
    IGNORE = "Ignore"


@dataclass(frozen=True, slots=True)
class Monitoring:
    """Objects for Prometheus and Grafana; all of it needs their operators, so all of it is off."""

    # Series that name pods, on a port that everyone in the cluster can reach unless sources are named.
    per_request: bool = False
    service_monitors: bool = False
    alerts: bool = False
    dashboard: bool = False

    @classmethod
    def everything(cls) -> Monitoring:
        """All of it that names no pods."""
        return cls(service_monitors=True, alerts=True, dashboard=True)


DEFAULT_SHUTDOWN_CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
shutdownGracePeriodByPodPriority:
  - priority: 0
    shutdownGracePeriodSeconds: 120
  - priority: 2000000000
    shutdownGracePeriodSeconds: 30
"""


@dataclass(frozen=True, slots=True)
class ShutdownAgent:
    """A DaemonSet that ends the pods of each node in order when its machine goes down."""

    mode: ShutdownAgentMode = ShutdownAgentMode.ALONE
    # A KubeletConfiguration, YAML: the buckets, where the agent is alone.
    config: str = DEFAULT_SHUTDOWN_CONFIG
    # Its pods need paths of the host, which Vacate's own namespace allows to none.
    namespace: str = "vacate-shutdown-agent"
    # Accept certificates of kubelets that the cluster's CA has not signed.
    kubelet_insecure_tls: bool = False
    # The API by which it requests evictions, by the singular name of its kind.
    api: str = "evictionrequest"


@dataclass(frozen=True, slots=True)
class OwnPods:
    """What an administrator adds to the pods of the Deployments; what is empty stays as it is without it.

    Each is written as in the spec of a pod. The shutdown agent has its own.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Obj, ...] = ()
    # In place of copies that prefer different nodes.
    affinity: Mapping[str, Obj] = field(default_factory=dict)
    topology_spread_constraints: tuple[Obj, ...] = ()
    priority_class_name: str = ""
    # By component: manager, webhook, certificates, hooks, web.
    resources: Mapping[str, Obj] = field(default_factory=dict)


DEFAULT_HOOKS = "targets: []\n"
"""An allow-list that allows nothing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One installation. The defaults are what `vacate install` does without options."""

    image: str = DEFAULT_IMAGE
    pull_policy: str = "IfNotPresent"
    pull_secrets: tuple[str, ...] = ()
    namespace: str = DEFAULT_NAMESPACE
    manager_replicas: int = 2
    webhook_replicas: int = 2
    # Where the webhook listens outside of the cluster, https://HOST:PORT: then no webhook is deployed, and
    # the configurations lead there. For development and tests.
    webhook_url: str = ""
    # The authority of the webhook's certificate, PEM. Empty: vacate certificates or cert-manager fills it in.
    ca_bundle: bytes = b""
    certificates: Certificates = Certificates.SELF
    # Names of interceptors that are allowed although they end in k8s.io.
    allowed_interceptors: tuple[str, ...] = ()
    # User names by interceptor, for those that are bound to accounts; the others are open to all who report.
    interceptor_accounts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # User names of managers outside of the cluster, beside the account of the one inside.
    manager_users: tuple[str, ...] = ()
    # The administrator's limits for each request; None is no limit.
    max_interceptors: int | None = None
    max_request_seconds: int | None = None
    # Those for all NodeMaintenances together: nodes drained at the same time, and the label that they share.
    max_draining_nodes: int | str | None = None
    topology_key: str = ""
    feature_gates: str = ""
    # Whether these make Vacate the controller of Kubernetes' own API for evictions.
    lifecycle: bool = False
    # Whether it gives way to one of Kubernetes: auto, on or off.
    lifecycle_controller: str = "auto"
    # Creating and changing requests, and deleting those that forbid it.
    request_failure_policy: FailurePolicy = FailurePolicy.FAIL
    # Heartbeats must get through while the webhook is away, and pods must start.
    status_failure_policy: FailurePolicy = FailurePolicy.IGNORE
    pod_failure_policy: FailurePolicy = FailurePolicy.IGNORE
    # Whether pods that register interceptors are checked when they are written.
    pod_webhooks: bool = True
    # Rules by which new pods register interceptors, YAML; without any no new pod is sent to the webhook.
    pod_rules: str = ""
    # Whether force deletion of pods must be confirmed in namespaces that say nothing about it.
    guard_unlabelled: bool = False
    # Whether direct evictions of pods that have interceptors become EvictionRequests.
    eviction_bridge: bool = False
    # Of the namespaces where they do, as a label selector; empty for all but the system's and our own.
    bridge_namespaces: str = ""
    bridge_wait_seconds: int = 600
    # What becomes of its callers where the API server cannot tell whether they may evict.
    unverified_callers: UnverifiedCallers = UnverifiedCallers.REFUSE
    # Whether pods are annotated with the reason when others than Vacate delete or evict them.
    termination_reasons: bool = False
    # Whether preStop hooks are wrapped, in namespaces that are labelled for it, to be given the reason.
    prestop_wrapper: bool = False
    # Admission policies about what Vacate's own accounts change of objects.
    confine: Confinement = Confinement.ENFORCE
    # Whether the manager may run Jobs in its namespace, as agents of FencingPolicies.
    fencing_jobs: bool = False
    # A manager that runs elsewhere, from a kubeconfig, needs no Deployment.
    deploy_manager: bool = True
    network_policy: bool = True
    # Addresses from which API servers come, and from which metrics and health are read; empty for everywhere.
    webhook_sources: tuple[str, ...] = ()
    metrics_sources: tuple[str, ...] = ()
    # The CA of the client certificates that API servers show to the webhook, PEM, and the names in them.
    # Empty: nobody has to show one.
    client_ca: str = ""
    client_names: tuple[str, ...] = ()
    definitions: bool = True
    shutdown_agent: ShutdownAgent | None = None
    # The allow-list of the hooks interceptor, YAML; without one it is not deployed.
    hooks: str = ""
    # Whether the pages of vacate web are served in the cluster, to users with tokens of their own; and the
    # names under which proxies serve them.
    web: bool = False
    web_hosts: tuple[str, ...] = ()
    # Where the pages link to the metrics over time, and where the dashboard links to the pages: by default
    # those of a program, or a port-forward, on the reader's machine.
    web_dashboard: str = ""
    web_url: str = LOCAL_PAGES
    own_pods: OwnPods = field(default_factory=OwnPods)
    monitoring: Monitoring = field(default_factory=Monitoring)

    @property
    def controllers(self) -> tuple[str, ...]:
        """The user names under which managers work: they alone write the progress of requests."""
        return (f"system:serviceaccount:{self.namespace}:vacate-manager", *self.manager_users)

    @property
    def deploys_webhook(self) -> bool:
        """Whether the webhook runs in the cluster."""
        return not self.webhook_url

    @property
    def own_certificates(self) -> bool:
        """Whether `vacate certificates` makes the certificate, wherever the webhook runs."""
        given = bool(self.webhook_url and self.ca_bundle)
        return self.certificates is Certificates.SELF and not given
