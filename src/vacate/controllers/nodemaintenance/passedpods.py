"""Pods that the eviction controller removes past a budget or an interceptor, for reports of maintenances."""

from __future__ import annotations

from vacate.api.types.evictionrequest import FORCED, EvictionRequest
from vacate.api.types.meta import condition
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.controllers.nodemaintenance.attempts import WriteAttempts
from vacate.controllers.nodemaintenance.caches import MaintenanceCaches
from vacate.eviction.records.reader import forced_by


class PassedPods:
    """Follows the requests: one that says so may be gone with its pod before its maintenance is looked at."""

    def __init__(self, view: MaintenanceCaches, attempts: dict[str, WriteAttempts]) -> None:
        self._view = view
        self._attempts = attempts
        for requests in view.requests.values():
            requests.subscribe(self._note)

    def _note(self, _old: EvictionRequest | None, new: EvictionRequest | None) -> None:
        if new is None or not new.pod_name or condition(new.status.conditions, FORCED) is None:
            return
        for key in self._view.of_request(new):
            passed = self._attempts.setdefault(key.name, WriteAttempts()).passed
            if forced_by(new) is not None:
                passed[new.pod_uid] = f"{new.metadata.namespace}/{new.pod_name}"
            else:
                passed.pop(new.pod_uid, None)

    def report(self, maintenance: NodeMaintenance, attempts: WriteAttempts) -> None:
        """Count those that leave now, or have left, each for the node that it was on."""
        known = {(row.name, pod) for row in maintenance.status.nodes for pod in row.forced_pods}
        for uid, name in attempts.passed.items():
            namespace, _, pod_name = name.partition("/")
            found = self._view.pods.reader.get(namespace, pod_name)
            pod = found if found is not None and found.metadata.uid == uid else None
            if pod is not None and not pod.terminating:
                continue
            node = attempts.placed.get(uid) or (pod.spec.node_name if pod is not None else "")
            if (node, name) in known:  # by this process, or the one before
                attempts.counted.add(uid)
            elif node:
                attempts.force_named(uid, node, name)
