"""PURE. Pods that are older than the opt-in of their workload, in Kubernetes' own API."""

from __future__ import annotations

from dataclasses import replace

from vacate.api.types import Pod
from vacate.api.workloads import OWN_RESPONDERS
from vacate.views.budgets import scaled_workload
from vacate.views.model import Explanation, Remedy
from vacate.views.phrases import command_line, listed
from vacate.views.replacing import interceptors_on


def lacks_responders(pod: Pod) -> list[str]:
    """The responders that stand for interceptors of its workload, of which the pod lists none."""
    there = {one.name for one in pod.spec.eviction_responders}
    if pod.terminating or pod.terminal or there & {*OWN_RESPONDERS.values()}:
        return []
    registered = interceptors_on(pod)
    return [responder for interceptor, responder in OWN_RESPONDERS.items() if interceptor in registered]


def with_missing_responders(explanation: Explanation, pod: Pod) -> Explanation:
    """The explanation with what the pod lacks where lifecycle.k8s.io is served: it cannot be added."""
    missing = lacks_responders(pod)
    if not missing:
        return explanation
    lacks = (
        f"A request by lifecycle.k8s.io does not wait for {listed(missing)}: the pod was created before its "
        "workload opted in, and the responders of a pod never change."
    )
    remedies = explanation.remedies
    if workload := scaled_workload(pod):
        words = "rollout", "restart", "/".join(workload), "-n", pod.metadata.namespace
        again = Remedy("Create the pods again, so that they list them.", command_line("kubectl", *words))
        remedies = (*remedies, again)
    return replace(explanation, next=(*explanation.next, lacks), remedies=remedies)
