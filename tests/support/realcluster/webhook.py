"""A real API server with Vacate's admission installed, and webhooks as processes beside it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import yaml
from hack.kubelab.control_plane import running
from hack.kubelab.obtain import ASSETS
from hack.kubelab.ports import reserve_port

from support.arms import objects as make
from support.arms.arm import MERGE_PATCH, Answer, As, Obj
from support.arms.kube import KubeArm
from support.processes.program import Program
from support.processes.webhook import WebhookProcess, running_webhook
from support.realcluster.definitions import asking, installed, until
from support.realcluster.evictions import REVIEW_SECONDS
from support.waiting import until as wait_until
from vacate.api.kinds import EVICTIONREQUESTS as KIND
from vacate.api.kinds import PODS
from vacate.install.objects import parts
from vacate.install.settings import Settings

NAMESPACE = "vacate-system"
HERE = "default"
RULES = """
rules:
  - podSelector: {matchLabels: {app: by-rule}}
    interceptors: [{name: ruled.example.com, priority: 5}]
"""
STRANGER = As("stranger")
PREFIX = "interceptor.evictionrequest.coordination.k8s.io"


class Plane:
    """The API server, and where its reviews go."""

    def __init__(self, arm: KubeArm, kubeconfig: Path, port: int, folder: Path) -> None:
        self.arm = arm
        self.port = port
        self.admin = kubeconfig
        self._folder = folder
        self._rules = folder / "rules.yaml"
        self._rules.write_text(RULES)
        self.kubeconfig = folder / "webhook.kubeconfig"
        self.rotator_kubeconfig = folder / "certificates.kubeconfig"
        self._rotators = 0

    async def sign_in(self, *, rotates: bool = True) -> None:
        """Kubeconfigs of both accounts: each has the rights of its role and no more."""
        self.kubeconfig.write_text(await self._config("vacate-webhook"))
        if rotates:
            self.rotator_kubeconfig.write_text(await self._config("vacate-certificates"))

    async def _config(self, account: str) -> str:
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = (await self.arm.call("POST", path, body=body)).ok(201)["status"]["token"]
        config = yaml.safe_load(self.admin.read_text())
        config["users"][0]["user"] = {"token": token}
        return yaml.safe_dump(config)

    @contextlib.contextmanager
    def rotating(self) -> Iterator[Path]:
        """`vacate certificates`, and the folder into which it writes, once something is there."""
        self._rotators += 1
        folder = self._folder / f"tls-{self._rotators}"
        folder.mkdir()
        where = ("--namespace", NAMESPACE, "--cert-dir", str(folder), "--host", "127.0.0.1")
        program = Program(
            self._folder / f"certificates-{self._rotators}.log",
            "certificates", "--kubeconfig", str(self.rotator_kubeconfig), *where,
        )  # fmt: skip
        program.start()
        try:
            wait_until(lambda: (folder / "tls.crt").exists() or not program.running)
            assert program.running, program.output
            yield folder
        finally:
            program.kill()

    def webhook(
        self, cert_dir: Path, *options: str, port: int | None = None
    ) -> contextlib.AbstractContextManager[WebhookProcess]:
        """A webhook as `vacate install` starts it, on the port to which reviews go."""
        return running_webhook(
            self.kubeconfig, "--rules", str(self._rules), "--cert-dir", str(cert_dir), *options,
            port=self.port if port is None else port,
        )  # fmt: skip

    @contextlib.asynccontextmanager
    async def answering(self, *options: str) -> AsyncIterator[WebhookProcess]:
        """The same with a rotator beside it, once the API server gets answers."""
        with self.rotating() as folder, self.webhook(folder, *options) as webhook:
            webhook.wait_ready()
            await until(self.answered)
            yield webhook

    async def answered(self) -> bool:
        """Whether reviews get an answer: what is wrong with these only the webhook says.

        API servers learn of the configurations one by one: a request is refused by the mutating one, a pod
        by the validating one, which fails open.
        """
        unreadable = make.pod("unreadable")
        unreadable["metadata"]["annotations"] = {f"{PREFIX}/priority_a.example.com": "first"}
        path, dry = PODS.collection_path(HERE), {"dryRun": "All"}
        answers = [await self.ask({}), await self.arm.call("POST", path, body=unreadable, query=dry)]
        return all("denied the request" in (one.message or "") for one in answers)

    async def ask(self, changes: Obj, as_user: As | None = None) -> Answer:
        """Request an eviction; nothing is stored."""
        body = {
            "apiVersion": KIND.api_version,
            "kind": KIND.kind,
            "metadata": {"name": "no-such-uid"},
            "spec": {"target": {"podRef": {"name": "no-such-pod", "uid": "no-such-uid"}},
                     "requesters": [{"name": "a.example.com"}]} | changes,
        }  # fmt: skip
        path = KIND.collection_path(HERE)
        return await self.arm.call("POST", path, body=body, query={"dryRun": "All"}, as_user=as_user)

    async def pod(self, name: str, annotations: Obj | None = None, app: str = "web") -> Answer:
        """Create a pod that nobody schedules."""
        body = make.pod(name, labels={"app": app})
        body["metadata"]["annotations"] = annotations or {}
        return await self.arm.call("POST", PODS.collection_path(HERE), body=body)

    async def request(self, pod: Obj, as_user: As | None = None) -> Answer:
        """Request the pod's eviction."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        body = {
            "apiVersion": KIND.api_version,
            "kind": KIND.kind,
            "metadata": {"name": uid},
            "spec": {
                "target": {"podRef": {"name": name, "uid": uid}},
                "requesters": [{"name": "a.example.com"}],
            },
        }
        return await self.arm.call("POST", KIND.collection_path(HERE), body=body, as_user=as_user)

    async def patch(self, request: Obj, change: Obj, as_user: As | None = None) -> Answer:
        """Change a request, or its status."""
        subresource = "status" if "status" in change else ""
        path = KIND.object_path(request["metadata"]["name"], HERE, subresource)
        return await self.arm.call("PATCH", path, body=change, content_type=MERGE_PATCH, as_user=as_user)


def _everything(settings: Settings) -> tuple[Obj, list[Obj]]:
    made = parts(settings)
    definition, *_others = made.pop("definition")  # of EvictionRequests; nothing here needs the others
    rights = asking(STRANGER.name)
    roles = [one for one in made["roles"] if one["metadata"]["name"] != rights[0]["metadata"]["name"]]
    hooks = made["webhook-configurations"]
    for one in (hook for configuration in hooks for hook in configuration["webhooks"]):
        one["timeoutSeconds"] = REVIEW_SECONDS
    return definition, [*made["namespace"], *roles, *rights, *hooks]


@contextlib.contextmanager
def control_plane(folder: Path) -> Iterator[Path]:
    """An API server of its own: what becomes of its webhooks must disturb no other test."""
    with running(Path(os.environ[ASSETS]), folder, controllers=False) as plane:
        yield plane.kubeconfig


@contextlib.asynccontextmanager
async def admitting(kubeconfig: Path, folder: Path, port: int = 0) -> AsyncIterator[Plane]:
    """A server whose reviews go to a port of this machine, where nobody listens yet."""
    port = port or reserve_port()
    settings = Settings(webhook_url=f"https://127.0.0.1:{port}", pod_rules=RULES, network_policy=False,
                        deploy_manager=False)  # fmt: skip
    arm = KubeArm(kubeconfig)
    try:
        async with installed(arm, *_everything(settings)):
            plane = Plane(arm, kubeconfig, port, folder)
            await plane.sign_in()
            yield plane
    finally:
        await arm.aclose()
