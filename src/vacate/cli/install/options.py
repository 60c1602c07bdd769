"""The options of `vacate install`, each checked before anything is rendered."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from vacate.api.installednames import DEFAULT_NAMESPACE
from vacate.api.selectors.labels import match_expressions, parse_selector
from vacate.cli.common.parameters import label_name, namespace_name, node_count, span_between, subdomain
from vacate.cli.common.serveroptions import (
    host_name,
    interceptor_accounts_option,
    lifecycle_controller_option,
    site_address,
    unverified_callers_option,
)
from vacate.errors import ApiError
from vacate.eviction.dialects.registry import DIALECT_NAMES
from vacate.install.manifests.webhookentries import SYSTEM_NAMESPACES
from vacate.install.settings import Certificates, Confinement, FailurePolicy, ShutdownAgentMode

F = TypeVar("F", bound=Callable[..., Any])

_IMAGE = re.compile(
    r"[a-z0-9]+([._-][a-z0-9]+)*(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*"
    r"(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?"
)
_ADDRESS = re.compile(
    r"https://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?)(:(?P<port>[0-9]{1,5}))?/?"
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_POLICY = click.Choice([policy.value for policy in FailurePolicy])
_REPLICAS = click.IntRange(1, 20)


def own_namespace(text: str) -> str:
    """A namespace that Vacate has for itself."""
    name = namespace_name(text)
    if name in (*SYSTEM_NAMESPACES, "default"):
        raise click.BadParameter(f"{name!r} belongs to the cluster; Vacate needs a namespace of its own")
    return name


def image_reference(text: str) -> str:
    """NAME:TAG or NAME@sha256:DIGEST."""
    if len(text) > 1024 or not _IMAGE.fullmatch(text):
        raise click.BadParameter(f"{text[:80]!r} is not an image; write [HOST/]NAME:TAG")
    return text


def base_url(text: str) -> str:
    """https://HOST:PORT and nothing behind it."""
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found["port"] or 443) < 65536:
        raise click.BadParameter(f"{text[:80]!r} is not the address of a webhook; write https://HOST:PORT")
    return text.rstrip("/")


def address_range(text: str) -> str:
    """10.0.0.0/24 or fd00::/64, as network policies write it."""
    try:
        return str(ipaddress.ip_network(text))
    except ValueError as error:
        raise click.BadParameter(
            f"{text[:80]!r} is not a range of addresses: {error}; write 10.0.0.0/24"
        ) from None


def label_selector(text: str) -> str:
    """app=web,tier in (a,b),!canary; comparisons of numbers are not for selectors of objects."""
    try:
        match_expressions(text)
    except ApiError as error:
        raise click.BadParameter(f"{text[:80]!r} is not a label selector for objects: {error}") from None
    return str(parse_selector(text))


def install_options(command: F) -> F:
    """Add all of them; the command gets them by name."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option("--namespace", "-n", type=own_namespace, default=DEFAULT_NAMESPACE, show_default=True,
                 metavar="NAME", help="Namespace for Vacate alone; created if it does not exist."),
    click.option("--image", type=image_reference, metavar="IMAGE",
                 help="Image of the manager and the webhook, where nodes can pull it. Upgrades keep it."),
    click.option("--pull-secret", "pull_secrets", type=subdomain, multiple=True, metavar="NAME",
                 help="Secret for pulling the image. Can be repeated."),
    click.option("--replicas", type=_REPLICAS, default=2, show_default=True, metavar="N",
                 help="Replicas of the manager and of the webhook."),
    click.option("--own-pods", type=_FILE, metavar="FILE",
                 help="What Vacate's own pods have beside: labels, nodeSelector, tolerations, affinity, "
                      "topologySpreadConstraints, priorityClassName, and resources by component, as YAML."),
    click.option("--certificates", type=click.Choice([one.value for one in Certificates]),
                 default=Certificates.SELF.value, show_default=True,
                 help="What issues the webhook's certificate."),
    click.option("--webhook-url", type=base_url, metavar="URL",
                 help="Send reviews to a webhook outside the cluster, and deploy none."),
    click.option("--ca-file", type=_FILE, metavar="FILE",
                 help="CA of the webhook's certificate, PEM; by default it is filled in later."),
    click.option("--allow-interceptor", "allowed", type=subdomain, multiple=True, metavar="NAME",
                 help="Allow this interceptor name, although it ends in k8s.io. Can be repeated."),
    interceptor_accounts_option,
    click.option("--manager-user", "manager_users", multiple=True, metavar="USER",
                 help="User name of a manager outside the cluster, which then writes the progress of "
                      "requests. Can be repeated."),
    click.option("--max-interceptors", type=click.IntRange(min=0), metavar="N",
                 help="Give at most this many of a pod's interceptors a turn, then evict it; all by "
                      "default."),
    click.option("--max-request-duration", type=span_between(1.0, 365 * 86_400.0), metavar="SPAN",
                 help="Evict a pod this long after its request was created, whatever its interceptors do. "
                      "No limit by default."),
    click.option("--max-draining-nodes", type=node_count, metavar="N|N%",
                 help="How many nodes all NodeMaintenances together drain at the same time. No limit by "
                      "default."),
    click.option("--topology-key", type=label_name, default="", metavar="LABEL",
                 help="Never drain nodes with two values of this label at once, whichever NodeMaintenances "
                      "drain them."),
    lifecycle_controller_option,
    click.option("--pod-rules", type=_FILE, metavar="FILE",
                 help="Rules by which new pods register interceptors."),
    click.option("--feature-gates", default="", metavar="NAME=BOOL,…",
                 help="Enable or disable feature gates."),
    click.option("--request-failure-policy", type=_POLICY, default="Fail", show_default=True,
                 help="Whether writes of requests fail while the webhook is unavailable."),
    click.option("--status-failure-policy", type=_POLICY, default="Ignore", show_default=True,
                 help="Whether heartbeats and progress fail while the webhook is unavailable."),
    click.option("--pod-failure-policy", type=_POLICY, default="Ignore", show_default=True,
                 help="Whether writes of pods fail while the webhook is unavailable. Fail can keep pods "
                      "from starting."),
    click.option("--pod-webhooks/--no-pod-webhooks", default=True, show_default=True,
                 help="Check the annotations of pods that register interceptors, and register those of new "
                      "pods whose Deployment has opted in to move before eviction."),
    click.option("--guard-force-deletion", "guard_unlabelled", is_flag=True,
                 help="Require confirmation of forced pod deletions in all namespaces that are not labelled "
                      "vacate.dev/force-delete-guard=disabled; by default only in those labelled enabled."),
    click.option("--eviction-bridge", is_flag=True,
                 help="Make kubectl drain and others wait for interceptors: evictions of pods that have "
                      "some are answered with 429 until the interceptors are done."),
    click.option("--bridge-namespaces", type=label_selector, default="", metavar="SELECTOR",
                 help="Labels of the namespaces in which --eviction-bridge applies; by default all but the "
                      "system's."),
    click.option("--bridge-wait", type=span_between(1.0, 86_400.0), default="10m", show_default=True,
                 metavar="SPAN", help="How long a caller counts as waiting after its last attempt."),
    unverified_callers_option,
    click.option("--termination-reasons", is_flag=True,
                 help="Annotate pods with the reason when they are deleted or evicted, so that they can "
                      "read it from a downward API file."),
    click.option("--prestop-wrapper", is_flag=True,
                 help="Wrap the preStop hooks of new pods, in namespaces labelled "
                      "vacate.dev/wrap-prestop-hooks=true, so that they receive the reason."),
    click.option("--confine", type=click.Choice([one.value for one in Confinement]),
                 default=Confinement.ENFORCE.value, show_default=True,
                 help="What happens to writes of Vacate's own accounts that change more than they have to: "
                      "they are refused, or only audited, or not looked at."),
    click.option("--fencing-jobs", is_flag=True,
                 help="Let the manager create Jobs in its namespace, as agents of FencingPolicies."),
    click.option("--network-policy/--no-network-policy", default=True, show_default=True,
                 help="Limit what can reach Vacate's pods, and what they can reach."),
    click.option("--webhook-from", "webhook_sources", type=address_range, multiple=True, metavar="CIDR",
                 help="Addresses of API servers; others cannot send reviews."),
    click.option("--metrics-from", "metrics_sources", type=address_range, multiple=True, metavar="CIDR",
                 help="Addresses of Prometheus and of nodes; others cannot read metrics and health."),
    click.option("--webhook-client-ca", "client_ca", type=_FILE, metavar="FILE",
                 help="CA of the client certificate that API servers must present to the webhook, PEM."),
    click.option("--webhook-client-name", "client_names", multiple=True, metavar="NAME",
                 help="Common name that this certificate must have. Can be repeated."),
    click.option("--metrics-per-request", "per_request", is_flag=True,
                 help="Let the manager serve metrics with the names of single requests and their pods."),
    click.option("--manager/--no-manager", "deploy_manager", default=True, show_default=True,
                 help="Run the manager in the cluster."),
    click.option("--crds/--no-crds", "definitions", default=True, show_default=True,
                 help="Install the CustomResourceDefinitions of Vacate's kinds."),
    click.option("--shutdown-agent", type=click.Choice([one.value for one in ShutdownAgentMode]),
                 is_flag=False, flag_value=ShutdownAgentMode.ALONE.value,
                 help="Run a pod on each node that terminates the node's pods in order when the machine "
                      "shuts down: alone (without a value), or before a kubelet that does that itself."),
    click.option("--shutdown-config", type=_FILE, metavar="FILE",
                 help="KubeletConfiguration with the buckets of the shutdown agent."),
    click.option("--shutdown-api", type=click.Choice(DIALECT_NAMES),
                 help="The API in which the shutdown agent requests evictions; evictionrequest by default."),
    click.option("--kubelet-insecure-tls", is_flag=True,
                 help="Let the shutdown agent accept certificates of kubelets that the cluster's CA has not "
                      "signed."),
    click.option("--hooks", type=_FILE, metavar="FILE",
                 help="Deploy the interceptor hooks.vacate.dev, with this allow-list of services and Jobs."),
    click.option("--web", is_flag=True,
                 help="Serve the pages of vacate web in the cluster, by kubectl port-forward or a proxy, to "
                      "users who sign in with their own token. The pod itself has no rights."),
    click.option("--web-host", "web_hosts", multiple=True, type=host_name, metavar="NAME[:PORT]",
                 help="Name under which a proxy serves these pages. Can be repeated."),
    click.option("--web-dashboard", type=site_address, metavar="URL",
                 help="Where Vacate's Grafana dashboard is; each of these pages links to it."),
    click.option("--web-url", type=site_address, metavar="URL",
                 help="Where the pages are, for the links of the Grafana dashboard; by default on the "
                      "reader's machine, http://127.0.0.1:7411."),
    click.option("--monitoring", is_flag=True,
                 help="Install ServiceMonitors, alerts and a Grafana dashboard; needs the Prometheus "
                      "operator."),
)  # fmt: skip


def _made() -> list[click.Option]:
    """The options themselves, to read by them what was kept."""
    command = click.command()(install_options(lambda **_: None))
    return [one for one in command.params if isinstance(one, click.Option)]


INSTALL_OPTIONS = _made()
"""All of them, in the order of the help."""
