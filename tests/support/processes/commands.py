"""Commands of the product against a running cluster, in this process or in one of their own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from support.processes.cluster import ClusterProcess, environment
from support.waiting import until
from support.yaml_text import yaml_document
from vacate.cli.main import main

PODS = "/api/v1/namespaces/default/pods"
REQUESTS = "/apis/evictionrequest.coordination.k8s.io/v1alpha1/namespaces/default/evictionrequests"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


class Lab:
    """A cluster, pods in it, and commands about them."""

    def __init__(self, cluster: ClusterProcess) -> None:
        self.cluster = cluster
        self.https = cluster.https()

    def vacate(self, *arguments: str, kubeconfig: Path | str | None = None, columns: int = 0) -> Ended:
        """One command, as `main` runs it; with columns for a terminal of this width."""
        variables = {"KUBECONFIG": str(kubeconfig or self.cluster.kubeconfig)}
        return vacate(variables, *arguments, columns=columns)

    def start(self, *arguments: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
        """One command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "vacate", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.STDOUT,
            text=True,
            env={**environment(), "KUBECONFIG": str(self.cluster.kubeconfig), "PYTHONUNBUFFERED": "1"},
        )

    def pod(
        self,
        name: str,
        *interceptors: str,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> str:
        """A running pod; interceptors in the order of their turns."""
        body = {
            "metadata": {
                "name": name,
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
            },
            "spec": {
                "containers": [{"name": "main", "image": "app:1"}],
                "evictionInterceptors": [{"name": one} for one in reversed(interceptors)],
                **spec,
            },
        }
        self.https.create(PODS, body)
        until(lambda: self.ready(name))
        return name

    def ready(self, name: str) -> bool:
        conditions = self.https.get(f"{PODS}/{name}").ok()["status"].get("conditions") or []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def budget(self, name: str, at_least: int) -> None:
        """A budget over pods with app=NAME, counted for the first time."""
        spec = {"minAvailable": at_least, "selector": {"matchLabels": {"app": name}}}
        self.https.create(BUDGETS, {"metadata": {"name": name}, "spec": spec})
        until(lambda: self.https.get(f"{BUDGETS}/{name}").ok()["status"].get("observedGeneration"))

    def request(self, pod: str) -> dict[str, Any]:
        """The request about a pod."""
        uid = self.https.get(f"{PODS}/{pod}").ok()["metadata"]["uid"]
        return self.https.get(f"{REQUESTS}/{uid}").ok()

    def events(self, name: str, reason: str) -> list[dict[str, Any]]:
        """The events of that reason about an object."""
        found = self.https.get("/api/v1/namespaces/default/events").ok()["items"]
        return [one for one in found if (one["involvedObject"]["name"], one["reason"]) == (name, reason)]

    def until_active(self, pod: str) -> dict[str, Any]:
        """The request, once an interceptor has been asked."""
        return until(lambda: self._active(pod))

    def report(self, pod: str, **status: Any) -> None:
        """The active interceptor writes status."""
        name = self.until_active(pod)["metadata"]["name"]
        self.https.patch(f"{REQUESTS}/{name}/status", {"status": status})

    def user(self, folder: Path, name: str, rules: list[dict[str, list[str]]]) -> Path:
        """A kubeconfig of somebody with these rights in the whole cluster."""
        rbac, named = "/apis/rbac.authorization.k8s.io/v1", {"metadata": {"name": name}}
        role, subject = (
            {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
            for kind in ("ClusterRole", "User")
        )
        self.https.create(f"{rbac}/clusterroles", {**named, "rules": rules})
        self.https.create(f"{rbac}/clusterrolebindings", {**named, "roleRef": role, "subjects": [subject]})
        admin = yaml_document(self.cluster.kubeconfig.read_text())["users"][0]["user"]
        return self.kubeconfig(folder, {**admin, "as": name})

    def kubeconfig(self, folder: Path, user: Mapping[str, Any], name: str = "other") -> Path:
        """A kubeconfig of another user of the same cluster."""
        config = yaml_document(self.cluster.kubeconfig.read_text())
        config["users"][0]["user"] = dict(user)
        path = folder / name
        path.write_text(yaml.safe_dump(config))
        return path

    def _active(self, pod: str) -> dict[str, Any]:
        request = self.request(pod)
        return request if request.get("status", {}).get("activeInterceptorName") else {}


class Terminal(io.StringIO):
    """Where a person would read."""

    def isatty(self) -> bool:
        return True


def vacate(surroundings: Mapping[str, str], *arguments: str, columns: int = 0) -> Ended:
    """One command, as `main` runs it, with these variables; with columns for a terminal of this width."""
    out, err = (Terminal(), Terminal()) if columns else (io.StringIO(), io.StringIO())
    before, called = dict(os.environ), sys.argv
    os.environ |= {"COLUMNS": str(columns or 200), "LINES": "24", **surroundings}
    sys.argv = ["vacate", *arguments]
    code = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.argv = called
        os.environ.clear()
        os.environ |= before
    return Ended(code, out.getvalue(), err.getvalue())
