"""What a new cluster has before anybody creates something: namespaces, priorities, roles and bindings."""

from __future__ import annotations

from functools import cache

import orjson

from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    NAMESPACES,
    PRIORITYCLASSES,
    ROLEBINDINGS,
    ROLES,
    Kind,
)
from vacate.api.objects import Obj, name_of
from vacate.embedded.apiserver.auth.rbacpolicy import effective_rules, is_aggregated
from vacate.embedded.bootstrap.bindings import cluster_bindings, system_bindings, system_roles
from vacate.embedded.bootstrap.cluster import namespaces, priority_classes
from vacate.embedded.bootstrap.componentroles import component_roles
from vacate.embedded.bootstrap.controllerroles import controller_bindings, controller_roles
from vacate.embedded.bootstrap.reconcile import must_recreate, reconcile
from vacate.embedded.bootstrap.userroles import user_roles

__all__ = ["bootstrap_objects", "must_recreate", "reconcile"]


def bootstrap_objects() -> list[tuple[Kind, Obj]]:
    """The default objects in an order in which they can be created, fresh at every call."""
    kinds, encoded = _encoded()
    return list(zip(kinds, orjson.loads(encoded), strict=True))


@cache
def _encoded() -> tuple[list[Kind], bytes]:
    """Written down once: to read them back is far quicker than to work out what they gather."""
    listed = (
        (NAMESPACES, namespaces()),
        (PRIORITYCLASSES, priority_classes()),
        (CLUSTERROLES, _cluster_roles()),
        (CLUSTERROLEBINDINGS, [*cluster_bindings(), *controller_bindings()]),
        (ROLES, system_roles()),
        (ROLEBINDINGS, system_bindings()),
    )
    kinds = [kind for kind, objects in listed for _ in objects]
    return kinds, orjson.dumps([obj for _, objects in listed for obj in objects])


def _cluster_roles() -> list[Obj]:
    """All cluster roles; those that gather others show what they gather, for readers."""
    roles = [*user_roles(), *component_roles(), *controller_roles()]
    effective = effective_rules(roles)
    for role in roles:
        if is_aggregated(role):
            role["rules"] = [rule.to_obj() for rule in effective[name_of(role)]]
    return roles
