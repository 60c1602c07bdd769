"""The Helm chart: the same objects, with values where settings stand.

Objects are rendered with marks in place of what a person may choose, and the marks become expressions. What
is either there or not is rendered both ways, and the lines that differ become the branches of an `if`. So the
chart says nothing that `vacate.install` does not say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache, partial
from typing import Any, cast

from hack.deploy.chartfiles import HOOK, NOTES, readme, schema
from hack.deploy.manifestparts import manifest_of

from vacate import __version__
from vacate.api.installednames import HOOKS, MANAGER, labels
from vacate.api.objects import Obj
from vacate.install.manifests.deployments import container_of, deployment_of
from vacate.install.objects import part_makers, parts
from vacate.install.settings import (
    DEFAULT_HOOKS,
    DEFAULT_SHUTDOWN_CONFIG,
    Certificates,
    Confinement,
    FailurePolicy,
    Monitoring,
    OwnPods,
    Settings,
    ShutdownAgent,
    ShutdownAgentMode,
)
from vacate.interceptors.hooks.names import HOOKS_INTERCEPTOR

_MANAGERS, _WEBHOOKS = 770001, 770002
_ALLOWED, _SECRET, _RULES, _GATES = "mark-allowed", "mark-pull-secret", "mark-rules", "mark-gates"
_CLIENT_CA, _CLIENT_NAME = "mark-client-ca", "mark-client-name"
_MANAGER_USER = "mark-manager-user"
_BOUND, _ACCOUNT = "mark-bound", "system:serviceaccount:mark-account-namespace:mark-account"
_SHUTDOWN_CONFIG, _SHUTDOWN_NAMESPACE = "mark-shutdown-config", "mark-shutdown-namespace"
_HOOKS = "mark-hooks"
_WEB_HOST, _WEB_DASHBOARD, _WEB_URL = "mark-web-host", "mark-web-dashboard", "mark-web-url"
_MAX_INTERCEPTORS, _MAX_SECONDS = 770003, 770004
_LIFECYCLE = "mark-lifecycle-controller"
_MAX_DRAINING, _TOPOLOGY_KEY = 770006, "mark-topology-key"
_BRIDGE_LABEL, _BRIDGE_VALUE, _BRIDGE_SECONDS = "mark-bridge-label", "mark-bridge-value", 770005
_BRIDGE_UNVERIFIED = "mark-bridge-unverified"
_SOURCES = {
    "mark-webhook-from": "networkPolicySources.webhook",
    "mark-metrics-from": "networkPolicySources.metrics",
}
_LISTED = {
    _CLIENT_NAME: "webhook.clientNames",
    _MANAGER_USER: "managerUsers",
    _ALLOWED: "allowedInterceptors",
    _WEB_HOST: "web.hosts",
}
_TEXTS = {
    _CLIENT_CA: "webhook.clientCA",
    _SHUTDOWN_CONFIG: "shutdownAgent.config",
    _HOOKS: "hooks.config",
    _RULES: "podRules",
}
_VALUES = {
    "mark-image": ".Values.image",  # which _object_template requires
    "mark-pull-policy": ".Values.imagePullPolicy",
    "mark-namespace": ".Release.Namespace",
    _SHUTDOWN_NAMESPACE: ".Values.shutdownAgent.namespace",
    "mark-of-requests": ".Values.failurePolicies.requests",
    "mark-of-status": ".Values.failurePolicies.status",
    "mark-of-pods": ".Values.failurePolicies.pods",
    str(_MANAGERS): ".Values.manager.replicas",
    str(_WEBHOOKS): ".Values.webhook.replicas",
    str(_MAX_INTERCEPTORS): ".Values.limits.interceptors",
    str(_MAX_SECONDS): ".Values.limits.requestSeconds",
    str(_MAX_DRAINING): ".Values.limits.drainingNodes",
    _TOPOLOGY_KEY: ".Values.limits.topologyKey",
    str(_BRIDGE_SECONDS): ".Values.evictionBridge.waitSeconds",
    _WEB_DASHBOARD: ".Values.web.dashboard",
    _WEB_URL: ".Values.web.url",
    _LIFECYCLE: ".Values.lifecycleController",
    _BRIDGE_UNVERIFIED: ".Values.evictionBridge.unverifiedCallers",
}
# What toYaml makes of a value stands where these are; without the value there is no such key.
_OWN, _OWN_LABEL = "mark-own", "mark-own-label"
_OWN_PODS = OwnPods(
    labels={_OWN_LABEL: _OWN},
    node_selector={_OWN: _OWN},
    tolerations=({"key": _OWN},),
    topology_spread_constraints=({"topologyKey": _OWN},),
    priority_class_name=_OWN,
)
_MARKED = Settings(
    image="mark-image",
    pull_policy="mark-pull-policy",
    namespace="mark-namespace",
    manager_replicas=_MANAGERS,
    webhook_replicas=_WEBHOOKS,
    request_failure_policy=cast("FailurePolicy", "mark-of-requests"),
    status_failure_policy=cast("FailurePolicy", "mark-of-status"),
    pod_failure_policy=cast("FailurePolicy", "mark-of-pods"),
    allowed_interceptors=(_ALLOWED,),
    manager_users=(_MANAGER_USER,),
    web_url=_WEB_URL,
    own_pods=_OWN_PODS,
    definitions=False,
)
_KEEP = "helm.sh/resource-policy"
Change = Callable[[Settings], Settings]


@dataclass(frozen=True)
class Switch:
    """Something that is there or not: when it is, and how to render it so."""

    condition: str
    on: Change


def _monitoring(field: str) -> Change:
    return lambda given: replace(given, monitoring=replace(given.monitoring, **{field: True}))


def _changed(fields: Mapping[str, Any], given: Settings) -> Settings:
    return replace(given, **fields)


_AGENT = ShutdownAgent(config=f"{_SHUTDOWN_CONFIG}\n", namespace=_SHUTDOWN_NAMESPACE)


def _agent(given: Settings, **fields: Any) -> Settings:
    """Only where there is an agent: what is chosen about it makes none."""
    agent = given.shutdown_agent
    return given if agent is None else replace(given, shutdown_agent=replace(agent, **fields))


SWITCHES = (
    Switch(".Values.definitions", lambda given: replace(given, definitions=True)),
    Switch(
        'eq .Values.certificates "cert-manager"',
        lambda given: replace(given, certificates=Certificates.CERT_MANAGER),
    ),
    Switch(".Values.podWebhooks", lambda given: replace(given, pod_webhooks=True)),
    Switch(".Values.guardForceDeletion", lambda given: replace(given, guard_unlabelled=True)),
    Switch(
        ".Values.evictionBridge.enabled",
        partial(
            _changed,
            {
                "eviction_bridge": True,
                "bridge_namespaces": f"{_BRIDGE_LABEL}={_BRIDGE_VALUE}",
                "bridge_wait_seconds": _BRIDGE_SECONDS,
                "unverified_callers": _BRIDGE_UNVERIFIED,
            },
        ),
    ),
    Switch(".Values.terminationReasons", lambda given: replace(given, termination_reasons=True)),
    Switch(".Values.preStopWrapper", lambda given: replace(given, prestop_wrapper=True)),
    Switch('eq (toString .Values.confine) "audit"', partial(_changed, {"confine": Confinement.AUDIT})),
    # Which YAML reads as false, unless it is quoted.
    Switch(
        'has (toString .Values.confine) (list "off" "false")',
        partial(_changed, {"confine": Confinement.OFF}),
    ),
    Switch(".Values.fencingJobs", lambda given: replace(given, fencing_jobs=True)),
    Switch(".Values.podRules", lambda given: replace(given, pod_rules=f"{_RULES}\n")),
    Switch(
        'ne (toString .Values.limits.interceptors) ""',
        partial(_changed, {"max_interceptors": _MAX_INTERCEPTORS}),
    ),
    Switch(
        'ne (toString .Values.limits.requestSeconds) ""',
        partial(_changed, {"max_request_seconds": _MAX_SECONDS}),
    ),
    Switch(
        'ne (toString .Values.limits.drainingNodes) ""',
        partial(_changed, {"max_draining_nodes": _MAX_DRAINING}),
    ),
    Switch(".Values.limits.topologyKey", lambda given: replace(given, topology_key=_TOPOLOGY_KEY)),
    Switch(
        'ne (toString .Values.lifecycleController) "auto"',
        partial(_changed, {"lifecycle_controller": _LIFECYCLE}),
    ),
    Switch(
        "or .Values.interceptorAccounts .Values.hooks.enabled",
        partial(_changed, {"interceptor_accounts": {_BOUND: (_ACCOUNT,)}}),
    ),
    Switch(".Values.featureGates", lambda given: replace(given, feature_gates=_GATES)),
    Switch(
        'contains "LifecycleAPI=true" (toString .Values.featureGates)',
        partial(_changed, {"lifecycle": True}),
    ),
    Switch(
        'eq .Values.shutdownAgent.mode "beside-kubelet"',
        lambda given: _agent(given, mode=ShutdownAgentMode.BESIDE_KUBELET),
    ),
    Switch(
        ".Values.shutdownAgent.kubeletInsecureTLS", lambda given: _agent(given, kubelet_insecure_tls=True)
    ),
    Switch('eq .Values.shutdownAgent.api "evacuation"', lambda given: _agent(given, api="evacuation")),
    Switch(".Values.imagePullSecrets", lambda given: replace(given, pull_secrets=(_SECRET,))),
    *(
        Switch(f".Values.{value}", partial(_changed, {f"{value.rpartition('.')[2]}_sources": (mark,)}))
        for mark, value in _SOURCES.items()
    ),
    Switch(".Values.networkPolicy", lambda given: replace(given, network_policy=True)),
    Switch(
        ".Values.webhook.clientCA",
        partial(_changed, {"client_ca": f"{_CLIENT_CA}\n", "client_names": (_CLIENT_NAME,)}),
    ),
    Switch(".Values.monitoring.perRequest", _monitoring("per_request")),
    Switch(".Values.monitoring.serviceMonitors", _monitoring("service_monitors")),
    Switch(".Values.monitoring.alerts", _monitoring("alerts")),
    Switch(".Values.monitoring.dashboard", _monitoring("dashboard")),
    Switch(".Values.hooks.enabled", partial(_changed, {"hooks": f"{_HOOKS}\n"})),
    Switch(".Values.web.dashboard", partial(_changed, {"web_dashboard": _WEB_DASHBOARD})),
    Switch(".Values.web.enabled", partial(_changed, {"web": True, "web_hosts": (_WEB_HOST,)})),
    # The last one is the outermost, within which the agent is there to be changed by the others.
    Switch(".Values.shutdownAgent.enabled", partial(_changed, {"shutdown_agent": _AGENT})),
)
_ALL_OFF = replace(_MARKED, pod_webhooks=False, network_policy=False, monitoring=Monitoring())


def chart_files() -> dict[str, str]:
    """Every file of the chart by its path."""
    files = {
        "Chart.yaml": _chart(),
        "values.yaml": VALUES,
        "values.schema.json": schema(VALUES),
        "README.md": readme(VALUES),
        "templates/NOTES.txt": NOTES,
    }
    # Some parts are there with a switch, and some without.
    for part in [*(parts(_with(SWITCHES)) | parts(_ALL_OFF)), _TEST]:
        text = _branches(part, _ALL_OFF, _relevant(part))
        if part == "namespace":
            text = _if(".Values.createNamespace", text, "")
        files[f"templates/{part}.yaml"] = text
    return files


def _with(switches: Sequence[Switch]) -> Settings:
    made = _ALL_OFF
    for switch in switches:
        made = switch.on(made)
    return made


def _relevant(part: str) -> list[Switch]:
    """The switches that change the part, with all the others off or on."""
    found = []
    for switch in SWITCHES:
        others = _with([one for one in SWITCHES if one is not switch])
        if any(_part(part, given) != _part(part, switch.on(given)) for given in (_ALL_OFF, others)):
            found.append(switch)
    return found


_TEST = "tests/check"


def _part(name: str, settings: Settings) -> list[Obj]:
    return [_test_pod(settings)] if name == _TEST else part_makers(settings)[name]()


def _test_pod(settings: Settings) -> Obj:
    """What `helm test` runs: `vacate check`, with the rights of the manager, where that could run."""
    container = container_of("check", ["check"], [], settings)
    spec = deployment_of(MANAGER, 1, container, settings)["spec"]["template"]["spec"]
    marks = labels("check")
    meta = {"name": "vacate-check", "namespace": settings.namespace, "labels": marks, "annotations": HOOK}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "restartPolicy": "Never"}}


def _branches(part: str, settings: Settings, switches: Sequence[Switch]) -> str:
    """The last switch is the outermost, and each is written only where it makes a difference."""
    if not switches:
        return _template(_kept(_part(part, settings)))
    *rest, switch = switches
    off, on = _branches(part, settings, rest), _branches(part, switch.on(settings), rest)
    return on if on == off else _folded(switch.condition, on, off)


def _pieces(text: str) -> list[str]:
    """Lines; but what stands between `if` and its `end` is one piece, or a branch could cut it in two."""
    made: list[str] = []
    depth = 0
    for line in text.splitlines(True):
        if depth:
            made[-1] += line
        else:
            made.append(line)
        depth += line.startswith(("{{- if ", "{{- range ", "{{- with ")) - line.startswith("{{- end ")
    return made


@cache
def _folded(condition: str, with_it: str, without: str) -> str:
    """Both texts as one: what is the same once, what differs in branches."""
    on, off = _pieces(with_it), _pieces(without)
    made = []
    for _, a, b, c, d in SequenceMatcher(None, off, on, autojunk=False).get_opcodes():
        same, then, otherwise = off[a:b] == on[c:d], "".join(on[c:d]), "".join(off[a:b])
        made.append(then if same else _if(condition, then, otherwise))
    return "".join(made)


def _if(condition: str, then: str, otherwise: str) -> str:
    if not then:
        return f"{{{{- if not ({condition}) }}}}\n{otherwise}{{{{- end }}}}\n"
    branch = f"{{{{- else }}}}\n{otherwise}" if otherwise else ""
    return f"{{{{- if {condition} }}}}\n{then}{branch}{{{{- end }}}}\n"


def _kept(objects: list[Obj]) -> list[Obj]:
    """Helm must not remove the definition, and all requests with it, when the release goes."""
    for obj in objects:
        if obj["kind"] == "CustomResourceDefinition":
            obj["metadata"].setdefault("annotations", {})[_KEEP] = "keep"
    return objects


def _template(objects: list[Obj]) -> str:
    return "---\n".join(_object_template(json.dumps(obj)) for obj in objects)


@cache
def _object_template(obj: str) -> str:
    """Of an object in JSON; most are the same in most of the branches."""
    text = _own_pods(manifest_of(obj).replace("{{", '{{ "{{" }}'))
    text = _repeated(_BRIDGE_REQUIREMENT.sub(_bridge_requirements, text))
    for mark, value in _VALUES.items():
        text = re.sub(rf": {mark}$", f": {{{{ {value} | quote }}}}", text, flags=re.MULTILINE)
        text = text.replace(mark, f"{{{{ {value} }}}}")
    text = text.replace("{{ .Values.image ", f"{{{{ required {json.dumps(_NO_IMAGE)} .Values.image ")
    # Numbers must stay numbers.
    text = re.sub(r"(replicas: \{\{ \S+) \| quote", r"\1", text)
    return text.replace(_GATES, "{{ .Values.featureGates }}")


_NO_IMAGE = (
    f"image: name it, where nodes can pull it, as --set image=registry.example.com/vacate:{__version__}; "
    "docs/how-to/install.md shows how to build one"
)
_OWN_FIELD = re.compile(rf"^( *)(\w+):(?: {_OWN}|(?:\n +(?:- )?\w*[\w-]*: {_OWN}))\n", re.MULTILINE)
_CONTAINER = re.compile(r"containers:\n +- name: (\w+)$", re.MULTILINE)


def _own_pods(text: str) -> str:
    """What an administrator adds to the pods of Deployments, or puts in place of what is there."""
    if not text.startswith(("apiVersion: apps/v1\nkind: Deployment\n", "apiVersion: v1\nkind: Pod\n")):
        return text
    found = _CONTAINER.search(text)
    assert found is not None
    component = "manager" if found[1] == "check" else found[1]
    label = re.compile(rf"^( *){_OWN_LABEL}: {_OWN}\n", re.MULTILINE)
    text = label.sub(partial(_given, "labels", alone=True), text)
    text = _OWN_FIELD.sub(lambda found: _given(found[2], found), text)
    for key, path in (("affinity", "affinity"), ("resources", f"resources.{component}")):
        block = re.compile(rf"^( *){key}:\n(?:\1 +.*\n)+", re.MULTILINE)
        text = block.sub(partial(_given, path, key=key, otherwise=True), text)
    return text


def _given(
    path: str, found: re.Match[str], *, key: str = "", alone: bool = False, otherwise: bool = False
) -> str:
    """The value, if there is one; otherwise what stands there, or nothing."""
    width = len(found[1])
    head = "" if alone else f"{found[1]}{key or path}:"
    if path == "priorityClassName":
        body = f"{head} {{{{ . | quote }}}}\n"
    elif alone:
        body = f"{{{{ toYaml . | indent {width} }}}}\n"
    else:
        body = f"{head}\n{{{{ toYaml . | indent {width + 2} }}}}\n"
    rest = f"{{{{- else }}}}\n{found[0]}" if otherwise else ""
    return f"{{{{- with .Values.ownPods.{path} }}}}\n{body}{rest}{{{{- end }}}}\n"


def _repeated(text: str) -> str:
    """Lists of values: one line, or one part of a line, for each."""
    each = "{{- range .Values.%s }}\n%s\n{{- end }}"
    lines: list[str] = []
    for line in text.split("\n"):
        if (source := line.strip().removeprefix("cidr: ")) in _SOURCES:
            item = f"{lines.pop()}\n{line.replace(source, '{{ . | quote }}')}"
            lines.append(each % (_SOURCES[source], item))
        elif (mark := line.rpartition("=")[2]) in _LISTED:
            lines.append(each % (_LISTED[mark], line.replace(mark, "{{ . }}")))
        elif (text := line.strip()) in _TEXTS:
            indent = len(line) - len(line.lstrip())
            lines.append(f'{{{{ .Values.{_TEXTS[text]} | trimSuffix "\\n" | indent {indent} }}}}')
        elif line.endswith(f"--interceptor={_BOUND}=mark-account-namespace/mark-account"):
            lines.append(_BOUND_ARGUMENTS.replace("INDENT", line[: len(line) - len(line.lstrip())]))
        elif line.endswith(f"name: {_SECRET}"):
            lines.append(each % ("imagePullSecrets", line.replace(_SECRET, "{{ . | quote }}")))
        else:
            within = "{{ range .Values.allowedInterceptors }}, ''{{ . }}''{{ end }}"
            quoted = line.replace(f", ''{_ALLOWED}''", within)
            quoted = quoted.replace(f", '{_ALLOWED}'", within.replace("''", "'"))
            users = "{{ range .Values.managerUsers }}, ''{{ . }}''{{ end }}"
            quoted = quoted.replace(f", ''{_MANAGER_USER}''", users)
            quoted = quoted.replace(f", '{_MANAGER_USER}'", users.replace("''", "'"))
            lines.append(quoted.replace(f"{{''{_BOUND}'': [''{_ACCOUNT}'']}}", _BOUND_ACCOUNTS))
    return "\n".join(lines)


# The one requirement of the marked selector, which becomes all those that a user gives.
_BRIDGE_REQUIREMENT = re.compile(
    rf"^( *)- key: {_BRIDGE_LABEL}\n +operator: In\n +values:\n +- {_BRIDGE_VALUE}$", re.MULTILINE
)
_BRIDGE_REQUIREMENTS = """\
{{- range $key, $value := .Values.evictionBridge.namespaceSelector.matchLabels }}
INDENT- key: {{ $key | quote }}
INDENT  operator: In
INDENT  values:
INDENT    - {{ $value | quote }}
{{- end }}
{{- range .Values.evictionBridge.namespaceSelector.matchExpressions }}
{{ list . | toYaml | indent WIDTH }}
{{- end }}"""


def _bridge_requirements(found: re.Match[str]) -> str:
    indent = found[1]
    return _BRIDGE_REQUIREMENTS.replace("INDENT", indent).replace("WIDTH", str(len(indent)))


# Accounts by interceptor: as options of the webhook, and as a map in CEL within a text in single quotes. With
# the hooks interceptor comes its own account, unless the user has named others for it.
_ACCOUNTS = (
    "merge (dict) .Values.interceptorAccounts (ternary (dict) "
    f'(dict "{HOOKS_INTERCEPTOR}" (list (printf "%s/{HOOKS}" .Release.Namespace))) '
    "(not .Values.hooks.enabled))"
)
_BOUND_ARGUMENTS = f"""\
{{{{- range $name, $accounts := {_ACCOUNTS} }}}}
{{{{- range $accounts }}}}
INDENT- --interceptor={{{{ $name }}}}={{{{ . }}}}
{{{{- end }}}}
{{{{- end }}}}"""
_BOUND_ACCOUNTS = (
    f'{{{{ "{{" }}}}{{{{ $comma := "" }}}}{{{{ range $name, $accounts := {_ACCOUNTS} }}}}{{{{ $comma }}}}'
    "''{{ $name }}'': [{{ range $i, $account := $accounts }}{{ if $i }}, {{ end }}"
    "''system:serviceaccount:{{ $account | replace \"/\" \":\" }}''{{ end }}]"
    '{{ $comma = ", " }}{{ end }}{{ "}" }}'
)


def _chart() -> str:
    return f"""\
apiVersion: v2
name: vacate
description: A control plane for how Kubernetes pods are evicted and terminated
type: application
version: {__version__}
appVersion: {__version__}
kubeVersion: ">=1.33.0-0"
"""


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


VALUES = f"""\
# Image of manager and webhook, where nodes can pull it. There is no default.
image: ""
imagePullPolicy: IfNotPresent
# Names of Secrets for pulling it.
imagePullSecrets: []

manager:
  replicas: 2
webhook:
  replicas: 2
  # CA of the client certificate that API servers must show, a text of PEM, and names that must stand in it.
  clientCA: ""
  clientNames: []

# What the pods of the Deployments have beside. The shutdown agent, one pod on each node, is not among them.
ownPods:
  labels: {{}}
  nodeSelector: {{}}
  tolerations: []
  # In place of a preference for copies on different nodes.
  affinity: {{}}
  topologySpreadConstraints: []
  priorityClassName: ""
  # In place of requests of 100m CPU and 128Mi, and a limit of 1Gi.
  resources:
    manager: {{}}
    webhook: {{}}
    certificates: {{}}
    hooks: {{}}
    web: {{}}

# Who makes the webhook's certificate: self or cert-manager.
certificates: self

# Names of interceptors that are allowed although they end in k8s.io.
allowedInterceptors: []

# Bind interceptors to service accounts, which alone may report while theirs is active (write a responder
# backup.example.com/backup of lifecycle.k8s.io as backup.backup.example.com):
#   NAME: [NAMESPACE/SERVICEACCOUNT]
interceptorAccounts: {{}}

# Users as which managers work that do not use the service account of this release.
managerUsers: []

# The administrator's limits for every request, and for all NodeMaintenances together; empty for none.
limits:
  # How many of a pod's interceptors get a turn.
  interceptors: ""
  # After how many seconds the pod is evicted, whatever its interceptors do.
  requestSeconds: ""
  # How many nodes all NodeMaintenances together drain at the same time: a number, or a percentage.
  drainingNodes: ""
  # Never drain nodes with two values of this label at once, such as topology.kubernetes.io/zone.
  topologyKey: ""

# Rules by which new pods register interceptors, as a text of YAML.
podRules: ""

# Features to open or close, as NAME=BOOL,…
featureGates: ""

# With the feature gate LifecycleAPI, whether Vacate is the controller of lifecycle.k8s.io: "auto" is unless
# kube-controller-manager has one that works, "on" always, "off" never. With quotes: YAML takes on for true.
lifecycleController: auto

# What becomes of writes while the webhook is away: Fail or Ignore.
failurePolicies:
  requests: Fail
  status: Ignore
  pods: Ignore

# Check the annotations of pods that register interceptors, and register those of new pods of Deployments that
# have opted in (vacate.dev/move-before-eviction).
podWebhooks: true

# Force deletion of pods must be confirmed in every namespace that is not labelled
# vacate.dev/force-delete-guard: disabled. Otherwise in those that are labelled enabled.
guardForceDeletion: false

# Let kubectl drain, Karpenter and the Cluster Autoscaler wait for interceptors: evictions of pods that have
# some are answered with 429 until these are done. The webhook then gets the right to delete pods.
evictionBridge:
  enabled: false
  # The namespaces where that holds; empty for all but those of the system and of this release.
  namespaceSelector:
    matchLabels: {{}}
    matchExpressions: []
  # How many seconds after its last attempt a caller counts as waiting; then its request is withdrawn.
  waitSeconds: 600
  # On API servers without constrained impersonation: "refuse" evictions of callers who may not create
  # EvictionRequests and delete pods, or "request" them all the same, even if another webhook refuses them.
  unverifiedCallers: refuse

# Annotate pods with the reason when they are deleted or evicted. The webhook then gets the right to patch
# pods, which an admission policy narrows to that annotation.
terminationReasons: false

# Wrap the preStop hooks of new pods in namespaces that are labelled vacate.dev/wrap-prestop-hooks: "true", so
# that they are given the reason. Such pods then need to pull Vacate's image.
preStopWrapper: false

# What happens to writes of Vacate's own accounts that change more of an object than they have to: enforce
# (they are refused), audit (warnings and audit log only, where admission plugins of yours change objects on
# every update) or off.
confine: enforce

# Let the manager create Jobs in its namespace, as agents of FencingPolicies. With that right it can use all
# Secrets and accounts of the namespace.
fencingJobs: false

# A pod on each node that terminates its pods in order when the machine goes down.
shutdownAgent:
  enabled: false
  # alone: the agent terminates all pods, and the kubelets' own graceful shutdown is off. beside-kubelet: the
  # kubelet ends them by priority, and waits for the agent in a lowest bucket, until interceptors are done.
  mode: alone
  # Its pods mount paths of the host, which needs a namespace of its own.
  namespace: vacate-shutdown-agent
  # The API by which it requests evictions of pods with interceptors: evictionrequest or evacuation, which
  # needs the feature gate EvacuationAPI.
  api: evictionrequest
  # Accept certificates of kubelets that the cluster's CA has not signed. For beside-kubelet only.
  kubeletInsecureTLS: false
  # A KubeletConfiguration: the buckets, for alone.
  config: |
{_indented(DEFAULT_SHUTDOWN_CONFIG)}
# The interceptor hooks.vacate.dev, which calls services and runs Jobs before pods are evicted. No other
# account reports for it, unless interceptorAccounts names some.
hooks:
  enabled: false
  # The allow-list: which services pods may name, and where Jobs may be run. Files of the Secret vacate-hooks
  # are at /etc/vacate/hooks-secret.
  config: |
{_indented(DEFAULT_HOOKS)}
# The pages of vacate web in the cluster, through kubectl port-forward or a proxy in the same pod, for users
# who sign in with their own tokens. The pod has no rights.
web:
  enabled: false
  # Names under which a proxy serves them.
  hosts: []
  # Where Vacate's Grafana dashboard is; each page links to it.
  dashboard: ""
  # Where the pages are, for the links of monitoring.dashboard; without a slash at its end.
  url: http://127.0.0.1:7411

networkPolicy: true
# Ranges of addresses (CIDR): of API servers, and of Prometheus and the nodes. None: everywhere.
networkPolicySources:
  webhook: []
  metrics: []

# The definition of EvictionRequests. It stays when the release is uninstalled.
definitions: true

# Helm makes namespaces itself (--create-namespace), but without the labels for pod security.
createNamespace: false

# Needs the Prometheus operator.
monitoring:
  # Series that name single requests and their pods; needs no operator.
  perRequest: false
  serviceMonitors: false
  alerts: false
  dashboard: false
"""
