"""The settings of an installation, from the options of the command line."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import click
import yaml
from cryptography import x509

from vacate import __version__
from vacate.admission.pods.registrationrules import read_rules
from vacate.api.installednames import labels
from vacate.cli.common.kubeletconfig import load_kubelet_config
from vacate.errors import ConfigError
from vacate.eviction.callers import UnverifiedCallers
from vacate.features import FeatureGates, parse_feature_gates
from vacate.install import objects
from vacate.install.manifests.hooks import hook_accounts
from vacate.install.settings import (
    DEFAULT_HOOKS,
    LOCAL_PAGES,
    Certificates,
    Confinement,
    FailurePolicy,
    Monitoring,
    OwnPods,
    Settings,
    ShutdownAgent,
    ShutdownAgentMode,
)
from vacate.interceptors.hooks.targets import read_allow_list
from vacate.nodeagent.shutdown.config import read_config

_MAX_FILE_BYTES = 900_000  # what fits into a ConfigMap, with room for the rest of it


def settings_of(
    *,
    namespace: str,
    image: str | None,
    pull_secrets: tuple[str, ...],
    replicas: int,
    own_pods: Path | None,
    certificates: str,
    webhook_url: str | None,
    ca_file: Path | None,
    allowed: tuple[str, ...],
    interceptors: Mapping[str, tuple[str, ...]],
    manager_users: tuple[str, ...],
    max_interceptors: int | None,
    max_request_duration: dt.timedelta | None,
    max_draining_nodes: int | str | None,
    topology_key: str,
    lifecycle_controller: str,
    pod_rules: Path | None,
    feature_gates: str,
    request_failure_policy: str,
    status_failure_policy: str,
    pod_failure_policy: str,
    pod_webhooks: bool,
    guard_unlabelled: bool,
    eviction_bridge: bool,
    bridge_namespaces: str,
    bridge_wait: dt.timedelta,
    unverified_callers: str,
    termination_reasons: bool,
    prestop_wrapper: bool,
    confine: str,
    fencing_jobs: bool,
    network_policy: bool,
    webhook_sources: tuple[str, ...],
    metrics_sources: tuple[str, ...],
    client_ca: Path | None,
    client_names: tuple[str, ...],
    per_request: bool,
    deploy_manager: bool,
    definitions: bool,
    shutdown_agent: str | None,
    shutdown_config: Path | None,
    shutdown_api: str | None,
    kubelet_insecure_tls: bool,
    hooks: Path | None,
    web: bool,
    web_hosts: tuple[str, ...],
    web_dashboard: str | None,
    web_url: str | None,
    monitoring: bool,
) -> Settings:
    """The settings that were asked for; a ConfigError says which option cannot be used."""
    if bridge_namespaces and not eviction_bridge:
        raise click.UsageError("--bridge-namespaces: has no meaning without --eviction-bridge; give it too")
    gates = parse_feature_gates(feature_gates)
    if webhook_url and certificates == Certificates.CERT_MANAGER:
        raise click.UsageError("--certificates=cert-manager is for a webhook in the cluster")
    if webhook_url and prestop_wrapper:
        raise click.UsageError(
            "--prestop-wrapper: pods ask a webhook in the cluster for their reason; omit --webhook-url"
        )
    if client_names and client_ca is None:
        raise click.UsageError(
            "--webhook-client-name: names are looked for in certificates of "
            "--webhook-client-ca; give it as well"
        )
    if web_hosts and not web:
        raise click.UsageError("--web-host: names the pages of --web; give it as well")
    if web_dashboard and not web:
        raise click.UsageError("--web-dashboard: is what the pages of --web link to; give it as well")
    if web_url and not monitoring:
        raise click.UsageError("--web-url: is where the dashboard of --monitoring links to; give it as well")
    if (webhook_sources or metrics_sources) and not network_policy:
        raise click.UsageError(
            "--webhook-from and --metrics-from configure network policies; omit --no-network-policy"
        )
    made = Settings(
        image=image or "",
        pull_secrets=pull_secrets,
        namespace=namespace,
        manager_replicas=replicas,
        webhook_replicas=replicas,
        webhook_url=webhook_url or "",
        ca_bundle=_authority(ca_file, "--ca-file"),
        certificates=Certificates(certificates),
        allowed_interceptors=allowed,
        interceptor_accounts={**(hook_accounts(namespace) if hooks else {}), **interceptors},
        manager_users=manager_users,
        max_interceptors=max_interceptors,
        max_request_seconds=int(max_request_duration.total_seconds()) if max_request_duration else None,
        max_draining_nodes=max_draining_nodes,
        topology_key=topology_key,
        lifecycle_controller=lifecycle_controller,
        lifecycle=gates.enabled("LifecycleAPI"),
        feature_gates=",".join(filter(None, map(str.strip, feature_gates.split(",")))),
        request_failure_policy=FailurePolicy(request_failure_policy),
        status_failure_policy=FailurePolicy(status_failure_policy),
        pod_failure_policy=FailurePolicy(pod_failure_policy),
        pod_webhooks=pod_webhooks,
        eviction_bridge=eviction_bridge,
        bridge_namespaces=bridge_namespaces,
        bridge_wait_seconds=max(1, int(bridge_wait.total_seconds())),
        unverified_callers=UnverifiedCallers(unverified_callers),
        termination_reasons=termination_reasons,
        prestop_wrapper=prestop_wrapper,
        confine=Confinement(confine),
        fencing_jobs=fencing_jobs,
        pod_rules=_rules(pod_rules, allowed),
        deploy_manager=deploy_manager,
        guard_unlabelled=guard_unlabelled,
        network_policy=network_policy,
        webhook_sources=webhook_sources,
        metrics_sources=metrics_sources,
        client_ca=_authority(client_ca, "--webhook-client-ca").decode(),
        client_names=client_names,
        definitions=definitions,
        shutdown_agent=_shutdown_agent(
            shutdown_agent, shutdown_config, shutdown_api, gates, insecure=kubelet_insecure_tls
        ),
        hooks=_hooks(hooks),
        web=web,
        web_hosts=web_hosts,
        web_dashboard=web_dashboard or "",
        web_url=web_url.rstrip("/") if web_url else LOCAL_PAGES,
        own_pods=_own_pods(own_pods),
        monitoring=replace(Monitoring.everything() if monitoring else Monitoring(), per_request=per_request),
    )
    if not image and any(one["kind"] in ("Deployment", "DaemonSet") for one in objects(made)):
        raise ConfigError(
            "--image: name the image, where nodes can pull it, as --image "
            f"registry.example.com/vacate:{__version__}; none is published, and docs/how-to/install.md shows "
            "how to build one. An installation keeps it: an upgrade without the option has it still"
        )
    return made


def _shutdown_agent(
    mode: str | None, file: Path | None, api: str | None, gates: FeatureGates, *, insecure: bool
) -> ShutdownAgent | None:
    if mode is None:
        if file is not None or insecure or api is not None:
            raise click.UsageError(
                "--shutdown-config, --shutdown-api and --kubelet-insecure-tls configure the shutdown agent; "
                "give --shutdown-agent as well"
            )
        return None
    made = ShutdownAgent(ShutdownAgentMode(mode), kubelet_insecure_tls=insecure)
    if api is not None:
        made = replace(made, api=api)
    if file is None:
        document, source = yaml.safe_load(made.config), "--shutdown-agent: the default configuration"
    else:
        document, source = load_kubelet_config(file, "--shutdown-config"), f"--shutdown-config: {file}"
        made = replace(made, config=_bytes(file).decode("utf-8-sig"))
    found = read_config(document, gates, source)
    if not found.enabled and made.mode is ShutdownAgentMode.ALONE:
        raise ConfigError(f"{source} terminates no pods in order, since {found.disabled_because}")
    return made


def _hooks(file: Path | None) -> str:
    if file is None:
        return ""
    text = _bytes(file).decode(errors="replace")
    read_allow_list(text, f"--hooks: {file}")
    return text or DEFAULT_HOOKS


_OWN_PODS = {
    "labels": "a mapping of names to texts", "nodeSelector": "a mapping of names to texts",
    "tolerations": "a list of mappings", "affinity": "a mapping",
    "topologySpreadConstraints": "a list of mappings", "priorityClassName": "a text",
    "resources": "a mapping of manager, webhook, certificates, hooks or web to resources",
}  # fmt: skip
_COMPONENTS = {"manager", "webhook", "certificates", "hooks", "web"}


def _own_pods(file: Path | None) -> OwnPods:
    """Of which sort each entry is; what stands in it, the API server checks as for any pod."""
    if file is None:
        return OwnPods()
    source = f"--own-pods: {file}"
    try:
        found = yaml.safe_load(_bytes(file))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{source}: {' '.join(str(error).split())}") from None
    found = {} if found is None else found
    if not isinstance(found, dict) or not found.keys() <= _OWN_PODS.keys():
        raise ConfigError(f"{source}: a mapping with these keys is expected: {', '.join(_OWN_PODS)}")
    for key, value in found.items():
        good = {
            "t": isinstance(value, str),
            "l": isinstance(value, list) and all(isinstance(one, dict) for one in value),
            "m": isinstance(value, dict),
        }[_OWN_PODS[key].removeprefix("a ")[0]]
        if good and key in ("labels", "nodeSelector"):
            good = all(isinstance(part, str) for pair in value.items() for part in pair)
        if good and key == "resources":
            good = value.keys() <= _COMPONENTS and all(isinstance(one, dict) for one in value.values())
        if not good:
            raise ConfigError(f"{source}: {key}: {_OWN_PODS[key]} is expected")
    if taken := sorted(labels("manager").keys() & found.get("labels", {}).keys()):
        raise ConfigError(f"{source}: labels: {taken[0]} is a label by which Vacate finds its pods")
    return OwnPods(
        labels=found.get("labels", {}),
        node_selector=found.get("nodeSelector", {}),
        tolerations=tuple(found.get("tolerations", ())),
        affinity=found.get("affinity", {}),
        topology_spread_constraints=tuple(found.get("topologySpreadConstraints", ())),
        priority_class_name=found.get("priorityClassName", ""),
        resources=found.get("resources", {}),
    )


def _authority(file: Path | None, option: str) -> bytes:
    if file is None:
        return b""
    found = _bytes(file)
    try:
        x509.load_pem_x509_certificates(found)
    except ValueError:
        raise ConfigError(f"{option}: {file} holds no certificate in PEM form") from None
    return found


def _rules(file: Path | None, allowed: tuple[str, ...]) -> str:
    if file is None:
        return ""
    try:
        text = _bytes(file).decode()
    except UnicodeDecodeError:
        raise ConfigError(f"--pod-rules: {file} is not UTF-8 text") from None
    if not read_rules(text, f"--pod-rules: {file}", allowed):
        raise ConfigError(f"--pod-rules: {file} has no rules")
    return text


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            found = opened.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror or error}") from None
    if len(found) > _MAX_FILE_BYTES:
        raise ConfigError(f"{file}: larger than {_MAX_FILE_BYTES} bytes")
    return found
