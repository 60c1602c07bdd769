"""PURE. Wraps the preStop hooks of a new pod, so that a kubelet's hooks learn why the pod is terminated.

A kubelet gives a hook nothing: so the hook's command becomes one of a small program, which asks for the
reason and then runs the hook. An init container copies the program into the pod, and a volume holds what it
needs to ask. What cannot be wrapped stays as it is, and runs without a reason.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacate.api.objects import Obj, dig
from vacate.api.terminationreason import (
    ANNOTATION,
    AUDIENCE,
    AUTHORITY_ANNOTATION,
    DELIVERY_ANNOTATION,
    SERVICE_ANNOTATION,
    WRAP,
    annotated_delivery,
)
from vacate.api.untyped import mapping, maps

PROGRAM = "/opt/vacate/bin/vacate-prestop"
"""In Vacate's image."""
INIT_CONTAINER, BINARIES, REASON = "vacate-prestop", "vacate-prestop", "vacate-reason"
POD_IP = "VACATE_POD_IP"
_BINARIES_PATH, _REASON_PATH = "/var/run/vacate/bin", "/var/run/vacate/reason"
_WRAPPER = f"{_BINARIES_PATH}/vacate-prestop"
_PROCESS_TAINT = "vacate.dev/process"  # of a vacate node, which needs no wrapper
_ASK_SECONDS = 3.0
_TOKEN_SECONDS = 3600
_SIZE = "16Mi"
_USER = 65532


@dataclass(frozen=True, slots=True)
class HookWrapper:
    """What pods are given to ask with."""

    image: str
    pull_policy: str = "IfNotPresent"
    service: str = ""  # https://HOST:PORT/PATH, and the address of the host where it is known
    authority: str = ""  # of the service's certificate, PEM


def wrapped_pod(pod: Obj, wrapper: HookWrapper) -> tuple[Obj, list[str]]:
    """The pod with its hooks wrapped, and warnings for its author; the same pod where nothing is to be done.

    Wrapping what is wrapped already changes nothing: API servers ask again when others have changed a pod.
    """
    if not _is_meant(pod):
        return pod, []
    made = copy.deepcopy(pod)
    annotations = mapping(dig(pod, "metadata", "annotations"))
    seconds = _ask_seconds(pod)
    warnings: list[str] = []
    changed = False
    for container in _with_hooks(made):
        delivery = annotations.get(DELIVERY_ANNOTATION + str(container.get("name")))
        changed |= _wrap(container, delivery if isinstance(delivery, str) else None, seconds, warnings)
    if not changed:
        return pod, warnings
    _provide(made, wrapper)
    return made, warnings


def _is_meant(pod: Obj) -> bool:
    annotations = mapping(dig(pod, "metadata", "annotations"))
    spec = mapping(pod.get("spec"))
    return not (
        str(annotations.get(WRAP, "")).lower() == "false"
        or "kubernetes.io/config.mirror" in annotations
        or dig(spec, "os", "name") == "windows"
        or any(one.get("key") == _PROCESS_TAINT for one in maps(spec.get("tolerations")))
    )


def _with_hooks(pod: Obj) -> Iterator[dict[str, Any]]:
    """Containers that run as long as the pod does: only their hooks are called."""
    spec = mapping(pod.get("spec"))
    yield from maps(spec.get("containers"))
    yield from (one for one in maps(spec.get("initContainers")) if one.get("restartPolicy") == "Always")


def _ask_seconds(pod: Obj) -> float:
    """Not more than a tenth of what the pod has for its end, and of that at most a few seconds."""
    grace = dig(pod, "spec", "terminationGracePeriodSeconds")
    return min(_ASK_SECONDS, (grace if type(grace) is int and grace > 0 else 30) / 10)


def _wrap(container: dict[str, Any], delivery: str | None, seconds: float, warnings: list[str]) -> bool:
    name = str(container.get("name"))
    hook = mapping(dig(container, "lifecycle", "preStop"))
    if type(exec_ := hook.get("exec")) is dict:
        command = exec_.get("command")
        if not isinstance(command, list) or not command or command[0] == _WRAPPER:
            return False
        variable, problem = annotated_delivery(name, delivery, "env")
        words = ["exec", f"--env={variable}", f"--ask-seconds={seconds:g}", "--", *command]
    elif type(get := hook.get("httpGet")) is dict:
        if (url := _url(get, container)) is None:
            return False
        header, problem = annotated_delivery(name, delivery, "header")
        given = [f"--with={one.get('name')}:{one.get('value')}" for one in maps(get.get("httpHeaders"))]
        words = ["get", f"--header={header}", f"--ask-seconds={seconds:g}", f"--url={url}", *given]
        if not get.get("host"):
            _add_pod_ip(container)
    else:
        return False
    if any(_is_taken(one) for one in maps(container.get("volumeMounts"))):
        warnings.append(f"container {name}: has a mount at /var/run/vacate; its preStop hook is not wrapped")
        return False
    if problem:
        warnings.append(f"container {name}: {problem}")
    hook = {"exec": {"command": [_WRAPPER, *words]}}
    container["lifecycle"] = {**container["lifecycle"], "preStop": hook}
    mounts = container.get("volumeMounts") or []
    container["volumeMounts"] = [
        *mounts,
        {"name": BINARIES, "mountPath": _BINARIES_PATH, "readOnly": True},
        {"name": REASON, "mountPath": _REASON_PATH, "readOnly": True},
    ]
    return True


def _is_taken(mount: Obj) -> bool:
    return str(mount.get("mountPath")).rstrip("/") in (_BINARIES_PATH, _REASON_PATH, "/var/run/vacate")


def _url(get: Obj, container: Obj) -> str | None:
    """Where the kubelet would send the request; without a host, as the program completes it in the pod."""
    port = get.get("port")
    if isinstance(port, str) and not port.isdigit():
        named = [one for one in maps(container.get("ports")) if one.get("name") == port]
        port = named[0].get("containerPort") if named else None
    if port is None:
        return None
    host = str(get.get("host") or "")
    host = f"[{host}]" if ":" in host else host
    path = str(get.get("path") or "/")
    scheme = str(get.get("scheme") or "HTTP").lower()
    return f"{scheme}://{host}:{port}/{path.removeprefix('/')}"


def _add_pod_ip(container: dict[str, Any]) -> None:
    env = container.get("env") or []
    if not any(one.get("name") == POD_IP for one in maps(env)):
        source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}
        container["env"] = [*env, {"name": POD_IP, "valueFrom": source}]


def _provide(pod: Obj, wrapper: HookWrapper) -> None:
    """The program, and what it asks with; once for all containers."""
    meta, spec = pod["metadata"], pod["spec"]
    meta["annotations"] = {
        **mapping(meta.get("annotations")),
        SERVICE_ANNOTATION: wrapper.service,
        AUTHORITY_ANNOTATION: wrapper.authority,
    }
    volumes = [one for one in maps(spec.get("volumes")) if one.get("name") not in (BINARIES, REASON)]
    spec["volumes"] = [
        *volumes,
        {"name": BINARIES, "emptyDir": {"sizeLimit": _SIZE}},
        {"name": REASON, "projected": {"sources": _sources(), "defaultMode": 0o444}},
    ]
    others = [one for one in maps(spec.get("initContainers")) if one.get("name") != INIT_CONTAINER]
    spec["initContainers"] = [_init_container(spec, wrapper), *others]


def _sources() -> list[Obj]:
    files = {"reason": ANNOTATION, "service": SERVICE_ANNOTATION, "ca.crt": AUTHORITY_ANNOTATION}
    items = [
        {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{key}']"}}
        for path, key in files.items()
    ]
    token = {"audience": AUDIENCE, "expirationSeconds": _TOKEN_SECONDS, "path": "token"}
    return [{"serviceAccountToken": token}, {"downwardAPI": {"items": items}}]


def _init_container(spec: Obj, wrapper: HookWrapper) -> Obj:
    """Within the restricted profile; and the pod stays in its class of quality of service."""
    made: Obj = {
        "name": INIT_CONTAINER,
        "image": wrapper.image,
        "imagePullPolicy": wrapper.pull_policy,
        "command": [PROGRAM, "install", _BINARIES_PATH],
        "volumeMounts": [{"name": BINARIES, "mountPath": _BINARIES_PATH}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    others = [*maps(spec.get("containers")), *maps(spec.get("initContainers"))]
    if any(mapping(one.get("resources")) for one in others):
        few = {"cpu": "50m", "memory": "32Mi"}
        made["resources"] = {"requests": dict(few), "limits": dict(few)}
    return made
