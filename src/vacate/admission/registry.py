"""Which strategy answers for which kind."""

from __future__ import annotations

from vacate.admission import metadata, owners, scale
from vacate.admission.base import KindStrategy
from vacate.admission.bindings import BindingStrategy
from vacate.admission.budgets import BudgetStrategy
from vacate.admission.configmaps import ConfigMapStrategy
from vacate.admission.deployments import DeploymentStrategy
from vacate.admission.events import EventStrategy
from vacate.admission.evictionrequest.strategy import EvictionRequestStrategy
from vacate.admission.leases import LeaseStrategy
from vacate.admission.namespaces import NamespaceStrategy
from vacate.admission.nodes import NodeStrategy
from vacate.admission.pods.strategy import PodStrategy
from vacate.admission.priorityclasses import PriorityClassStrategy
from vacate.admission.replicasets import ReplicaSetStrategy
from vacate.admission.roles import RoleStrategy
from vacate.admission.rules import Rule
from vacate.admission.serviceaccounts import ServiceAccountStrategy
from vacate.admission.types import Strategy
from vacate.api import kinds
from vacate.api.kinds import Kind

_CLASSES: dict[Kind, type[KindStrategy]] = {
    kinds.NAMESPACES: NamespaceStrategy,
    kinds.NODES: NodeStrategy,
    kinds.PODS: PodStrategy,
    kinds.EVENTS: EventStrategy,
    kinds.CONFIGMAPS: ConfigMapStrategy,
    kinds.SERVICEACCOUNTS: ServiceAccountStrategy,
    kinds.DEPLOYMENTS: DeploymentStrategy,
    kinds.REPLICASETS: ReplicaSetStrategy,
    kinds.PODDISRUPTIONBUDGETS: BudgetStrategy,
    kinds.LEASES: LeaseStrategy,
    kinds.PRIORITYCLASSES: PriorityClassStrategy,
    kinds.ROLES: RoleStrategy,
    kinds.ROLEBINDINGS: BindingStrategy,
    kinds.CLUSTERROLES: RoleStrategy,
    kinds.CLUSTERROLEBINDINGS: BindingStrategy,
    kinds.EVICTIONREQUESTS: EvictionRequestStrategy,
}
_STRATEGIES = {kind: family(kind) for kind, family in _CLASSES.items()}


def strategy_for(kind: Kind) -> Strategy:
    """The strategy of a stored kind; reviews have none and are a programming error here."""
    return _STRATEGIES[kind]


def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the kinds."""
    found = dict.fromkeys((*metadata.RULES, *owners.RULES))
    for strategy in _STRATEGIES.values():
        found.update(dict.fromkeys(strategy.rules))
    found.update(dict.fromkeys(scale.RULES))
    return tuple(found)
