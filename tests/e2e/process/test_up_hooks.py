"""`vacate up --hooks`: the hooks interceptor inside, as a user tries it on a laptop."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.manifests import pod
from support.processes.cluster import FAST_PODS, running_cluster, vacate
from support.waiting import until
from vacate.embedded.cluster.local import LocalCluster, LocalSettings
from vacate.errors import ConfigError

pytestmark = [pytest.mark.process, pytest.mark.thorough(beyond=1)]

PODS = "/api/v1/namespaces/default/pods"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
CRONJOBS = "/apis/batch/v1/namespaces/default/cronjobs"
EXAMPLE = Path(__file__).parents[3] / "examples/hook-job"
REQUESTS = "/apis/evictionrequest.coordination.k8s.io/v1alpha1/namespaces/default/evictionrequests"


class Service:
    """A hook that is in progress until it may be done."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.done = False
        self.url = ""


@contextlib.contextmanager
def hook_service() -> Iterator[Service]:
    made = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            made.calls.append({**call, "path": self.path})
            body = json.dumps({"message": "copying", "retryAfterSeconds": 1}).encode()
            self.send_response(200 if made.done else 202)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/evictions"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.thorough
def test_a_pod_waits_for_its_hook_and_explain_says_so(tmp_path: Path) -> None:
    with hook_service() as service:
        target = {"name": "checkpoint", "url": service.url, "namespaces": ["default"], "allowPaths": True}
        allowed = tmp_path / "hooks.yaml"
        allowed.write_text(json.dumps({"targets": [target]}))  # JSON is YAML
        with running_cluster(tmp_path / "dir", *FAST_PODS, "--hooks", str(allowed)) as cluster:
            admin = cluster.https()
            made = pod("db-0")
            made["metadata"]["annotations"] = {
                "interceptor.evictionrequest.coordination.k8s.io/priority_hooks.vacate.dev": "500",
                "vacate.dev/eviction-hook": "checkpoint/flush",
            }
            admin.create(PODS, made)
            place = ("--kubeconfig", str(cluster.kubeconfig))
            asked = vacate("evict", "pod/db-0", *place)
            assert asked.returncode == 0, asked.stderr
            until(lambda: service.calls)
            explained = until(lambda: _containing("copying", vacate("explain", "pod/db-0", *place).stdout))
            assert "hooks.vacate.dev is preparing pod db-0" in explained
            (request,) = admin.get(REQUESTS).ok()["items"]
            status = f"{REQUESTS}/{request['metadata']['name']}/status"
            claim = {"status": {"activeInterceptorCompleted": True}}
            refused = admin.call("PATCH", status, claim, content_type="application/merge-patch+json")
            assert "may not report for it" in refused.obj["message"]  # bound, as by an installation
            assert admin.get(f"{PODS}/db-0").code == 200
            service.done = True
            until(lambda: admin.get(f"{PODS}/db-0").code == 404)
            assert {(one["action"], one["path"]) for one in service.calls} == {
                ("Prepare", "/evictions/flush")
            }
            assert cluster.stop() == 0
            assert "Traceback" not in cluster.output


@pytest.mark.thorough
def test_a_job_really_runs_before_a_pod_is_evicted(tmp_path: Path) -> None:
    """The example, on a node whose pods are processes: what the Job's container prints is in its log."""
    documents = list(yaml.safe_load_all((EXAMPLE / "db.yaml").read_text()))
    options = ("--runtime", "process", "--nodes", "1", "--hooks", str(EXAMPLE / "hooks.yaml"))
    with running_cluster(tmp_path / "dir", *options) as cluster:
        admin = cluster.https()
        for one in documents:
            admin.create(PODS if one["kind"] == "Pod" else CRONJOBS, one)
        until(lambda: admin.get(f"{PODS}/db").ok()["status"].get("phase") == "Running")
        asked = vacate("evict", "pod/db", "--wait", "--kubeconfig", str(cluster.kubeconfig))
        assert asked.returncode == 0, asked.stderr
        assert admin.get(f"{PODS}/db").code == 404
        (job,) = admin.get(JOBS).ok()["items"]
        assert [one["type"] for one in job["status"]["conditions"]] == ["SuccessCriteriaMet", "Complete"]
        (ran,) = admin.get(PODS).ok()["items"]
        assert ran["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
        log = admin.get(f"{PODS}/{ran['metadata']['name']}/log").text.splitlines()
        assert log == [f"flushing db of node {ran['spec']['nodeName']}", "flushed"]
        assert cluster.stop() == 0
        assert "Traceback" not in cluster.output


def _containing(words: str, text: str) -> str:
    return text if words in text else ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("targets: []\njobs: {namespaces: shop}\n", "jobs.namespaces"),
        ("targets: [{name: a, url: 'ftp://x', namespaces: [x]}]\n", "targets[0].url"),
    ],
    ids=["jobs", "no URL"],
)
async def test_a_list_that_cannot_be_used_is_refused_before_anything_starts(
    tmp_path: Path, text: str, why: str
) -> None:
    allowed = tmp_path / "hooks.yaml"
    allowed.write_text(text)
    cluster = LocalCluster(LocalSettings(tmp_path / "dir", port=0, hooks=allowed))
    with pytest.raises(ConfigError, match=re.escape(why)) as refused:
        await cluster.start()
    assert str(refused.value).startswith(f"--hooks: {allowed}: ")
    assert [one.name for one in os.scandir(tmp_path)] == ["hooks.yaml"]
