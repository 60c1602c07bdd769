"""The machine of the node laboratory that goes down: its logind, its kubelet, and pods that log their end."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hack.logindlab.elogind import OFF, SOCKET
from hack.nodelab.inside import BUS
from hack.nodelab.settings import BUSYBOX, NODE

from support.nodes.cluster import NodeCluster
from support.nodes.objects import pod
from support.waiting import until

AGENTS = "vacate-shutdown-agent"
GRACE = 60
"""Seconds that pods ask for themselves."""
SHUTDOWN_FIELD = "shutdownGracePeriodByPodPriority"
# /proc/uptime is one clock for all containers.
_LIVE = """log() { read up rest < /proc/uptime; echo "$1 $up"; }
trap 'log term; sleep %s & wait $!; log end; exit 0' TERM
log on; while :; do sleep 1 & wait $!; done"""
_SIGNAL = re.compile(r"^(\w+) ([0-9.]+)$", re.MULTILINE)
_ELOGIND, _KUBELET = "elogind", "kubelet"


def logind(*words: str) -> str:
    """What logind answers to a call, or says of a property."""
    manager = ("org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager")
    address = f"--address=unix:path={os.environ[BUS]}/{SOCKET}"
    done = subprocess.run(
        ["busctl", address, words[0], *manager, *words[1:]],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout


def lock_holders() -> set[str]:
    """Which programs delay a shutdown."""
    words = logind("call", "ListInhibitors")
    return {name for name in ("Vacate", _KUBELET) if f'"{name}"' in words}


def is_off() -> bool:
    """Whether the machine would have gone down."""
    return (Path(os.environ[BUS]) / OFF).exists()


def boot() -> None:
    """The logind of a machine that is up: one that has powered off never says anything else again."""
    if not is_off():
        return
    (old,) = _processes(_ELOGIND)
    os.kill(old, signal.SIGKILL)  # the laboratory starts it again
    until(lambda: _replaced(_ELOGIND, old))
    (Path(os.environ[BUS]) / OFF).unlink()
    until(_answers)


def _answers() -> bool:
    try:
        return logind("get-property", "PreparingForShutdown") == "b false\n"
    except subprocess.CalledProcessError:
        return False


def configure_kubelet(buckets: dict[int, int]) -> None:
    """Give the kubelet these buckets, or none, as its administrator: write its file and restart it."""
    (number,) = _processes(_KUBELET)
    file = Path(f"/proc/{number}/root/kubelet.json")
    document = json.loads(file.read_text())
    document.pop(SHUTDOWN_FIELD, None)
    if buckets:
        document[SHUTDOWN_FIELD] = bucket_entries(buckets)
    file.write_text(json.dumps(document))
    os.kill(number, signal.SIGTERM)
    until(lambda: _replaced(_KUBELET, number))
    until(lambda: ("kubelet" in lock_holders()) == bool(buckets))


def write_buckets(file: Path, buckets: dict[int, int]) -> Path:
    """A KubeletConfiguration for a shutdown agent that is alone."""
    document = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    file.write_text(json.dumps({**document, SHUTDOWN_FIELD: bucket_entries(buckets)}))
    return file


def bucket_entries(buckets: dict[int, int]) -> list[dict[str, int]]:
    """As KubeletConfiguration has them."""
    return [
        {"priority": priority, "shutdownGracePeriodSeconds": seconds} for priority, seconds in buckets.items()
    ]


def _processes(name: str) -> list[int]:
    """Those whose program has this name, without children of theirs that are about to become another one."""
    found: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if int(folder.name) and (folder / "exe").readlink().name == name:
                found[int(folder.name)] = _parent(folder)
    return [number for number, parent in found.items() if parent not in found]


def _parent(process: Path) -> int:
    """The fourth field; the second may have any sign in it, and ends with the last bracket."""
    return int((process / "stat").read_text().rpartition(")")[2].split()[1])


def _replaced(name: str, old: int) -> bool:
    now = _processes(name)
    return bool(now) and old not in now


def node_of(place: NodeCluster) -> dict[str, Any]:
    """The Node."""
    found: dict[str, Any] = place.system(f"get node {NODE} -o json").json()
    return found


def condition(place: NodeCluster, type_: str) -> dict[str, Any]:
    """A condition of the Node; empty where it has none of that type."""
    conditions = node_of(place)["status"]["conditions"]
    return next((one for one in conditions if one["type"] == type_), {})


def live(name: str, priority: int, takes: float) -> dict[str, Any]:
    """A pod that logs when it was asked to end and when it does."""
    made = pod(name, BUSYBOX, ["sh", "-c", _LIVE % takes], priorityClassName=f"value-{priority}")
    made["spec"]["terminationGracePeriodSeconds"] = GRACE
    return made


def create_priority_classes(place: NodeCluster, *values: int) -> None:
    """Those that `live` names; the API server takes pods of a class a moment after it has the class."""
    for value in values:
        if place.system(f"get priorityclass value-{value}").code:
            place.system(f"create priorityclass value-{value} --value={value}").ok()
    pods = [live(f"value-{value}", value, 1) for value in values]
    until(lambda: place.shop("create --dry-run=server -f -", pods).code == 0)


@contextlib.contextmanager
def followed(place: NodeCluster, *names: str) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Their logs from the start to the end: they are gone with the pods."""
    with contextlib.ExitStack() as stack:
        yield {name: stack.enter_context(place.shop.start(f"logs --follow {name}")) for name in names}


def read_signals(following: subprocess.Popen[str]) -> dict[str, float]:
    """The words that the pod logged, and when."""
    text = following.communicate(timeout=120)[0]
    return {word: float(at) for word, at in _SIGNAL.findall(text)}


def uptime() -> float:
    """By the clock of the pods' logs."""
    return float(Path("/proc/uptime").read_text().split()[0])
