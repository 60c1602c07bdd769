"""What runs in the laboratory: a database, a web service, and pods that want one exclusive volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.simulated.fencing import SOON
from vacate.admission.pods.forcedeletion import GUARD_LABEL
from vacate.api.kinds import (
    DEPLOYMENTS,
    DESCHEDULINGPOLICIES,
    FENCINGPOLICIES,
    NAMESPACES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    STATEFULSETS,
)
from vacate.api.objects import Obj
from vacate.api.workloads import OPT_IN
from vacate.client.client import Client
from vacate.kube.exclusivevolumes import EXCLUSIVE, GATE
from vacate.nodeagent.runtime.protocol import ContainerState
from vacate.sim.machines.machine import Machine, MachineNetwork
from vacate.sim.machines.runs import identity_of
from vacate.testing import deployment, pdb, pod, statefulset

MEMBERS, COPIES = 3, 3
MAX_FENCED = 2
MIN_HEALTHY = 2
UNREACHABLE_SECONDS = 90
"""So long that a controller whose nodes all fell silent at once would know it by then."""
POWER_POLICY, STORAGE_POLICY = "rack", "array"
POLICIES = (POWER_POLICY, STORAGE_POLICY)
BY_POWER, BY_STORAGE = ("node-1", "node-2", "node-3"), ("node-4", "node-5")
"""How the nodes are fenced: most are switched off, some are cut off from their storage and run on."""
TIDY = "tidy"
DISK_USERS = VOLUME = "disk"
EXTRA_USER = f"{DISK_USERS}-0"
"""One more pod that uses the volume, where a fault makes it. Of those that wait it is the first."""
AT_ONCE = "at-once"
"""A StatefulSet that a fault makes, with pods that any deletion removes at once."""
TOLERANT = "tolerant"
"""A pod that a fault makes, which stays when its node is lost."""
PLAIN, PLAIN_COPIES = "plain", 2
"""Pods without interceptors: nothing but their budget holds an eviction up."""
_USED: Obj = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
STORAGE = "storage"
"""The host on which the exclusive volume lies: machines reach it over the network between them."""


async def create_workload(client: Client, folder: Path, *, gated: bool = False) -> None:
    """Create all of it; where nodes do not wait for the volume, its users wait at the gate."""
    labels = {GUARD_LABEL: "enabled", OPT_IN: "true"}
    await client.patch(NAMESPACES, "default", {"metadata": {"labels": labels}})
    await client.create(FENCINGPOLICIES, _fencing(POWER_POLICY, "Power", BY_POWER))
    await client.create(FENCINGPOLICIES, _fencing(STORAGE_POLICY, "Storage", BY_STORAGE))
    await client.create(DESCHEDULINGPOLICIES, _descheduling())
    await client.create(PODDISRUPTIONBUDGETS, pdb("db", min_available=2), "default")
    await client.create(PODDISRUPTIONBUDGETS, pdb("web", min_available=2), "default")
    await client.create(STATEFULSETS, _database(), "default")
    await client.create(DEPLOYMENTS, deployment("web", replicas=COPIES, template=_template("web")), "default")
    await client.create(PODDISRUPTIONBUDGETS, pdb(PLAIN, min_available=1), "default")
    await client.create(DEPLOYMENTS, _plain(), "default")
    await client.create(PERSISTENTVOLUMES, _volume(folder))
    await client.create(PERSISTENTVOLUMECLAIMS, _claim(), "default")
    await client.create(DEPLOYMENTS, _volume_users(gated=gated), "default")


def _fencing(name: str, mechanism: str, nodes: Sequence[str]) -> Obj:
    meant = {"key": "kubernetes.io/hostname", "operator": "In", "values": list(nodes)}
    spec = {
        "nodeSelector": {"matchExpressions": [meant]},
        "unreachableSeconds": UNREACHABLE_SECONDS,
        "agent": {"http": {"url": "https://bmc.example"}, "mechanism": mechanism, "timeoutSeconds": 20},
        "maxFenced": MAX_FENCED,
        "powerOn": "Automatic",
        "minHealthy": MIN_HEALTHY,
    }
    return {"metadata": {"name": name}, "spec": spec}


def _descheduling() -> Obj:
    identity = {"apiVersion": DESCHEDULINGPOLICIES.api_version, "kind": DESCHEDULINGPOLICIES.kind}
    return {**identity, "metadata": {"name": TIDY}, "spec": {"rules": ["NodeTaints"], "mode": "Evict"}}


def _database() -> Obj:
    spec = {"podManagementPolicy": "Parallel"}
    return statefulset("db", replicas=MEMBERS, template=_template("db", probed=True), spec=spec)


def _template(name: str, *, probed: bool = False) -> Obj:
    """Pods that are deleted soon after their node is lost. Members of the database probe each other."""
    container: Obj = {"name": "main", "image": "none", "command": [name]}
    if probed:
        check = {"exec": {"command": ["quorum"]}, "periodSeconds": 20, "failureThreshold": 2}
        container["readinessProbe"] = check
    return {"spec": {"tolerations": SOON, "containers": [container], "terminationGracePeriodSeconds": 30}}


def _plain() -> Obj:
    made = deployment(PLAIN, replicas=PLAIN_COPIES, template=_template(PLAIN))
    made["metadata"]["annotations"] = {OPT_IN: "false"}
    return made


def _volume(folder: Path) -> Obj:
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "hostPath": {"path": str(folder)},
    }
    return {"metadata": {"name": VOLUME, "annotations": {EXCLUSIVE: "true"}}, "spec": spec}


def _claim() -> Obj:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "10Gi"}},
    }
    return {"metadata": {"name": "data"}, "spec": spec}


def _volume_users(*, gated: bool) -> Obj:
    """Three pods for one volume: one runs, the others wait. They cannot be moved first."""
    template = _template(DISK_USERS)
    template["spec"]["volumes"] = [_USED]
    if gated:
        template["spec"]["schedulingGates"] = [{"name": GATE}]
    made = deployment(DISK_USERS, replicas=3, template=template)
    made["metadata"]["annotations"] = {OPT_IN: "false"}
    return made


def extra_user(node: str) -> Obj:
    """A pod that uses the volume on this node, and takes long to end."""
    made = pod(EXTRA_USER, labels={"app": DISK_USERS})
    hook = {"preStop": {"sleep": {"seconds": 100}}}
    template = _template(DISK_USERS)["spec"]
    made["spec"] = {
        **template,
        "nodeName": node,
        "containers": [{**template["containers"][0], "lifecycle": hook}],
        "volumes": [_USED],
        "terminationGracePeriodSeconds": 120,
    }
    return made


def without_grace() -> Obj:
    """A StatefulSet of one pod with a grace period of 0."""
    template = _template(AT_ONCE)
    template["spec"]["terminationGracePeriodSeconds"] = 0
    return statefulset(AT_ONCE, replicas=1, template=template)


def tolerant_pod(node: str) -> Obj:
    """A pod on this node that no taint evicts."""
    made = pod(TOLERANT)
    made["spec"] = {**_template(TOLERANT)["spec"], "nodeName": node, "tolerations": [{"operator": "Exists"}]}
    return made


def uses_storage(labels: Mapping[str, str]) -> bool:
    """Whether a run waits for the storage host."""
    return labels.get("pod", "").startswith(f"{DISK_USERS}-")


def has_quorum(run: ContainerState, machines: Mapping[str, Machine], network: MachineNetwork) -> bool:
    """Whether a member of the database reaches most members, itself among them."""
    where = {
        identity_of(one): name for name, machine in machines.items() for one in machine.living
        if identity_of(one).startswith("default/db-")
    }  # fmt: skip
    own = where.get(identity_of(run), "")
    reached = [name for name in where.values() if name == own or network.reaches(own, name)]
    return len(reached) * 2 > MEMBERS
