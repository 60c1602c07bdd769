"""What runs on a node with containers: an application, an interceptor, and a requester."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hack.nodelab.settings import BUSYBOX

Obj = dict[str, Any]
BACKUP = "backup.example.com"
ANNOTATION = f"interceptor.evictionrequest.coordination.k8s.io/priority_{BACKUP}"
EXAMPLE = Path(__file__).parents[3] / "examples/02-one-interceptor/interceptor.py"
# The hook comes first, then the signal; what is printed shows both and their order.
_LIVE = """trap 'echo "asked to end after $(cat /marks/hook)"; exit 0' TERM
echo alive; while :; do sleep 1 & wait $!; done"""


def namespace(name: str) -> Obj:
    """In which no pod may have a privilege."""
    level = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": level}}


def pod(name: str, image: str, command: list[str], **spec: Any) -> Obj:
    """Under the restrictions of its namespace."""
    container = {
        "name": "main",
        "image": image,
        "command": command,
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **spec.pop("container", {}),
    }
    secure = {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"securityContext": secure, "containers": [container], **spec},
    }


def database(name: str) -> Obj:
    """An application with an interceptor, that says how it ends."""
    hook = {"exec": {"command": ["sh", "-c", "echo its hook > /marks/hook"]}}
    container = {
        "lifecycle": {"preStop": hook},
        "volumeMounts": [{"name": "marks", "mountPath": "/marks"}],
    }
    marks = [{"name": "marks", "emptyDir": {}}]
    made = pod(name, BUSYBOX, ["sh", "-c", _LIVE], container=container, volumes=marks)
    made["metadata"]["labels"] = {"app": "db"}
    made["metadata"]["annotations"] = {ANNOTATION: "100"}
    return made


def budget() -> Obj:
    """Of the databases, all but one may leave."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "db"}}}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "db"},
        "spec": spec,
    }


def interceptor(image: str) -> list[Obj]:
    """The example as it is, as a pod with an account of its own."""
    code = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "backup"}}
    mounted = {"volumeMounts": [{"name": "code", "mountPath": "/example"}]}
    volumes = [{"name": "code", "configMap": {"name": "backup"}}]
    command = ["python", "/example/interceptor.py"]
    return [
        account("backup"),
        {**code, "data": {"interceptor.py": EXAMPLE.read_text()}},
        pod("backup", image, command, container=mounted, volumes=volumes, serviceAccountName="backup"),
    ]


def asking(name: str, image: str, whom: str) -> Obj:
    """A pod that asks for another's leave, and ends when that has left."""
    command = ["vacate", "evict", whom, "--timeout", "90s", "--reason", "the smoke test"]
    return pod(name, image, command, serviceAccountName="operator", restartPolicy="Never")


def account(name: str) -> Obj:
    """A service account."""
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
