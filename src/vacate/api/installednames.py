"""Names that the parts of an installation know each other by."""

from __future__ import annotations

DEFAULT_NAMESPACE = "vacate-system"
"""Where Vacate is installed unless one chooses otherwise."""

MANAGER, WEBHOOK, CERTIFICATES = "vacate-manager", "vacate-webhook", "vacate-certificates"
INTERCEPTOR, REQUESTER, VIEWER = "vacate-interceptor", "vacate-requester", "vacate-viewer"
WEB = "vacate-web"
HOOKS, HOOK_JOBS, HOOKS_SECRET = "vacate-hooks", "vacate-hooks-jobs", "vacate-hooks"
NODE_MAINTAINER, NODE_FENCER = "vacate-node-maintainer", "vacate-node-fencer"
SHUTDOWN_AGENT, SHUTDOWN_REQUESTER = "vacate-shutdown-agent", "vacate-shutdown-requester"
INTERCEPTOR_DELETES = "vacate-interceptor-pod-deletion"
MUTATING, VALIDATING = "vacate-mutating", "vacate-validating"
RIGHT_TO_DELETE, STEPS = "vacate-right-to-delete-pod", "vacate-steps"
FINALIZERS, EVICTION_SIZE = "vacate-finalizers", "vacate-eviction-size"
CONFINES = "vacate-confine-"
"""How the names of policies begin that confine an account to what it has to write."""

WEBHOOK_REQUESTS, FENCE_MARKS = "vacate-webhook-own-requests", "vacate-fence-marks"
MANAGER_REQUESTS = "vacate-manager-own-requests"
CERTIFICATE_SECRET, MANAGER_LEASE = "vacate-certificates-own-secret", "vacate-manager-lease"
STATUS_AUTHORITY = "vacate-status-authority"
EVACUATION_RIGHT_TO_DELETE = "vacate-evacuations-right-to-delete-pod"
EVACUATION_STEPS = "vacate-evacuations-steps"
EVACUATION_STATUS_AUTHORITY = "vacate-evacuations-status-authority"
RESPONDER_AUTHORITY = "vacate-responder-authority"
OWN_NODE, OWN_PODS = "vacate-shutdown-agent-own-node", "vacate-shutdown-agent-own-pods"
NODE_USERS, NODE_PODS = "system:node:*", "vacate-node-own-pods"
NODE_REQUESTS = "vacate-node-own-requests"
OWN_LIFECYCLE = {
    account: f"{name}-own-lifecycle-requests"
    for account, name in (
        (MANAGER, MANAGER), (WEBHOOK, WEBHOOK), (SHUTDOWN_AGENT, SHUTDOWN_AGENT), (NODE_USERS, "vacate-node"),
    )
}  # fmt: skip
"""The policies about EvictionRequests of lifecycle.k8s.io, by the account that writes them."""
OWN_EVENTS = {account: f"{account}-own-events" for account in (MANAGER, WEBHOOK, SHUTDOWN_AGENT, HOOKS)}
"""The policies about the Events that an account writes."""
OWN_LEASES = {account: f"{account}-own-lease" for account in (MANAGER, HOOKS)}
"""The policies about Leases that an account creates, which is called as its Lease is."""

FORCE_DELETION, FORCE_EVICTION = "vacate-force-deletion", "vacate-force-eviction"
NO_GRACE, NODE_DELETION = "vacate-statefulset-grace", "vacate-node-deletion"
NODE_MARKS, EXCLUSIVE_GATE = "vacate-node-deletion-marks", "vacate-exclusive-gate"
TLS_SECRET = "vacate-webhook-tls"
CA_SECRET = "vacate-webhook-ca"  # of the authority, where cert-manager keeps it
RULES_CONFIG_MAP, CLIENT_CA_CONFIG_MAP = "vacate-pod-rules", "vacate-webhook-client-ca"
INVENTORY, INSTALL_LEASE = "vacate-installation", "vacate-install"
METRICS_PORT, WEBHOOK_PORT, REASONS_PORT, WEB_PORT = 8085, 9443, 9444, 7411
MUTATE_REQUESTS, VALIDATE_REQUESTS = "/mutate/evictionrequests", "/validate/evictionrequests"
MUTATE_EVACUATIONS, VALIDATE_EVACUATIONS = "/mutate/evacuations", "/validate/evacuations"
VALIDATE_EVICTIONS = "/validate/evictions"
VALIDATE_LIFECYCLE = "/validate/lifecyclerequests"
ANNOTATE_REASONS = "/annotate/reasons"
RECORD_FORCE_DELETIONS = "/record/forcedeletions"
MUTATE_PODS, VALIDATE_PODS = "/mutate/pods", "/validate/pods"
MUTATE_WORKLOAD_PODS, MUTATE_HOOKS = "/mutate/workloadpods", "/mutate/prestophooks"
TROUBLE = "vacate.dev/trouble"
"""The annotation of its Lease in which a manager says what holds it up."""
MANAGER_VERSION, LAST_WORK = "vacate.dev/version", "vacate.dev/last-work"
LIFECYCLE_CONTROLLER, OWN_LIFECYCLE_CONTROLLER = "vacate.dev/lifecycle-controller", "vacate"
LIFECYCLE_RESUMED = "vacate.dev/lifecycle-resumed"
"""Annotations of the same Lease: the leader's version, when it last finished an object, who is the controller
of lifecycle.k8s.io, and when Vacate went on in place of another one, whose writes until then do not count."""
EMBEDDED_BUILD = "+vacate"
"""How the release ends that a cluster of `vacate up` reports."""

PART_OF = {"app.kubernetes.io/part-of": "vacate"}


def labels(component: str) -> dict[str, str]:
    """What every object of a component carries, and what selects its pods."""
    return {"app.kubernetes.io/name": "vacate", "app.kubernetes.io/component": component, **PART_OF}
