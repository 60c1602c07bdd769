"""The pages of `vacate web` in the cluster: a pod without rights of its own, which uses those of each user.

It listens on the loopback of its pod only: `kubectl port-forward` reaches that, and so does a proxy that runs
as another container of the pod. Tokens never cross the network of the cluster in the clear.
"""

from __future__ import annotations

from vacate.api.installednames import METRICS_PORT, WEB, WEB_PORT, labels
from vacate.api.objects import Obj
from vacate.client.incluster import SERVICE_ACCOUNT
from vacate.install.manifests.deployments import container_of, deployment_of, mount
from vacate.install.manifests.network import metrics_ingress, policy_of
from vacate.install.settings import Settings

_COMPONENT = WEB.removeprefix("vacate-")


def web(settings: Settings) -> list[Obj]:
    """All of it. Nothing is bound to the account, and its token is not in the pod."""
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": WEB, "namespace": settings.namespace, "labels": labels(_COMPONENT)},
        "automountServiceAccountToken": False,
    }
    policy = [policy_of(WEB, [metrics_ingress(settings)], settings)] if settings.network_policy else []
    return [account, _deployment(settings), *policy]


def _deployment(settings: Settings) -> Obj:
    """One copy: those who signed in are known to it alone."""
    args = [
        "web",
        "--sign-in",
        f"--port={WEB_PORT}",
        *(f"--host={one}" for one in settings.web_hosts),
        *([f"--dashboard={settings.web_dashboard}"] if settings.web_dashboard else []),
        "--metrics-address=0.0.0.0",
        f"--metrics-port={METRICS_PORT}",
    ]
    container = container_of(_COMPONENT, args, [{"name": "metrics", "containerPort": METRICS_PORT}], settings)
    made = deployment_of(WEB, 1, container, settings)
    made["spec"]["template"]["spec"]["automountServiceAccountToken"] = False
    # Where a pod looks for the authority of its API server, without the token that is there otherwise.
    mount(made, "ca", str(SERVICE_ACCOUNT), {"configMap": {"name": "kube-root-ca.crt"}})
    return made
