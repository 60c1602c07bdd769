"""The pod that a request is about: who may delete it, whether it is there, what it brings along."""

from __future__ import annotations

from dataclasses import dataclass

from vacate.admission.context import Context
from vacate.api import status
from vacate.api.fielderrors import FieldError, invalid, not_found
from vacate.api.identity import Access, User, denial
from vacate.api.kinds import EVICTIONREQUESTS, PODS, Kind
from vacate.api.objects import Obj, dig, name_of, namespace_of
from vacate.api.untyped import mapping, text
from vacate.eviction.registration import Registration, resolve

POD_REF = "spec.target.podRef"


@dataclass(frozen=True, slots=True)
class TargetReference:
    """The pod as the request names it."""

    namespace: str
    name: str
    uid: str


def named_pod(obj: Obj) -> TargetReference:
    """Name and UID of the request's pod, empty where it does not say them."""
    ref = mapping(dig(obj, "spec", "target", "podRef"))
    return TargetReference(namespace_of(obj), text(ref.get("name")), text(ref.get("uid")))


def target_pod(obj: Obj, namespace: str) -> TargetReference:
    """The same of an EvictionRequest of lifecycle.k8s.io."""
    ref = mapping(dig(obj, "spec", "target", "pod"))
    return TargetReference(namespace, text(ref.get("name")), text(ref.get("uid")))


def require_right_to_delete(obj: Obj, ctx: Context, kind: Kind = EVICTIONREQUESTS) -> None:
    """The user of every write must be allowed to delete the pod; nothing is looked up before that.

    And a node must be the pod's own.
    """
    pod = named_pod(obj)
    if not pod.name:
        return
    access = deletion_of(pod, ctx.user)
    if not ctx.may(access):
        raise status.forbidden(kind, name_of(obj), denial(access))
    require_own_node(pod, ctx, kind, name_of(obj))


def require_own_node(
    pod: TargetReference, ctx: Context, kind: Kind, name: str, *, known: bool = False
) -> None:
    """Where the user is a node, the pod must be on it: who has the token of one must not empty the others.

    The admission policies hold the same, but for pods that are too new for the API server's cache. `known`:
    the pod must be there.
    """
    node = ctx.authority.node_of(ctx.user)
    if node is None:
        return
    found = _live(pod, ctx)
    whose = f"that of node {node}" if node else "one whose token names no node"
    theirs = text(dig(found, "spec", "nodeName")) if found is not None else node
    why = ""
    if theirs != node or not node:
        why = f"{whose} none of node {theirs or '(none)'}"
    elif known and found is None:
        why = f"there is no pod {pod.name} of UID {pod.uid}"
    if why:
        raise status.forbidden(kind, name, f"a node requests evictions of its own pods only: {why}")


def deletion_of(pod: TargetReference, user: User) -> Access:
    """The deletion of the pod, as the authorizer is asked about it."""
    return Access(user, "delete", PODS.group, PODS.version, PODS.plural, "", pod.namespace, pod.name)


def live_pod(obj: Obj, ctx: Context) -> Obj | None:
    """The very pod that the request names, if it is there."""
    return _live(named_pod(obj), ctx)


def _live(pod: TargetReference, ctx: Context) -> Obj | None:
    found = ctx.lookup(PODS, pod.namespace, pod.name) if pod.name else None
    return found if found is not None and dig(found, "metadata", "uid") == pod.uid else None


def registration_of(obj: Obj, ctx: Context) -> Registration:
    """The interceptors that the pod asks for: none where its registration is malformed.

    Otherwise a user who can write a pod could keep everyone from evicting it.
    """
    pod = live_pod(obj, ctx)
    found = resolve(pod, ctx.allowed_interceptors) if pod is not None else Registration()
    return Registration((), found.field_errors) if found.field_errors else found


def target_errors(obj: Obj, ctx: Context) -> list[FieldError]:
    """The pod must be there, and be the one of that UID."""
    pod = named_pod(obj)
    if not pod.name or not pod.uid:
        return []
    found = ctx.lookup(PODS, pod.namespace, pod.name)
    if found is None:
        return [not_found(f"{POD_REF}.name", pod.name)]
    if dig(found, "metadata", "uid") != pod.uid:
        return [invalid(f"{POD_REF}.uid", pod.uid, f'must be the UID of pod "{pod.name}"')]
    return []
