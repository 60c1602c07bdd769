"""The rights of the controllers.

The embedded ones share the identity of the controller manager and its informers, so that one role has what
they need: the garbage collector alone needs nearly everything.
"""

from __future__ import annotations

from vacate.api.objects import Obj
from vacate.api.policyrules import CORE, Rule, rule
from vacate.embedded.bootstrap.rules import EVENTS, cluster_binding, cluster_role, service_account, user
from vacate.wiring.controllers import CONTROLLERS as PRODUCT_CONTROLLERS
from vacate.wiring.controllers import rules as product_rules
from vacate.wiring.hooks import HOOK_RULES, JOB_RULES

CONTROLLER_PREFIX = "system:controller:"
_EMBEDDED = "vacate:embedded-controllers"
_EMBEDDED_RULES = (
    rule("delete deletecollection get list patch update watch", "*", "*"),
    rule("create", CORE, "persistentvolumeclaims pods serviceaccounts"),
    rule("create", "apps", "controllerrevisions replicasets"),
    EVENTS,
)

EVICTION_CONTROLLER = "evictionrequest-controller"
# Vacate's own decide who is evicted: they have an identity of their own, whose rights the controller manager
# does not share. What they need stands in one list, from which an installation takes its role too.
_EVICTION_RULES: tuple[Rule, ...] = product_rules(PRODUCT_CONTROLLERS)

HOOKS_CONTROLLER = "eviction-hooks"
"""Calls what pods name: an identity of its own, with few rights. Who starts the cluster has written its list
of namespaces with Jobs too, so that these rights are not bound one by one as in an installation."""


def controller_roles() -> list[Obj]:
    """A role for the embedded controllers, and one for each identity of Vacate's own."""
    return [
        cluster_role(_EMBEDDED, *_EMBEDDED_RULES),
        cluster_role(f"{CONTROLLER_PREFIX}{EVICTION_CONTROLLER}", *_EVICTION_RULES),
        cluster_role(f"{CONTROLLER_PREFIX}{HOOKS_CONTROLLER}", *HOOK_RULES, *JOB_RULES),
    ]


def controller_bindings() -> list[Obj]:
    """Each role to the identity that has it."""
    ours = (EVICTION_CONTROLLER, HOOKS_CONTROLLER)
    return [
        cluster_binding(_EMBEDDED, user("system:kube-controller-manager")),
        *(cluster_binding(f"{CONTROLLER_PREFIX}{name}", service_account(name)) for name in ours),
    ]
