"""Which strategy answers for which kind."""

from __future__ import annotations

from vacate.admission.context import Strategy
from vacate.admission.strategy import KindStrategy
from vacate.api import kinds
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.api.untyped import mapping
from vacate.crds.catalogue import STRATEGIES
from vacate.embedded.registry.admissionregistration.policies import (
    AdmissionPolicyBindingStrategy,
    AdmissionPolicyStrategy,
)
from vacate.embedded.registry.apps.controllerrevisions import ControllerRevisionStrategy
from vacate.embedded.registry.apps.daemonsets import DaemonSetStrategy
from vacate.embedded.registry.apps.deployments import DeploymentStrategy
from vacate.embedded.registry.apps.replicasets import ReplicaSetStrategy
from vacate.embedded.registry.apps.statefulsets import StatefulSetStrategy
from vacate.embedded.registry.autoscaling.horizontalpodautoscalers import HorizontalPodAutoscalerStrategy
from vacate.embedded.registry.batch import cronjobs, jobspec
from vacate.embedded.registry.batch.cronjobs import CronJobStrategy
from vacate.embedded.registry.batch.jobs import JobStrategy
from vacate.embedded.registry.coordination.leases import LeaseStrategy
from vacate.embedded.registry.core.configmaps import ConfigMapStrategy
from vacate.embedded.registry.core.events import EventStrategy
from vacate.embedded.registry.core.namespaces import NamespaceStrategy
from vacate.embedded.registry.core.nodes import NodeStrategy
from vacate.embedded.registry.core.pods.strategy import PodStrategy
from vacate.embedded.registry.core.podtemplates import PodTemplateStrategy
from vacate.embedded.registry.core.secrets import SecretStrategy
from vacate.embedded.registry.core.serviceaccounts import ServiceAccountStrategy
from vacate.embedded.registry.customresources import CustomResourceStrategy
from vacate.embedded.registry.lifecycle.evictions import EvictionStrategy
from vacate.embedded.registry.lifecycle.requests import RequestStrategy
from vacate.embedded.registry.policy.budgets import BudgetStrategy
from vacate.embedded.registry.rbac.bindings import BindingStrategy
from vacate.embedded.registry.rbac.roles import RoleStrategy
from vacate.embedded.registry.scheduling.priorityclasses import PriorityClassStrategy
from vacate.embedded.registry.storage.claims import ClaimStrategy
from vacate.embedded.registry.storage.persistentvolumes import PersistentVolumeStrategy
from vacate.embedded.registry.storage.storageclasses import StorageClassStrategy

_CLASSES: dict[Kind, type[KindStrategy]] = {
    kinds.NAMESPACES: NamespaceStrategy,
    kinds.NODES: NodeStrategy,
    kinds.PODS: PodStrategy,
    kinds.EVENTS: EventStrategy,
    kinds.CONFIGMAPS: ConfigMapStrategy,
    kinds.SECRETS: SecretStrategy,
    kinds.SERVICEACCOUNTS: ServiceAccountStrategy,
    kinds.PODTEMPLATES: PodTemplateStrategy,
    kinds.PERSISTENTVOLUMES: PersistentVolumeStrategy,
    kinds.PERSISTENTVOLUMECLAIMS: ClaimStrategy,
    kinds.DEPLOYMENTS: DeploymentStrategy,
    kinds.REPLICASETS: ReplicaSetStrategy,
    kinds.STATEFULSETS: StatefulSetStrategy,
    kinds.DAEMONSETS: DaemonSetStrategy,
    kinds.CONTROLLERREVISIONS: ControllerRevisionStrategy,
    kinds.JOBS: JobStrategy,
    kinds.CRONJOBS: CronJobStrategy,
    kinds.HORIZONTALPODAUTOSCALERS: HorizontalPodAutoscalerStrategy,
    kinds.PODDISRUPTIONBUDGETS: BudgetStrategy,
    kinds.LEASES: LeaseStrategy,
    kinds.LIFECYCLE_REQUESTS: RequestStrategy,
    kinds.LIFECYCLE_EVICTIONS: EvictionStrategy,
    kinds.PRIORITYCLASSES: PriorityClassStrategy,
    kinds.STORAGECLASSES: StorageClassStrategy,
    kinds.ROLES: RoleStrategy,
    kinds.ROLEBINDINGS: BindingStrategy,
    kinds.CLUSTERROLES: RoleStrategy,
    kinds.CLUSTERROLEBINDINGS: BindingStrategy,
    kinds.VALIDATINGADMISSIONPOLICIES: AdmissionPolicyStrategy,
    kinds.VALIDATINGADMISSIONPOLICYBINDINGS: AdmissionPolicyBindingStrategy,
}
_STRATEGIES = {kind: family(kind) for kind, family in _CLASSES.items()}
_CUSTOM = {kind: CustomResourceStrategy(strategy) for kind, strategy in STRATEGIES.items()}


def strategy_for(kind: Kind) -> Strategy:
    """The strategy of a stored kind; reviews have none and are a programming error here."""
    return _CUSTOM.get(kind) or _STRATEGIES[kind]


def warnings_for(kind: Kind, obj: Obj) -> list[str]:
    """What of an object the embedded cluster stores and does not act on, in words to its author."""
    if kind == kinds.JOBS:
        return jobspec.warnings_of(mapping(obj.get("spec")))
    return cronjobs.warnings_of(obj) if kind == kinds.CRONJOBS else []
