"""What each account of Vacate may write, as admission policies, which hold for each holder of its token.

Roles say which objects an account may patch, and not what of them. Each row of `WRITES` says that for one
account and one resource, in the names that the code writes with; from it come a policy, its message, and the
table of docs/reference/confinement.md. The rest of the object must be as it was: fields that a later version
of Kubernetes adds are covered without being known.

A policy is evaluated on what other admission plugins have made of a write. So labels and annotations
that are new pass, unless they are Kubernetes' or Vacate's own; of nodes, which pods select by them, those
with a prefix do, and where the account of nodes writes, none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vacate.admission.pods.workloads import REGISTERED, REGISTRATIONS
from vacate.api.identity import service_account_user
from vacate.api.installednames import (
    CONFINES,
    HOOKS,
    MANAGER,
    NODE_USERS,
    SHUTDOWN_AGENT,
    WEBHOOK,
)
from vacate.api.kinds import (
    DEPLOYMENTS,
    EVACUATIONS,
    EVENTS,
    EVICTIONREQUESTS,
    HORIZONTALPODAUTOSCALERS,
    LIFECYCLE_REQUESTS,
    NODEMAINTENANCES,
    NODES,
    PERSISTENTVOLUMES,
    PODS,
    REPLICASETS,
    Kind,
)
from vacate.api.nodeconditions import GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS, SHUTDOWN_TAINT
from vacate.api.objects import Obj
from vacate.api.terminationreason import ANNOTATION, SOURCE_ANNOTATION
from vacate.api.types.evacuation import INSTIGATOR
from vacate.api.types.evictionrequest import SHUTDOWN_DEADLINE, SUPERSEDES
from vacate.crds.cel import listed, text
from vacate.eviction.callers import CALLERS, POD_LABEL, SUFFIX
from vacate.eviction.succession import HANDED_OVER
from vacate.fencing.annotations import (
    APPROVED,
    BEGUN,
    BOOT_ID,
    FENCED,
    LATEST_LOSS,
    REQUESTED,
    UNTIL,
)
from vacate.install.manifests.accountpolicies import account_policies, own_lease
from vacate.install.manifests.lifecyclepolicies import agent_lifecycle_policy, lifecycle_policies
from vacate.install.manifests.ownevents import own_events
from vacate.install.manifests.ownnodepolicy import node_policies, own_node_policies
from vacate.install.manifests.policyobjects import (
    BY_NODES,
    OF_OTHERS,
    WITH_PREFIX,
    bound,
    by_user,
    forbidding,
    matched,
    policy_of,
    rule_about,
)
from vacate.install.settings import Confinement, Settings
from vacate.kube.deletionorder import DELETION_COST
from vacate.kube.exclusivevolumes import ATTACHMENT, DETACHED, GATE
from vacate.kube.nodes import NODE_DOWN, OUT_OF_SERVICE, SAFE_TO_DELETE
from vacate.kube.spreadcosts import SPREAD_COST
from vacate.kube.surge import DEPLOYMENT_ANNOTATIONS, MARKED, SURGE
from vacate.maintenance.names import CLAIMS, FINALIZER, TAINT
from vacate.maintenance.report import CONDITIONS
from vacate.nodeagent.shutdown.requests import REQUESTER_SUFFIX
from vacate.nodeagent.status import DISRUPTION_TARGET

_NONE = "false"
# `generation` is raised before policies are asked, and managed fields follow what was written.
_SERVERS = ("annotations", "labels", "managedFields", "resourceVersion", "generation")


@dataclass(frozen=True, slots=True)
class Items:
    """Those items of a list that an account writes; all others stay, in their order."""

    field: str  # below spec, status or metadata
    key: str  # what tells the items apart; empty where they are texts
    names: tuple[str, ...]
    suffix: str = ""  # or all whose name ends so
    prefix: str = ""  # or begins so
    only_removed: bool = False

    @property
    def which(self) -> str:
        """For messages and documents."""
        return (", ".join(self.names) or f"{self.prefix}*{self.suffix}") + (
            ", which it removes" if self.only_removed else ""
        )


@dataclass(frozen=True, slots=True)
class Write:
    """What one account changes of the objects of one resource."""

    account: str
    kind: Kind
    subresource: str = ""
    fields: tuple[str, ...] = ()  # of the spec
    top: tuple[str, ...] = ()  # beside metadata, of kinds without a spec
    items: Items | None = None
    annotations: tuple[str, ...] = ()
    removed_annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    labels_of_pods: bool = False  # whether admission gives it the labels of its pod at each update
    removes_owners: bool = False  # whether it takes away owners, and adds none
    adds_owner: str = ""  # where the spec names the pod that it may make the owner, in CEL
    enforced: bool = False  # whatever the settings say: those of identities rest on it
    # New labels and annotations that pass, since admission plugins of others may add them; by a pattern.
    tolerated: str = OF_OTHERS

    @property
    def resource(self) -> str:
        """As rules have it."""
        return f"{self.kind.plural}/{self.subresource}" if self.subresource else self.kind.plural

    @property
    def shown(self) -> str:
        """The resource, with its group where another API has one of that name."""
        return f"{self.resource}.{self.kind.group}" if self.kind is LIFECYCLE_REQUESTS else self.resource

    @property
    def name(self) -> str:
        """The name of the policy."""
        api = "" if self.kind is not LIFECYCLE_REQUESTS else "lifecycle-"  # there are two of this name
        account = "node" if self.account == NODE_USERS else self.account.removeprefix("vacate-")
        return f"{CONFINES}{account}-{api}{self.resource.replace('/', '-')}"

    @property
    def described(self) -> str:
        """What it may change, in words."""
        found = [*self.top, *(f"spec.{one}" for one in self.fields)]
        if self.items is not None:
            found.append(f"{self._items_of}.{self.items.field}: {self.items.which}")
        found += [f"annotation {one}" for one in self.annotations]
        found += [f"label {one}" for one in self.labels]
        found += ["labels of the pod"] if self.labels_of_pods else []
        found += ["owners, which it removes"] if self.removes_owners else []
        found += ["the pod as an owner, which it adds"] if self.adds_owner else []
        return "; ".join(
            [*found, *(f"annotation {one}, which it removes" for one in self.removed_annotations)]
        )

    @property
    def _items_of(self) -> str:
        if self.items is None:
            return ""
        if self.items.field == "finalizers":
            return "metadata"
        return "status" if self.subresource == "status" else "spec"

    def policy(self, by: Obj) -> Obj:
        """For the account, by the match condition that knows it."""
        parts = ("spec", "status", "metadata", "annotations", "labels")
        spec = {
            "matchConstraints": matched(rule_about(self.kind, ["UPDATE"], self.subresource)),
            "matchConditions": [by],
            "variables": [
                {
                    "name": f"{name}{part.capitalize()}",
                    "expression": f"dyn({obj}).?{_path(part)}.orValue({{}})",
                }
                for part in parts
                for name, obj in (("new", "object"), ("old", "oldObject"))
            ],
            "validations": forbidding(
                {
                    f"{self.account} may change {only} of {self.shown}": holds
                    for only, holds in self._validations().items()
                }
            ),
        }
        return policy_of(self.name, spec)

    def _validations(self) -> dict[str, str]:
        part, items = self._items_of, self.items
        parts = [one for one in ("spec", "status") if one == part or (one == "spec" and self.fields)]
        whole = ["metadata", *parts, *self.top]
        made = {f"only {' and '.join(whole)}": _same("dyn(object)", "dyn(oldObject)", whole)}
        for one in parts:
            but = [*(self.fields if one == "spec" else ()), *([items.field] if items and one == part else [])]
            made[f"only {', '.join(but)} in {one}"] = _same(*_both(one), but)
        if items is not None:
            made[f"only {items.which} in {part}.{items.field}"] = _same_items(part, items)
        but = ["finalizers"] if part == "metadata" else []
        new, old = (f"{one}.?ownerReferences.orValue([])" for one in _both("metadata"))
        if self.removes_owners:
            but.append("ownerReferences")
            made["no new ownerReferences in metadata"] = f"{new}.all(i, i in {old})"
        if self.adds_owner:
            but.append("ownerReferences")
            is_pod = f"i.kind == {text(PODS.kind)} && i.uid == object.{self.adds_owner}"
            made["no ownerReferences but a new one of the pod in metadata"] = (
                f"{old}.all(i, i in {new}) && {new}.all(i, i in {old} || ({is_pod}))"
            )
        made[f"only {', '.join(['annotations', *but])} in metadata"] = _same(
            *_both("metadata"), [*_SERVERS, *but]
        )
        shown = [*self.annotations, *(f"{one} (which it removes)" for one in self.removed_annotations)]
        made[f"only {', '.join(shown)} of the annotations" if shown else "none of the annotations"] = (
            self._same_marks("annotations", self.annotations, self.removed_annotations)
        )
        if not self.labels_of_pods:
            made["none of the labels"] = self._same_marks("labels")
        elif POD_LABEL not in self.labels:
            new, old = (f"{one}[?{text(POD_LABEL)}]" for one in _both("labels"))
            made[f"all but {POD_LABEL} of the labels"] = f"{new} == {old}"
        return made

    def _same_marks(self, part: str, ours: Sequence[str] = (), removed: Sequence[str] = ()) -> str:
        new, old = _both(part)
        stays = f"{new}[?k] == optional.of({old}[k])"
        if removed:
            stays += f" || (k in {listed(removed)} && !(k in {new}))"
        added = f"k in {old} || ({self.tolerated})"
        mine = f"k in {listed(ours)} || " if ours else ""
        return f"{old}.all(k, {mine}{stays}) && {new}.all(k, {mine}{added})"


def _path(part: str) -> str:
    return f"metadata.?{part}" if part in ("annotations", "labels") else part


def _both(part: str) -> tuple[str, str]:
    return f"variables.new{part.capitalize()}", f"variables.old{part.capitalize()}"


def _same(new: str, old: str, but: Sequence[str]) -> str:
    """Every key but these is as before."""
    free = f"k in {listed(but)} || " if but else ""
    return f"{new}.all(k, {free}{old}[?k] == optional.of({new}[k])) && {old}.all(k, {free}k in {new})"


def _same_items(part: str, items: Items) -> str:
    name = f"i.{items.key}" if items.key else "i"
    named = f"{name}.startsWith({text(items.prefix)}) && {name}.endsWith({text(items.suffix)})"
    ours = f"{name} in {listed(items.names)}" if items.names else named
    new, old = (f"{one}.?{items.field}.orValue([])" for one in _both(part))
    same = f"{new}.filter(i, !({ours})) == {old}.filter(i, !({ours}))"
    return f"{same} && {new}.all(i, i in {old})" if items.only_removed else same


_REASON = (ANNOTATION, SOURCE_ANNOTATION)
WRITES: tuple[Write, ...] = (
    # Count and record are one write: neither is ever there without the other.
    Write(MANAGER, DEPLOYMENTS, fields=("replicas",), annotations=DEPLOYMENT_ANNOTATIONS),
    # Deployment controllers copy annotations to ReplicaSets.
    Write(MANAGER, REPLICASETS, removed_annotations=DEPLOYMENT_ANNOTATIONS),
    Write(MANAGER, HORIZONTALPODAUTOSCALERS, fields=("minReplicas",), annotations=(SURGE,)),
    Write(
        MANAGER,
        PODS,
        items=Items("schedulingGates", "name", (GATE,), only_removed=True),
        annotations=(DELETION_COST, SPREAD_COST, MARKED, REGISTERED, *REGISTRATIONS, *_REASON),
    ),
    Write(MANAGER, PODS, "status", items=Items("conditions", "type", (*HANDED_OVER.values(), NODE_DOWN))),
    Write(
        MANAGER,
        NODES,
        fields=("unschedulable",),
        items=Items("taints", "key", (TAINT.key, OUT_OF_SERVICE)),
        annotations=(CLAIMS, BEGUN, FENCED, LATEST_LOSS, UNTIL, BOOT_ID, SAFE_TO_DELETE),
        removed_annotations=(REQUESTED, APPROVED),
        tolerated=WITH_PREFIX,
    ),
    Write(MANAGER, NODES, "status", items=Items("conditions", "type", CONDITIONS), tolerated=WITH_PREFIX),
    Write(MANAGER, PERSISTENTVOLUMES, annotations=(ATTACHMENT, DETACHED)),
    Write(MANAGER, NODEMAINTENANCES, items=Items("finalizers", "", (FINALIZER,))),
    # Requests take over requesters from others, and outlive their pods while callers may ask for them.
    Write(
        MANAGER,
        EVICTIONREQUESTS,
        fields=("requesters",),
        annotations=(CALLERS, SUPERSEDES),
        labels=(POD_LABEL,),
        labels_of_pods=True,
        adds_owner="spec.target.podRef.uid",
    ),
    Write(
        MANAGER,
        EVACUATIONS,
        items=Items("finalizers", "", (), prefix=INSTIGATOR),
        annotations=(CALLERS, SUPERSEDES),
        labels_of_pods=True,
    ),
    Write(WEBHOOK, PODS, annotations=_REASON, tolerated=WITH_PREFIX, enforced=True),
    Write(
        WEBHOOK,
        EVICTIONREQUESTS,
        items=Items("requesters", "name", (), suffix=f".{SUFFIX}"),
        annotations=(CALLERS,),
        labels=(POD_LABEL,),
        labels_of_pods=True,
        removes_owners=True,  # it outlives its pod while callers may ask for it
    ),
    Write(
        WEBHOOK,
        EVACUATIONS,
        items=Items("finalizers", "", (), suffix=f".{SUFFIX}"),
        annotations=(CALLERS,),
        labels_of_pods=True,
    ),
    Write(
        SHUTDOWN_AGENT,
        NODES,
        items=Items("taints", "key", (SHUTDOWN_TAINT,)),
        tolerated=_NONE,
        enforced=True,
    ),
    Write(
        SHUTDOWN_AGENT,
        NODES,
        "status",
        items=Items("conditions", "type", (GRACEFUL_SHUTDOWN, SHUTDOWN_IN_PROGRESS)),
        tolerated=_NONE,
        enforced=True,
    ),
    Write(
        SHUTDOWN_AGENT,
        PODS,
        "status",
        items=Items("conditions", "type", (DISRUPTION_TARGET,)),
        tolerated=_NONE,
        enforced=True,
    ),
    # A node is known by its identity or by the agent's token.
    *(
        Write(
            account,
            kind,
            items=Items(field, key, (), suffix=f".{REQUESTER_SUFFIX}"),
            annotations=(SHUTDOWN_DEADLINE,),
            labels_of_pods=True,
        )
        for account in (SHUTDOWN_AGENT, NODE_USERS)
        for kind, field, key in ((EVICTIONREQUESTS, "requesters", "name"), (EVACUATIONS, "finalizers", ""))
    ),
    *(
        Write(one, LIFECYCLE_REQUESTS, fields=("intent",), annotations=(SHUTDOWN_DEADLINE,), enforced=True)
        for one in (SHUTDOWN_AGENT, NODE_USERS)
    ),
    *(
        Write(one, LIFECYCLE_REQUESTS, fields=("intent",), annotations=(CALLERS,), enforced=True)
        for one in (MANAGER, WEBHOOK)
    ),
    # Repeats are counted.
    *(
        Write(one, EVENTS, top=("count", "lastTimestamp"), tolerated=WITH_PREFIX)
        for one in (MANAGER, SHUTDOWN_AGENT, HOOKS)
    ),
)
"""What the accounts change of objects. Who creates or deletes which is in roles and in the policies below."""


def confinement(settings: Settings) -> list[Obj]:
    """Each policy of the manager, the webhook and the identities of nodes, and those that always apply."""
    users = {one: service_account_user(settings.namespace, one) for one in (MANAGER, WEBHOOK)}
    accounts = {NODE_USERS: BY_NODES, **{one: by_user(user) for one, user in users.items()}}
    events = (one for account, user in users.items() for one in own_events(account, user))
    others = (account_policies(settings), node_policies(), lifecycle_policies(settings), events)
    return [*_confined(accounts, settings), *(one for made in others for one in made)]


def agent_confinement(settings: Settings) -> list[Obj]:
    """The policies of the shutdown agent: of what, and of which node."""
    agent = settings.shutdown_agent
    if agent is None:
        return []
    user = service_account_user(agent.namespace, SHUTDOWN_AGENT)
    made = (own_node_policies(user), agent_lifecycle_policy(user), own_events(SHUTDOWN_AGENT, user))
    return [*_confined({SHUTDOWN_AGENT: by_user(user)}, settings), *(one for each in made for one in each)]


def hooks_confinement(settings: Settings) -> list[Obj]:
    """The policies of the account of hooks."""
    user = service_account_user(settings.namespace, HOOKS)
    made = (bound(own_lease(HOOKS, settings)), own_events(HOOKS, user))
    return [*_confined({HOOKS: by_user(user)}, settings), *(one for each in made for one in each)]


def _confined(accounts: Mapping[str, Obj], settings: Settings) -> list[Obj]:
    chosen = [one for one in WRITES if one.account in accounts]
    if settings.confine is Confinement.OFF:
        chosen = [one for one in chosen if one.enforced]
    every = settings.confine is Confinement.ENFORCE
    made = [(one.policy(accounts[one.account]), every or one.enforced) for one in chosen]
    return [obj for policy, deny in made for obj in bound(policy, deny=deny)]
