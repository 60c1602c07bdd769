"""PURE. Whether a pod has ended for certain, so that its volume may go to another node."""

from __future__ import annotations

from vacate.api.types import Node, Pod
from vacate.kube.nodes import OUT_OF_SERVICE, readiness


def why_unconfirmed(pod: Pod | None, node: Node | None, *, where: str, seen_to_end: bool) -> str:
    """What is missing before the pod counts as ended; empty where nothing is.

    `pod` is what the API server has under that UID, `node` the Node it was on (`where` is its name), both
    read just now. `seen_to_end`: this process saw the pod's node report the end before the pod was removed.
    """
    if pod is not None:
        # The node reports a terminal phase only when no container runs any more.
        return "" if pod.terminal else _still_there(pod, where)
    if not where or seen_to_end or node is None:
        # Never on a node; ended before our eyes; or the Node was deleted, which declares it gone for good.
        return ""
    if readiness(node) == "True":
        return ""  # a node that is ready has removed a pod only after its processes, or has ended them since
    if any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return ""  # fenced: nothing runs there
    silent = "is not ready" if readiness(node) == "False" else "does not report"
    return (
        f"the pod is gone, but node {where} {silent}, and it is not known whether the pod's processes have "
        "ended"
    )


def _still_there(pod: Pod, where: str) -> str:
    if pod.terminating:
        return (
            f"node {where} has not confirmed that the pod has terminated"
            if where
            else "the pod is terminating"
        )
    return "the pod uses it"
