"""Every object of an installation, in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Callable

from vacate.api.objects import Obj
from vacate.crds.definition import definitions
from vacate.install.manifests import deployments, monitoring, network
from vacate.install.manifests import grafana as dashboard
from vacate.install.manifests.confinement import agent_confinement, confinement
from vacate.install.manifests.hooks import hooks
from vacate.install.manifests.policies import former_policies, policies
from vacate.install.manifests.roles import former_roles, roles
from vacate.install.manifests.shutdownagent import shutdown_agent
from vacate.install.manifests.web import web
from vacate.install.manifests.webhooks import webhook_configurations
from vacate.install.objectkinds import path_of
from vacate.install.settings import DEFAULT_HOOKS, Certificates, Monitoring, Settings, ShutdownAgent


def objects(settings: Settings | None = None) -> list[Obj]:
    """All objects: first what others need, last the webhook configurations, which need the webhook."""
    return [one for part in parts(settings or Settings()).values() for one in part]


def everything(namespace: str) -> list[Obj]:
    """All that any settings could have rendered, now or earlier, each once: those of the defaults first."""
    own = objects(Settings(namespace=namespace))
    more = objects(
        Settings(
            namespace=namespace,
            certificates=Certificates.CERT_MANAGER,
            pod_rules="rules: []",
            client_ca="PEM",
            termination_reasons=True,
            prestop_wrapper=True,
            shutdown_agent=ShutdownAgent(),
            hooks=DEFAULT_HOOKS,
            web=True,
            monitoring=Monitoring.everything(),
        )
    )
    known = {path_of(obj) for obj in own}
    former = [*former_roles(namespace), *former_policies()]
    return [*own, *(obj for obj in [*more, *former] if path_of(obj) not in known)]


def parts(settings: Settings) -> dict[str, list[Obj]]:
    """The same by what they are for; the keys are also the names of the files in which they are kept."""
    made = {name: make() for name, make in part_makers(settings).items()}
    return {name: part for name, part in made.items() if part}


def part_makers(settings: Settings) -> dict[str, Callable[[], list[Obj]]]:
    """What makes each part, for those who need few of them."""
    wanted = settings.monitoring
    return {
        "namespace": lambda: [deployments.namespace(settings)],
        "definition": lambda: definitions(settings.allowed_interceptors) if settings.definitions else [],
        "roles": lambda: roles(settings),
        "certificates": lambda: _certificates(settings),
        "certificate-rotation": lambda: deployments.certificates(settings) if _rotates(settings) else [],
        "manager": lambda: deployments.manager(settings) if settings.deploy_manager else [],
        "webhook": lambda: deployments.webhook(settings) if settings.deploys_webhook else [],
        "network-policies": lambda: network.network_policies(settings) if settings.network_policy else [],
        "service-monitors": lambda: monitoring.service_monitors(settings) if wanted.service_monitors else [],
        "alerts": lambda: [monitoring.alerts(settings)] if wanted.alerts else [],
        "dashboard": lambda: [dashboard.dashboard_config_map(settings)] if wanted.dashboard else [],
        "shutdown-agent": lambda: shutdown_agent(settings),
        "hooks": lambda: hooks(settings) if settings.hooks else [],
        "web": lambda: web(settings) if settings.web else [],
        "admission-policies": lambda: policies(settings),
        "confinement": lambda: [*confinement(settings), *agent_confinement(settings)],
        "webhook-configurations": lambda: webhook_configurations(settings),
    }


def _certificates(settings: Settings) -> list[Obj]:
    wanted = settings.certificates is Certificates.CERT_MANAGER and settings.deploys_webhook
    return network.certificates(settings) if wanted else []


def _rotates(settings: Settings) -> bool:
    return settings.own_certificates and settings.deploys_webhook
