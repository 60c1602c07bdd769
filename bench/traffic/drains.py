"""Drains of the nodes of a laboratory under load, and what the clients of a Service saw meanwhile."""

from __future__ import annotations

import contextlib
import enum
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.traffic.load import Report
from bench.traffic.workloads import APP, Obj, Pace, Workload, listed, objects, pod_on, support

_LIMIT = 300.0
_LOOK = 0.2
_WAIT = f"--timeout={_LIMIT:.0f}s"
_JOINED = "joined"
_ASK_LIMIT = 60.0
# Pods are ready before each kube-proxy knows them all, so a pod asks until each of them has answered.
_ASK = """
import sys, time, urllib.request
address, seen, end = "http://{address}", set(), time.monotonic() + {limit}
while len(seen) < {pods} and time.monotonic() < end:
    try:
        seen.add(urllib.request.urlopen(address, timeout=10).read().decode())
    except OSError as error:
        print(error, file=sys.stderr)
        time.sleep({look})
print(*seen)
"""


class Arm(enum.StrEnum):
    """How a node is drained."""

    VACATE = "vacate drain"
    BRIDGE = "kubectl drain over the bridge"
    PLAIN = "kubectl drain, plain eviction"

    @property
    def moves(self) -> bool:
        """Whether the workload has opted in to Vacate's interceptors."""
        return self is not Arm.PLAIN


@dataclass(frozen=True, slots=True)
class Measured:
    """One workload, drained in one way so many times."""

    workload: Workload
    arm: Arm
    drains: int
    seconds: tuple[float, ...]  # of each drain, until all pods are ready elsewhere
    seen: Report


class Cluster:
    """A cluster of the laboratory with Vacate installed. Used in its namespaces, as its administrator."""

    def __init__(self, image: str, pace: Pace) -> None:
        self._image = image
        self._pace = pace
        self.nodes: list[str] = self.kubectl("get", "nodes", "-o", "name").replace("node/", "").split()

    def install(self, *options: str) -> None:
        """With the bridge, which evictions of workloads without interceptors pass at once."""
        self.vacate("install", "--image", self._image, "--eviction-bridge", "--wait", "4m", *options)

    def kubectl(self, *words: str, stdin: Any = None) -> str:
        return _run(["kubectl", *words], None if stdin is None else json.dumps(stdin))

    def vacate(self, *words: str) -> str:
        return _run([sys.executable, "-m", "vacate", *words])

    def measure(self, workload: Workload, arm: Arm, drains: int, *, whole: bool = True) -> Measured:
        """Create the workload in a namespace of its own, drain its node so many times, and remove it.

        `whole` drains all pods of the node, Vacate's own too, else only those of the workload.
        """
        namespace = f"{arm.name}-{workload.name}".lower()
        self._create_namespace(namespace)
        try:
            return self._measure(_Moved(self, namespace, workload), arm, drains, whole)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; the cluster then:\n{self.state()}") from None
        finally:
            self.kubectl("delete", "namespace", namespace, "--wait=false")

    def reached_from_each_node(self) -> dict[str, set[str]]:
        """A pod of each node sends requests to a Service; by which nodes' pods they were answered."""
        self._create_namespace(_JOINED)
        try:
            pods = [pod_on(node, self._image) for node in self.nodes]
            self.kubectl("--namespace", _JOINED, "create", "-f", "-", stdin=listed([*support(), *pods]))
            self.kubectl("--namespace", _JOINED, "wait", "--for=condition=Ready", "pods", "--all", _WAIT)
            address = self.address(_JOINED)
            program = _ASK.format(address=address, pods=len(self.nodes), limit=_ASK_LIMIT, look=_LOOK)
            ask = ("python", "-c", program)
            return {
                node: set(self.kubectl("--namespace", _JOINED, "exec", node, "--", *ask).split())
                for node in self.nodes
            }
        finally:
            # A drain that begins before they are gone would refuse pods that nobody creates again.
            self.kubectl("--namespace", _JOINED, "delete", "pods", "--all", _WAIT)
            self.kubectl("delete", "namespace", _JOINED, "--wait=false")

    def state(self) -> str:
        """Pods and Events, for someone who looks at a failure."""
        kinds = "nodes,pods,deployments,statefulsets,evictionrequests,nodemaintenances"
        looks = (("get", kinds, "--all-namespaces", "-o", "wide"), ("get", "events", "--all-namespaces"))
        return "\n".join(self.kubectl(*words) for words in looks)

    def _create_namespace(self, name: str) -> None:
        """One that takes pods: they need its service account, which a controller creates."""
        self.kubectl("create", "namespace", name)
        self.kubectl("--namespace", name, "wait", "--for=create", "serviceaccount/default", _WAIT)

    def address(self, namespace: str) -> str:
        """Of the Service."""
        where = ("--namespace", namespace, "service", APP)
        return self.kubectl("get", *where, "-o", "jsonpath={.spec.clusterIP}")

    def _measure(self, moved: _Moved, arm: Arm, drains: int, whole: bool) -> Measured:
        source, target = self.nodes[:2]
        self.kubectl("cordon", target)
        moved.create(objects(moved.workload, self._image, self._pace, moves=arm.moves))
        moved.wait_all_on(source)
        self.kubectl("uncordon", target)
        took = []
        # Pods are ready before kube-proxy knows it, and the measurement is of drains, not of beginnings.
        _until(lambda: _answers(moved.address()))
        with _load(moved.address()) as load:
            for _ in range(drains):
                began = time.monotonic()
                self._drain(arm, source, *(() if whole else ("--pod-selector", f"app={APP}")))
                moved.wait_all_on(target)
                took.append(round(time.monotonic() - began, 1))
                self._uncordon(arm, source)
                source, target = target, source
            seen = load(moved.names())
        return Measured(moved.workload, arm, drains, tuple(took), seen)

    def _drain(self, arm: Arm, node: str, *options: str) -> None:
        words = ("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", *options)
        if arm is Arm.VACATE:
            self.vacate(*words)
        else:
            self.kubectl(*words)

    def _uncordon(self, arm: Arm, node: str) -> None:
        if arm is Arm.VACATE:
            self.vacate("uncordon", node)
            _until(lambda: not self.kubectl("get", "node", node, "-o", "jsonpath={.spec.unschedulable}"))
        else:
            self.kubectl("uncordon", node)


class _Moved:
    """A workload in its namespace."""

    def __init__(self, cluster: Cluster, namespace: str, workload: Workload) -> None:
        self.workload = workload
        self._cluster = cluster
        self._namespace = namespace

    def create(self, made: list[Obj]) -> None:
        self._kubectl("create", "-f", "-", stdin=listed(made))

    def address(self) -> str:
        return self._cluster.address(self._namespace)

    def wait_all_on(self, node: str) -> None:
        """Until exactly the wanted pods are there, all ready and on that node."""
        _until(lambda: self._places() == [(node, True)] * self.workload.replicas)

    def _places(self) -> list[tuple[str, bool]]:
        pods = json.loads(self._kubectl("get", "pods", "-l", f"app={APP}", "-o", "json"))["items"]
        return [(pod["spec"].get("nodeName", ""), _is_ready(pod)) for pod in pods]

    def names(self) -> list[str]:
        """Of its pods."""
        found = self._kubectl("get", "pods", "-l", f"app={APP}", "-o", "name")
        return found.replace("pod/", "").split()

    def _kubectl(self, *words: str, stdin: Any = None) -> str:
        return self._cluster.kubectl("--namespace", self._namespace, *words, stdin=stdin)


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


@contextlib.contextmanager
def _load(address: str) -> Iterator[Callable[[list[str]], Report]]:
    """Constant load by a process of its own; the call ends it, once these pods have answered, and returns
    what it saw."""
    words = [sys.executable, "-m", "bench.traffic.load", address, "80"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline().strip() != "ready":
                raise SystemExit("the load generator has ended")
            ending, answer = process.stdin, process.stdout

            def end(names: list[str]) -> Report:
                ending.write(" ".join(names))
                ending.close()
                return Report(**json.loads(answer.readline()))

            yield end
        finally:
            process.kill()


def _run(words: Sequence[str], stdin: str | None = None) -> str:
    done = subprocess.run(words, input=stdin, capture_output=True, text=True, timeout=_LIMIT, check=False)
    if done.returncode:
        raise RuntimeError(f"$ {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + _LIMIT
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"not within {_LIMIT:.0f} s")
        time.sleep(_LOOK)
