"""The admission policies about EvictionRequests of lifecycle.k8s.io that Vacate's accounts and nodes write.

In that API nobody asks whether who writes a request may delete the pod, and nothing completes it: the right
to create one is the right to have any pod evicted. So each account has requests in names of its own, and
puts nothing into their metadata by which it could hold them, or have others act. What it changes of them
later is in `confinement.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from vacate.api.identity import service_account_user
from vacate.api.installednames import MANAGER, NODE_USERS, OWN_LIFECYCLE, SHUTDOWN_AGENT, WEBHOOK
from vacate.api.kinds import LIFECYCLE_REQUESTS
from vacate.api.objects import Obj
from vacate.crds.cel import text
from vacate.descheduling.names import SUFFIX as DESCHEDULING
from vacate.eviction.callers import CALLERS
from vacate.eviction.callers import SUFFIX as BRIDGE
from vacate.eviction.dialects.evictionrequest.dialect import REASON
from vacate.eviction.requesternames import MAINTENANCE_SUFFIX
from vacate.install.manifests.policyobjects import (
    BY_NODES,
    NODE_OF_TOKEN,
    NODE_OF_USER,
    WITH_PREFIX,
    bound,
    by_user,
    forbidding,
    matched,
    of_new,
    of_new_requests,
    policy_of,
    rule_about,
    variables,
)
from vacate.install.settings import Settings
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX

_REQUESTER = "dyn(request.operation == 'CREATE' ? object : oldObject).spec.requester"


@dataclass(frozen=True, slots=True)
class _Account:
    """One that writes such requests."""

    name: str
    by: Obj
    shown: str  # in messages
    creates: str  # whether it makes requests of the variable `requester`, in CEL
    changes: str = ""  # those that it changes beside its own
    annotations: tuple[str, ...] = (REASON,)  # of a new one
    node: str = ""  # for which it acts, in CEL


def lifecycle_policies(settings: Settings) -> list[Obj]:
    """Those of the manager, of the webhook and of the identities of nodes, each with its binding."""
    users = {one: service_account_user(settings.namespace, one) for one in (MANAGER, WEBHOOK)}
    accounts = (
        _Account(
            MANAGER,
            by_user(users[MANAGER]),
            "the manager of Vacate",
            _below(MAINTENANCE_SUFFIX, DESCHEDULING),
            changes=_below(BRIDGE),
        ),
        _Account(
            WEBHOOK,
            by_user(users[WEBHOOK]),
            "the webhook of Vacate",
            _below(BRIDGE),
            annotations=(REASON, CALLERS),
        ),
        _Account(NODE_USERS, BY_NODES, "a node", _of_node(), node=NODE_OF_USER),
    )
    return [obj for one in accounts for obj in _policy(one)]


def agent_lifecycle_policy(user: str) -> list[Obj]:
    """That of the shutdown agent, which acts for the node that its token names."""
    shown = "the shutdown agent"
    return _policy(_Account(SHUTDOWN_AGENT, by_user(user), shown, _of_node(), node=NODE_OF_TOKEN))


def _policy(account: _Account) -> list[Obj]:
    who, meta = account.shown, "object.metadata"
    mine = account.creates
    if account.changes:
        mine = f"{mine} || (request.operation == 'UPDATE' && {account.changes})"
    what, pod = "an EvictionRequest", "o.uid == object.spec.target.pod.uid"
    validations = {
        f"{who} has EvictionRequests of lifecycle.k8s.io in names of its own only": mine,
        **of_new(
            {
                f"{who} puts no finalizer on {what}": f"{meta}.?finalizers.orValue([]) == []",
                f"{who} labels no EvictionRequest": f"{meta}.?labels.orValue({{}}).all(k, {WITH_PREFIX})",
            }
        ),
        **of_new_requests(who, what, pod, account.annotations),
    }
    named = {"node": account.node} if account.node else {}
    spec = {
        "matchConstraints": matched(rule_about(LIFECYCLE_REQUESTS, ["CREATE", "UPDATE", "DELETE"])),
        "matchConditions": [account.by],
        "variables": variables({**named, "requester": _REQUESTER}),
        "validations": forbidding(validations),
    }
    return bound(policy_of(OWN_LIFECYCLE[account.name], spec))


def _below(*suffixes: str) -> str:
    """Whether the domain of the requester's name is one of these, or below it."""
    ends = "|".join(one.replace(".", "[.]") for one in suffixes)
    return f"variables.requester.matches({text(f'^([^/]+[.])?({ends})/')})"


def _of_node() -> str:
    """Whether the requester is the node, whose name is made a key of its domain."""
    node = "variables.node"
    dotted = f"{node}.substring({node}.indexOf('.') + 1) + '.{REQUESTER_SUFFIX}/' + {node}.split('.')[0]"
    keyed = f"({node}.contains('.') ? {dotted} : '{REQUESTER_SUFFIX}/' + {node})"
    return f"({node} != '' && variables.requester == {keyed})"
