"""Examples at the end of each command's help: every one can be typed as it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vacate import __version__
from vacate.cli.common.program import program_name

Example = tuple[str, str]
"""A command without the program's name, and what it is for."""

_IMAGE = f"registry.example.com/vacate:{__version__}"
EXAMPLES: Mapping[str, Sequence[Example]] = {
    "up": (
        ("up", "a cluster in ~/.vacate"),
        ("up --dir ./cluster --port 0 --nodes 5", "another one, on any free port"),
        ("up --no-evictions -v", "without Vacate's controllers, with a log"),
    ),
    "web": (
        ("web", "open the page of the current context"),
        ("web --context staging --no-browser --port 0", "print the address, on any free port"),
    ),
    "manager": (
        ("manager", "in a pod, or with the current kubeconfig"),
        ("manager --context staging --no-leader-elect -v", "without leader election, with a log"),
    ),
    "install": (
        (f"install --image {_IMAGE} --wait", "install, and wait until it is ready"),
        ("install --dry-run", "show what would change"),
        (f"install --image {_IMAGE} --print > vacate.yaml", "objects for a repository"),
    ),
    "uninstall": (
        ("uninstall", "all but the definitions and the requests"),
        ("uninstall --crds", "everything"),
    ),
    "webhook": (("webhook --cert-dir ./certificates", "with tls.crt and tls.key of a folder"),),
    "certificates": (
        ("certificates -n vacate-system", "beside the webhook of that namespace"),
        ("certificates --cert-dir ./certificates", "for a webhook that runs outside the cluster"),
    ),
    "hooks": (
        ("hooks --config hooks.yaml", "in a pod, or with the current kubeconfig"),
        ("hooks --config hooks.yaml --no-leader-elect -v", "without leader election, with a log"),
    ),
    "node": (
        ("node --name laptop", "run the pods that tolerate such nodes"),
        ("node --name laptop --no-taint --stop-pods -v", "any pod, terminated with the agent, with a log"),
        ("node --name laptop --config kubelet.yaml", "terminate pods in order when the machine shuts down"),
        ("node shutdown laptop --dry-run --config kubelet.yaml", "show that order"),
        ("node reboot laptop --force", "drain this machine's node, then reboot"),
    ),
    "shutdown-agent": (
        ("shutdown-agent --node-name node-1 --config kubelet.yaml", "as root, on the node itself"),
    ),
    "demo": (
        ("demo", "watch a node being drained, for about half a minute"),
        ("demo --runtime process", "real processes, and why they end, for ten seconds"),
    ),
    "drain": (
        ("drain node-1 --ignore-daemonsets", "drain a node, and follow it"),
        ("drain node-1 --dry-run", "show what would happen and what would block it"),
        ("drain -l pool=old --max-nodes 25% --detach", "a quarter of a pool at a time, without waiting"),
        ("drain --follow drain-node-1", "return to a drain that is under way"),
        ("drain node-1 --deadline 1h --on-deadline Report", "report it if a node takes longer than an hour"),
        ("drain node-1 --cancel", "cancel the drain of a node; what was evicted stays evicted"),
    ),
    "plan": (
        ("plan node-1 --ignore-daemonsets", "would the drain of a node finish, and when"),
        ("plan -l pool=old --max-nodes 1,2,5 --ignore-daemonsets", "compare how many nodes at a time"),
        ("plan --all-nodes --ignore-daemonsets --save before.snapshot", "keep what was read"),
        ("plan node-1 --from before.snapshot --interceptor backup.example.com=10m", "plan for what was kept"),
    ),
    "uncordon": (("uncordon node-1", "make the node schedulable again"),),
    "deschedule": (
        ("deschedule", "pods on nodes where they should not be, and which would be evicted"),
        ("deschedule --rule taints --evict", "evict those that do not tolerate their node's taints"),
    ),
    "fence": (
        ("fence node-1 --agent fence_redfish --options bmc-1.conf --dry-run", "check the agent"),
        ("fence node-1 --agent fence_redfish --secret vacate-system/bmc-1", "fence the node"),
        ("fence node-1 --agent fence_redfish --options bmc-1.conf --undo", "bring it back"),
        ("fence node-1 --approve", "approve a fencing that the node's FencingPolicy holds back"),
    ),
    "detach": (
        ("detach disk --dry-run", "see which node and pod have the volume"),
        ("detach disk --confirm", "free it; the old node must no longer reach the storage"),
    ),
    "evict": (
        ("evict web-1", "request the eviction of a pod"),
        ('evict web-1 --reason "kernel update" --wait', "give a reason, and wait until it is evicted"),
        ("evict -l app=web -n shop --timeout 10m", "all with a label; exit code 4 on a timeout"),
        ("evict deployment/web --dry-run", "what would happen to the pods of a workload"),
        ("evict --node node-1 --yes", "the pods of a node, without asking for confirmation"),
        ("evict web-1 --api evacuation", "with an Evacuation, if the cluster serves them"),
    ),
    "delete": (
        ("delete pod web-1", "begin graceful deletion"),
        ('delete pod web-1 --reason="resolve issue 354961" --wait', "give its hooks the reason, and wait"),
        ("delete pod -l app=web --grace-period 5 --dry-run", "show which pods would be deleted"),
        ("delete pod db-0 --force --confirm", "remove a pod whose node is gone for good"),
        ("delete pod --on-node node-1 --force --confirm", "release all pods of a node that is gone for good"),
        ("delete node node-1 --confirm", "declare that a machine is gone for good"),
    ),
    "status": (
        ("status", "requests of this namespace"),
        ("status -A --sort-by age", "of all namespaces, the oldest first"),
        ("status web-1 -w", "follow one pod to its end"),
        ("status -l app=web -o wide", "by labels, with all columns"),
        ("status -w -o json", "changes for a program"),
        ("status --nodes", "nodes that do not report, and the pods that wait for them"),
    ),
    "retry": (
        ("retry web-1", "attempt the eviction now, and let interceptors try again"),
        ("retry node/node-1", "every blocked eviction of a node"),
        ("retry drain/drain-node-1", "every blocked eviction of a drain"),
    ),
    "skip": (("skip web-1 backup.example.com", "do not wait for this interceptor"),),
    "cancel": (
        ("cancel web-1", "withdraw your own request"),
        ("cancel -l app=web", "all of yours with a label"),
        ("cancel web-1 --override", "for all requesters, as an administrator"),
    ),
    "explain": (
        ("explain web-1", "what the eviction waits for, and what to do"),
        ("explain node/node-1", "its drains, what holds them, and each of its pods"),
        ("explain deployment/web -n shop -o json", "each pod of a workload, for a program"),
    ),
    "interceptors": (
        ("interceptors", "of the pods of this namespace"),
        ("interceptors -A -o json", "of all namespaces, for a program"),
    ),
    "drains": (
        ("drains", "all of them, and what holds them"),
        ("drains nodemaintenance/drain-node-1 -o json", "one, for a program"),
    ),
    "check": (
        ("check", "each part of the installation, with what helps where it fails"),
        ("check -o json", "the same for a program; the exit code says whether anything has failed"),
    ),
    "version": (
        ("version", "of this program and of the cluster"),
        ("version --client", "of this program only"),
    ),
    "completion": (
        ("completion bash > ~/.local/share/bash-completion/completions/vacate", ""),
        ("completion zsh > ~/.zfunc/_vacate", "with ~/.zfunc in fpath"),
        ("completion fish > ~/.config/fish/completions/vacate.fish", ""),
    ),
}
"""By command."""


def epilog_of(command: str) -> str | None:
    """The examples of a command as its help shows them."""
    lines = EXAMPLES.get(command)
    if not lines:
        return None
    return "\b\nExamples:\n" + "\n".join(_shown(*line) for line in lines)


def _shown(command: str, purpose: str) -> str:
    typed = f"  {program_name()} {command}"
    return f"  # {purpose}:\n{typed}" if purpose else typed
