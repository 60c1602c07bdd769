"""What Prometheus scrapes, and when it alerts."""

from __future__ import annotations

from vacate.api.installednames import MANAGER, WEBHOOK, labels
from vacate.api.objects import Obj
from vacate.install.settings import Settings

_API = "monitoring.coreos.com/v1"
_QUEUE = 'name="evictionrequests"'
_RUNBOOK = "docs/how-to/switch-off.md"
# Series of single requests, where they are shown, say which pod and namespace: those of the manager must not
# take their place.
_ENDPOINT = {"port": "metrics", "path": "/metrics", "interval": "30s", "honorLabels": True}
# A manager that waits for its turn shows the same requests, and the one that leads may change.
_UNPREPARED = 'vacate_turns_ended_total{result=~"failed|timed-out|never-responded"}'
_TURNS = "min by (interceptor) (vacate_interceptor_oldest_turn_seconds)"


def service_monitors(settings: Settings) -> list[Obj]:
    """One for each part that runs in the cluster."""
    running = [(MANAGER, settings.deploy_manager), (WEBHOOK, settings.deploys_webhook)]
    return [_monitor(name, settings) for name, runs in running if runs]


def alerts(settings: Settings) -> Obj:
    """Rates, queues and ages that are not as they should be."""
    group = {"name": "vacate", "rules": [*_process_alerts(), *_health_alerts()]}
    return {
        "apiVersion": _API,
        "kind": "PrometheusRule",
        "metadata": {"name": "vacate", "namespace": settings.namespace, "labels": labels("alerts")},
        "spec": {"groups": [group]},
    }


def _monitor(name: str, settings: Settings) -> Obj:
    marks = labels(name.removeprefix("vacate-"))
    return {
        "apiVersion": _API,
        "kind": "ServiceMonitor",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": marks},
        "spec": {
            "selector": {"matchLabels": marks},
            "endpoints": [_ENDPOINT],
        },
    }


def _process_alerts() -> list[Obj]:
    return [
        _alert(
            "VacateEvictionRateHigh",
            'sum(rate(vacate_evictions_total{result="accepted"}[5m])) * 60 > 300',
            "10m",
            "warning",
            "More than 300 pods a minute are being evicted. If that is not intended, switch Vacate off.",
        ),
        _alert(
            "VacateEvictionsRefused",
            'sum(rate(vacate_evictions_total{result="refused"}[30m]))'
            ' > 4 * (sum(rate(vacate_evictions_total{result="accepted"}[30m])) or vector(0))',
            "30m",
            "warning",
            "Most evictions are refused: disruption budgets allow less than is asked for.",
        ),
        _alert(
            "VacateInterceptorOld",
            f"time() - {_TURNS} > 6 * 3600",
            "10m",
            "warning",
            "Interceptor {{ $labels.interceptor }} has had its turn with a pod for more than six hours. "
            "`vacate status -A` names the pod.",
        ),
        _alert(
            "VacateDrainBlocked",
            "time() - min by (maintenance) (vacate_drain_blocked_since_seconds) > 15 * 60",
            "5m",
            "warning",
            "The drain of NodeMaintenance {{ $labels.maintenance }} needs a person for more than 15 minutes. "
            "`vacate drain --follow {{ $labels.maintenance }}` shows what holds it, and what helps; so does "
            "the page /drains/{{ $labels.maintenance }} of `vacate web`.",
        ),
        _alert(
            "VacatePodsUnprepared",
            f"sum by (result) (increase({_UNPREPARED}[30m])) > 0",
            "0m",
            "warning",
            "Pods were evicted unprepared: an interceptor did not complete ({{ $labels.result }}). Warning "
            "Events name them: `kubectl get events -A --field-selector type=Warning`.",
        ),
        _alert(
            "VacateFencingFailed",
            "max by (policy) (vacate_fencing_failing_nodes) > 0",
            "0m",
            "critical",
            "A fence of FencingPolicy {{ $labels.policy }} failed or is unclear, and the pods of the node "
            "are held. `kubectl describe fencingpolicy {{ $labels.policy }}` says why.",
        ),
        _alert(
            "VacateVolumeShared",
            "max(vacate_exclusive_volumes_shared) > 0",
            "0m",
            "critical",
            "Pods run with an exclusive volume on several nodes: its data may be "
            "destroyed. `kubectl get events -A --field-selector reason=VolumeShared` names them.",
        ),
        _alert(
            "VacateQueueDeep",
            f"max(workqueue_depth{{{_QUEUE}}}) > 500",
            "10m",
            "warning",
            "More than 500 eviction requests wait for the controller's attention.",
        ),
    ]


def _health_alerts() -> list[Obj]:
    called = 'name=~".*vacate[.]dev"'
    return [
        _alert(
            "VacateNoLeader",
            "absent(leader_election_master_status == 1)",
            "5m",
            "critical",
            "No vacate manager works on eviction requests.",
        ),
        _alert(
            "VacateInformerStalled",
            "max by (name, resource) (vacate_informer_stalled_seconds) > 60",
            "5m",
            "critical",
            "{{ $labels.name }} has received no changes of {{ $labels.resource }} for more than five minutes "
            "and acts on what it knew before. Its log and /readyz?verbose say why.",
        ),
        _alert(
            "VacateObjectsUnreadable",
            "max by (name, resource) (vacate_informer_unreadable_objects) > 0",
            "10m",
            "warning",
            "{{ $labels.name }} skips {{ $value }} objects of {{ $labels.resource }} because it cannot "
            "decode them. Its log names each, with the field to correct.",
        ),
        _alert(
            "VacateWebhookAway",
            "sum(rate(apiserver_admission_webhook_rejection_count{"
            f'{called},error_type="calling_webhook_error"}}[5m])) > 0'
            f" or sum(rate(apiserver_admission_webhook_fail_open_count{{{called}}}[5m])) > 0",
            "5m",
            "critical",
            "API servers cannot reach the webhook. New eviction requests are refused; heartbeats and pods "
            "pass unchecked.",
        ),
        _alert(
            "VacateCertificateExpires",
            "min(vacate_webhook_certificate_not_after_seconds) - time() < 5 * 86400",
            "10m",
            "warning",
            "The webhook's certificate expires within five days and is not renewed. Look at the log of "
            "deployment vacate-certificates, or at cert-manager.",
        ),
    ]


def _alert(name: str, expression: str, lasting: str, severity: str, summary: str) -> Obj:
    return {
        "alert": name,
        "expr": expression,
        "for": lasting,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "runbook": _RUNBOOK},
    }
