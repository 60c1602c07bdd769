"""PURE. Which settings an installation has, as far as its objects show them, and the command with these."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.installednames import DEFAULT_NAMESPACE, MANAGER
from vacate.api.objects import Obj, dig, name_of
from vacate.install.settings import DEFAULT_IMAGE, Certificates, Settings
from vacate.views.model import Remedy
from vacate.views.phrases import command_line

_CERT_MANAGER = "cert-manager.io/inject-ca-from"


def install_again(settings: Settings, program: str, *, kept: bool = False) -> Remedy:
    """The command that applies an installation again, with the options that its objects show.

    One that keeps its options needs none, but for where it is.
    """
    words = ["install"]
    words += ["-n", settings.namespace] if settings.namespace != DEFAULT_NAMESPACE else []
    if kept:
        return Remedy("Apply the installation again, which keeps its options", command_line(program, *words))
    for option, given in (
        ("--image", settings.image if settings.image != DEFAULT_IMAGE else ""),
        ("--webhook-url", settings.webhook_url),
    ):
        words += [option, given] if given else []
    if settings.certificates is Certificates.CERT_MANAGER:
        words.append("--certificates=cert-manager")
    for flag, wanted in (
        ("--no-manager", not settings.deploy_manager),
        ("--no-pod-webhooks", not settings.pod_webhooks),
        ("--eviction-bridge", settings.eviction_bridge),
        ("--termination-reasons", settings.termination_reasons),
        ("--prestop-wrapper", settings.prestop_wrapper),
    ):
        words += [flag] if wanted else []
    text = "Apply the installation again, with whatever other options it was made with"
    return Remedy(text, command_line(program, *words))


def shown_settings(
    namespace: str, mutating: Obj | None, validating: Obj | None, deployments: Iterable[Obj]
) -> Settings:
    """The settings of an installation, as far as its objects show them."""
    configured = [one for one in (mutating, validating) if one is not None]
    hooks = [hook for one in configured for hook in one.get("webhooks") or []]
    names = {str(hook.get("name")).rpartition(".vacate")[0] for hook in hooks}
    url = next((str(found) for hook in hooks if (found := dig(hook, "clientConfig", "url"))), "")
    path = next((str(one) for hook in hooks if (one := dig(hook, "clientConfig", "service", "path"))), "")
    managers = [one for one in deployments if name_of(one) == MANAGER]
    image = (dig(one, "spec", "template", "spec", "containers") or [{}] for one in managers)
    annotations = [one["metadata"].get("annotations") or {} for one in configured]
    return Settings(
        namespace=namespace,
        image=next((str(one[0].get("image")) for one in image), DEFAULT_IMAGE),
        webhook_url="/".join(url.split("/")[:3]) if url and not path else "",
        certificates=Certificates.CERT_MANAGER
        if any(_CERT_MANAGER in one for one in annotations)
        else Certificates.SELF,
        pod_rules="rules: []" if "pods.mutate" in names else "",
        pod_webhooks="workloadpods.mutate" in names or not configured,
        eviction_bridge="evictions.validate" in names,
        termination_reasons="reasons.annotate" in names,
        prestop_wrapper="prestophooks.mutate" in names,
        deploy_manager=bool(managers),
    )
