"""One random request, and what has to be put into it for the server that it goes to.

A request may speak of an object's uid or resourceVersion, which each server makes up by itself: `Held` stands
for it and is resolved from the last answer of that server about the object. `HERE` stands for the namespace
of the sequence, of which objects without a namespace have their names.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field
from typing import Any

from support.arms import objects as make
from support.arms.arm import ADMIN, JSON, As, Obj
from vacate.api.kinds import (
    CLUSTERROLEBINDINGS,
    CLUSTERROLES,
    CONFIGMAPS,
    CONTROLLERREVISIONS,
    DAEMONSETS,
    EVENTS,
    HORIZONTALPODAUTOSCALERS,
    LEASES,
    PODDISRUPTIONBUDGETS,
    PODS,
    ROLEBINDINGS,
    ROLES,
    Kind,
)

HERE = "@@"
OURS = "of"
"""A label of all objects without a namespace: they are among others there."""


@dataclass(frozen=True)
class Held:
    """A value of an object's metadata as the server that is asked has it."""

    kind: str
    name: str
    what: str


@dataclass(frozen=True)
class Ask:
    """One request, without the namespace."""

    method: str
    kind: Kind
    name: str = ""
    sub: str = ""
    body: Any = None
    query: tuple[tuple[str, str], ...] = ()
    content_type: str = JSON
    as_user: As | None = ADMIN

    def __repr__(self) -> str:
        where = "/".join(part for part in (self.kind.plural, self.name, self.sub) if part)
        options = f" ?{self.query}" if self.query else ""
        form = f" as {self.content_type}" if self.method == "PATCH" else ""
        who = f" by {self.as_user}" if self.as_user else ""
        return f"{self.method} {where}{options}{form}{who} {self.body!r}"


def name_in(kind: Kind, name: str) -> str:
    """The name in requests: unique in the cluster where a namespace does not make it so."""
    return name if kind.namespaced or not name else f"{HERE}-{name}"


def base_object(kind: Kind, name: str) -> Obj:
    """A valid object."""
    obj = copy.deepcopy(_base(kind, name))  # the labels are one and the same object in all of them
    if not kind.namespaced:
        obj["metadata"].setdefault("labels", {})[OURS] = HERE
    return obj


def _base(kind: Kind, name: str) -> Obj:
    if kind is PODS:
        # Named, since the admission plugin that would name it is off in the real server.
        return make.pod(name, serviceAccountName="default")
    if kind is PODDISRUPTIONBUDGETS:
        return make.budget(name)
    if kind is CONFIGMAPS:
        return make.config_map(name, {"app": "web"}, k="v")
    if kind in (ROLES, CLUSTERROLES):
        return make.role(name, make.rule("get list", "pods"))
    if kind in (ROLEBINDINGS, CLUSTERROLEBINDINGS):
        role = ROLES if kind is ROLEBINDINGS else CLUSTERROLES
        return make.binding(name, role.kind, name_in(role, "a"), f"{HERE}-jane")
    if kind is LEASES:
        return make.named(name, spec={"holderIdentity": "me", "leaseDurationSeconds": 10})
    if kind is EVENTS:
        about = {"kind": "Pod", "namespace": HERE, "name": "a"}
        return make.named(name, involvedObject=about, reason="Because", type="Normal")
    if kind is HORIZONTALPODAUTOSCALERS:
        return make.autoscaler(name)
    if kind is DAEMONSETS:
        return make.daemon_set(name)
    if kind is CONTROLLERREVISIONS:
        return make.named(name, revision=1, data={"spec": {}})
    return make.workload(name) if "apps" in kind.api_version else make.named(name)


def put_at(obj: Any, place: tuple[str | int, ...], value: Any) -> None:
    """Set a value deep inside; what is missing on the way is made."""
    for step, following in itertools.pairwise(place):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(step, int):
            while len(obj) <= step:
                obj.append(copy.deepcopy(empty))
            obj = obj[step]
        else:
            obj = obj.setdefault(step, empty)
        if not isinstance(obj, dict | list):
            return
    last = place[-1]
    if isinstance(last, int):
        obj[last:] = [copy.deepcopy(value)]
    elif isinstance(obj, dict):
        obj[last] = copy.deepcopy(value)


@dataclass
class Memory:
    """What one server has last answered about each object, in one namespace."""

    namespace: str
    seen: dict[tuple[str, str], Obj] = field(default_factory=dict)
    left: dict[tuple[Kind, str], None] = field(default_factory=dict)

    def learn(self, ask: Ask, obj: Obj) -> None:
        """Keep an object's metadata."""
        meta = obj.get("metadata") or {}
        if "uid" in meta and not ask.sub:
            name = str(meta.get("name"))
            self.seen[ask.kind.plural, name] = meta
            if not ask.kind.namespaced:
                self.left[ask.kind, name] = None

    def resolve(self, value: Any) -> Any:
        """The body with this server's own values in it."""
        if isinstance(value, Held):
            return self.seen.get((value.kind, self.resolve(value.name)), {}).get(value.what, "7")
        if isinstance(value, str):
            return value.replace(HERE, self.namespace)
        if isinstance(value, dict):
            return {self.resolve(key): self.resolve(one) for key, one in value.items()}
        return [self.resolve(one) for one in value] if isinstance(value, list | tuple) else value

    def user(self, user: As | None) -> As | None:
        """The user by the name that is meant."""
        if user is None or user.anonymous:
            return user
        return As(self.resolve(user.name), tuple(self.resolve(user.groups)), user.uid)
