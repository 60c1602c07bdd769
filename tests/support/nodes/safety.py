"""Two nodes with real kubelets and one volume: what writes to it, and what cuts the second node off."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hack.nodelab import power
from hack.nodelab.network import link_to
from hack.nodelab.settings import NODE_ADDRESS, Identity

from support.kubectl import Kubectl
from support.nodes.cluster import HOME, NodeCluster
from support.waiting import until

Obj = dict[str, Any]
SECOND = Identity(2)
FIRST_NODE, LOST = "node-1", SECOND.name
GATED, PLAIN = "databases", "scratch"
_LIMIT = 180.0

# A lock in the volume is the lease: the kernel that serves the volume keeps it as long as a process lives,
# whatever any API says. Who does not get it goes on, as an application without locks would, and says so.
_WRITE = """
import fcntl, os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
data, me = pathlib.Path("/data"), os.environ["POD"] + " on " + os.environ["NODE"]
lease = (data / "lease").open("w")
def add(name, line):
    with (data / name).open("a") as file:
        print(line, file=file)
try:
    fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    add("overlaps", me + " beside " + (data / "owner").read_text())
(data / "owner").write_text(me)
while True:
    add("written", me)
    time.sleep(0.2)
"""


class FencedMachine:
    """A fence agent over HTTP that switches the second node off and on, or only says so."""

    def __init__(self) -> None:
        self.lies = False
        self.calls: list[str] = []
        machine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = json.dumps(machine.answer(asked)).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer((NODE_ADDRESS, 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where the manager finds it."""
        return f"http://{NODE_ADDRESS}:{self._server.server_port}/"

    def answer(self, asked: Obj) -> Obj:
        """What was done; one that lies says that the machine is off, and it is not."""
        action, node = asked["action"], asked["node"]
        assert node == LOST
        self.calls.append(action)
        if action != "status" and not self.lies:
            power.wish(node, action, _LIMIT)
        state = action if action != "status" else power.state_of(node)
        return {"node": node, "uid": asked["uid"], "state": state}

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class SafetyCluster(NodeCluster):
    """The cluster, its two namespaces, and the volume of each."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.disks = self.kubeconfig.parent / "disks"  # both nodes see it, under this name
        self.databases, self.scratch = self.system.within(GATED), self.system.within(PLAIN)

    def install(self) -> None:
        """On the first node: the second will be lost."""
        self.system(f"cordon {LOST}").ok()
        self.system(f"delete pods --ignore-not-found --field-selector spec.nodeName={LOST}").ok()
        self.vacate(
            "install", "--reset", "--image", self.image, "--guard-force-deletion", "--wait", "3m"
        ).ok()
        self.system(f"uncordon {LOST}").ok()
        self.system("create -f -", [*_namespace(GATED, gated=True), *_namespace(PLAIN, gated=False)]).ok()
        for kubectl in (self.databases, self.scratch):
            self._disk(kubectl)

    def _disk(self, kubectl: Kubectl) -> None:
        name = kubectl.namespace
        folder = self.disks / name
        folder.mkdir(parents=True)
        kubectl("create -f -", _volume(name, str(folder))).ok()
        kubectl.until("get pvc data -o jsonpath={.status.phase}", lambda ran: ran.out == "Bound")

    def written(self, by: str = "", disk: str = GATED) -> int:
        """How often was written to the disk, by a pod on a node where one is named."""
        file = self.disks / disk / "written"
        return sum(by in line for line in file.read_text().splitlines()) if file.exists() else 0

    def overlaps(self, disk: str = GATED) -> str:
        """Who wrote while another one did."""
        file = self.disks / disk / "overlaps"
        return file.read_text() if file.exists() else ""

    def writes(self, node: str, pod: str = "") -> None:
        """Wait until the database writes from that node, from now on."""
        by = f"{pod} on {node}" if pod else f" on {node}"
        before = self.written(by)
        until(lambda: self.written(by) > before + 1, _LIMIT)

    def uid(self, pod: str = "db-0") -> str:
        """Of the pod that has the name now."""
        return self.databases(f"get pod {pod} -o jsonpath={{.metadata.uid}}").out

    def waits_at_gate(self, not_uid: str) -> str:
        """Wait until another pod of that name stands at the gate; what `vacate explain` says about it."""

        def standing() -> str:
            found = self.databases("get pod db-0 -o json")
            if found.code or found.json()["metadata"]["uid"] == not_uid:
                return ""
            gates = found.json()["spec"].get("schedulingGates") or []
            return str(found.json()["metadata"]["uid"]) if gates else ""

        until(standing, _LIMIT)

        def explained() -> str:
            ran = self.vacate("explain", "db-0", "-n", GATED)
            return ran.out if ran.code == 0 and "vacate detach" in ran.out else ""

        return until(explained, _LIMIT)

    def events(self, kubectl: Kubectl, reason: str) -> list[str]:
        """The names of the objects that have an Event with that reason."""
        path = "jsonpath={.items[*].involvedObject.name}"
        return sorted(set(kubectl(f"get events --field-selector reason={reason} -o {path}").ok().split()))

    def taken_from(self) -> list[str]:
        """The nodes from which a person took the volume, and which have not confirmed."""
        found = self.system(f"get pv {GATED} -o json").json()["metadata"]["annotations"]
        return [one["node"] for one in json.loads(found.get("vacate.dev/detached", "[]"))]

    def reports(self, node: str = LOST) -> str:
        """The condition Ready of a node."""
        path = "jsonpath={.status.conditions[?(@.type=='Ready')].status}"
        return self.system(f'get node {node} -o "{path}"').ok()

    def phase_of_fence(self) -> str:
        """Of the second node, as the policy has it."""
        path = f"jsonpath={{.status.nodes[?(@.name=='{LOST}')].phase}}"
        return self.system(f'get fencingpolicy rack -o "{path}"').out

    def wait_for(self, ask: Callable[[], object]) -> None:
        """A condition that takes a while."""
        until(ask, _LIMIT)

    def cut_off(self) -> None:
        """Pull the cable of the second node."""
        _link("down")

    def join(self) -> None:
        """Put it in again."""
        _link("up")

    def refuses_force(self) -> None:
        """Wait until the guard refuses a force deletion: policies come with a delay."""
        force = "delete pod db-0 --grace-period=0 --force"
        until(lambda: self.databases(f"{force} --dry-run=server").code, _LIMIT)
        self.databases(force).failed("confirm")

    def state(self) -> str:
        """What someone who looks at a failure wants to see."""
        looks = (
            "get nodes,pods,pv,fencingpolicies -A -o wide",
            "get pv -o yaml",
            "get fencingpolicies -o yaml",
            "get events -A --sort-by=.lastTimestamp",
            f"-n {HOME} logs -l app.kubernetes.io/component=manager --tail=60",
        )
        files = "\n".join(f"{disk}: {self.overlaps(disk)}" for disk in (GATED, PLAIN))
        return "\n".join([files, *(str(self.system(look)) for look in looks)])


def policy(url: str) -> Obj:
    """Fences the second node soon after it is lost, and lets it come back."""
    spec = {
        "nodeSelector": {"matchLabels": {"kubernetes.io/hostname": LOST}},
        "unreachableSeconds": 10,
        "powerOn": "Automatic",
        "agent": {"http": {"url": url}},
    }
    api = {"apiVersion": "vacate.dev/v1alpha1", "kind": "FencingPolicy"}
    return {**api, "metadata": {"name": "rack"}, "spec": spec}


def database(image: str) -> Obj:
    """A StatefulSet of one that prefers the second node, and does not wait long for a lost one."""
    labels = {"app": "db"}
    soon = [
        {"key": f"node.kubernetes.io/{key}", "effect": "NoExecute", "operator": "Exists"}
        | {"tolerationSeconds": 1}
        for key in ("unreachable", "not-ready")
    ]
    template = {
        "metadata": {"labels": labels},
        "spec": {
            **writer(image),
            "affinity": {"nodeAffinity": _preference()},
            "schedulingGates": [{"name": "vacate.dev/exclusive-volumes"}],
            "tolerations": soon,
        },
    }
    spec = {"replicas": 1, "serviceName": "db", "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}


def plain_writer(node: str, image: str) -> Obj:
    """A pod without the gate, on a node."""
    spec = {**writer(image), "nodeSelector": {"kubernetes.io/hostname": node}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"on-{node}"}, "spec": spec}


def writer(image: str) -> Obj:
    """What a pod that writes to the volume is made of."""
    env = [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in (("POD", "metadata.uid"), ("NODE", "spec.nodeName"))
    ]
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python", "-c", _WRITE],
        "env": env,
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "securityContext": {"runAsUser": 0},
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    return {"terminationGracePeriodSeconds": 5, "containers": [container], "volumes": volumes}


def _preference() -> Obj:
    wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [LOST]}
    term = {"weight": 100, "preference": {"matchExpressions": [wanted]}}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [term]}


def _namespace(name: str, *, gated: bool) -> list[Obj]:
    labels = {"vacate.dev/exclusive-volumes": "enabled"} if gated else {}
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}]


def _volume(name: str, folder: str) -> list[Obj]:
    size, modes = {"storage": "1Gi"}, ["ReadWriteMany"]
    ours = {"accessModes": modes, "storageClassName": ""}
    marked = {"name": name, "annotations": {"vacate.dev/exclusive": "true"}}
    volume = {**ours, "capacity": size, "hostPath": {"path": folder}}
    claim = {**ours, "resources": {"requests": size}, "volumeName": name}
    return [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": marked, "spec": volume},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim},
    ]


def _link(state: str) -> None:
    subprocess.run(["ip", "link", "set", link_to(SECOND), state], check=True, capture_output=True, timeout=30)
