"""A cluster with a node that runs containers, as its administrator and its users see it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from hack.kubelab.obtain import ASSETS
from hack.nodelab.inside import AUDIT, IMAGE, KUBECONFIG

from support.kubectl import Kubectl, Ran
from support.nodes.objects import budget, interceptor, namespace
from support.realcluster.audit import Call, calls
from support.waiting import LIMIT, until

HOME = "vacate-system"
SHOP = "shop"
ACCOUNT = "system:serviceaccount"
_TIMEOUT = LIMIT


class NodeCluster:
    """The cluster that this process runs in the namespaces of."""

    def __init__(self, home: Path) -> None:
        self.image = os.environ[IMAGE]
        self.kubeconfig = Path(os.environ[KUBECONFIG])
        binary = Path(os.environ[ASSETS]) / "kubectl"
        self.system = Kubectl(str(binary), self.kubeconfig, home, HOME)
        self.shop = self.system.within(SHOP)

    def vacate(self, *arguments: str, seconds: float = 200.0) -> Ran:
        """The command line of this checkout, as the administrator."""
        command = [sys.executable, "-m", "vacate", *arguments, "--kubeconfig", str(self.kubeconfig)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        return Ran(" ".join(["vacate", *arguments]), done.returncode, done.stdout, done.stderr)

    def open_shop(self) -> None:
        """A namespace with an interceptor that only has its role, and an operator with his."""
        self.system("create -f -", namespace(SHOP)).ok()
        # Its rights come first: whatever it was refused in its first moments would be counted at the end.
        give = "--clusterrole=vacate-interceptor --serviceaccount=shop:backup"
        self.shop(f"create clusterrolebinding backup {give}").ok()
        self.shop("create serviceaccount operator").ok()
        self.shop("create rolebinding ask --clusterrole=vacate-requester --serviceaccount=shop:operator").ok()
        self.shop("create role delete-pods --verb=delete --resource=pods").ok()
        self.shop("create rolebinding delete-pods --role=delete-pods --serviceaccount=shop:operator").ok()
        self.shop("create -f -", [*interceptor(self.image), budget()]).ok()
        self.ready("pod/backup")

    def ready(self, *what: str) -> None:
        """Wait until these of the shop are ready."""
        for one in what:
            self.shop.until(f"wait --for=condition=Ready --timeout=20s {one}", seconds=_TIMEOUT)

    def pods(self, labels: str = "") -> list[dict[str, Any]]:
        """Vacate's own, or some of them."""
        listed: list[dict[str, Any]] = self.system(f"get pods -o json -l '{labels}'").json()["items"]
        return listed

    def leader(self) -> str:
        """Who holds the managers' lease; nothing where nobody does."""
        return self.system("get lease vacate-manager -o jsonpath={.spec.holderIdentity}").ok()

    def kill_container(self, name: str) -> None:
        """End the processes of a pod's container as a power cut would."""
        pod = self.system(f"get pod {name} -o json").json()
        container = pod["status"]["containerStatuses"][0]["containerID"].rpartition("/")[2]
        killed = [number for number in _processes() if container in _groups(number)]
        assert killed
        for number in killed:
            os.kill(number, signal.SIGKILL)

    def calls(self) -> list[Call]:
        """All that the API server was asked."""
        return list(calls(Path(os.environ[AUDIT])))

    def evictions(self, pod: str) -> list[int]:
        """How the evictions of a pod were answered."""
        return [call.code for call in self.calls() if (call.resource, call.name) == ("pods/eviction", pod)]

    def gone(self, kubectl: Kubectl, what: str) -> None:
        """Wait until an object is not there any more."""
        until(lambda: kubectl(f"get {what}").code != 0, _TIMEOUT)


def _processes() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def _groups(number: int) -> str:
    try:
        return Path(f"/proc/{number}/cgroup").read_text()
    except OSError:  # it has ended meanwhile
        return ""
