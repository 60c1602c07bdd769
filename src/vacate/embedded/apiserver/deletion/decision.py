"""What a DELETE does to an object: mark it, remove it, or both.

An object goes at once unless something holds it: finalizers, a grace period, or, for a namespace, its
contents. A held object stays with a deletion timestamp; its last holder's leaving takes it out
(`removed_by_update`).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace

from vacate.api import status
from vacate.api.kinds import NAMESPACES, Kind
from vacate.api.objects import Obj, dig, name_of, terminating
from vacate.api.options import DeleteOptions
from vacate.api.times import format_time, parse_time
from vacate.embedded.apiserver.deletion.options import FOREGROUND, ORPHAN, check_options
from vacate.embedded.apiserver.deletion.traits import traits_of
from vacate.embedded.apiserver.request.integers import duration_of
from vacate.errors import Conflict

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"


@dataclass(frozen=True, slots=True)
class Deletion:
    """The object's next state, whether it takes a write to get there, and whether it is then taken out.

    `remove` without `write`: the state is the last one. Both: the write comes first, as watchers of a real
    server see a forced deletion. Neither: the deletion is under way already.
    """

    obj: Obj
    write: bool = False
    remove: bool = False


def decide_deletion(kind: Kind, obj: Obj, options: DeleteOptions, now: dt.datetime) -> Deletion:
    """What the DELETE does. Raises Conflict for a precondition, Invalid and Forbidden."""
    if kind == NAMESPACES:
        from_namespace = decide_namespace_deletion(obj, options, now)
        if from_namespace is not None:
            return from_namespace
    check_options(options)
    check_preconditions(kind, obj, options)
    obj = _own(obj)
    period = grace_period(kind, obj, options)
    if terminating(obj) and period is not None:
        return _again(kind, obj, options, period, now)
    if period is None or terminating(obj):
        return _without_grace(kind, obj, options, now)
    _begin(obj, period, options.reason, now)
    return _with_grace(kind, obj, options, period)


def grace_period(kind: Kind, obj: Obj, options: DeleteOptions) -> int | None:
    """The grace that applies, or None where the kind has none or the grace is used up."""
    of_kind = traits_of(kind).grace
    if of_kind is None:
        return None
    if terminating(obj):
        left = _not_negative(dig(obj, "metadata", "deletionGracePeriodSeconds") or 0)
        return left or None
    return _not_negative(of_kind(obj, options.grace_period_seconds))


def with_grace_period(kind: Kind, obj: Obj, options: DeleteOptions) -> DeleteOptions:
    """The options as admission sees them: with the grace period that applies."""
    period = None if terminating(obj) else grace_period(kind, obj, options)
    return options if period is None else replace(options, grace_period_seconds=period)


def check_preconditions(kind: Kind, obj: Obj, options: DeleteOptions) -> None:
    """Conflict where the object is not the one that the client means."""
    found = obj.get("metadata", {})
    uid, version = found.get("uid", ""), found.get("resourceVersion", "")
    if options.uid is not None and options.uid != uid:
        hint = "The object might have been deleted and then recreated"
        raise _mismatch(kind, obj, _differ("UID", options.uid, uid) + hint)
    if options.resource_version is not None and options.resource_version != version:
        hint = "The object might have been modified"
        raise _mismatch(kind, obj, _differ("ResourceVersion", options.resource_version, version) + hint)


def deletion_finalizers(kind: Kind, finalizers: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers that a deletion leaves: what the client says beats what the object has."""
    if not traits_of(kind).garbage_collected:
        wanted: set[str] = set()
    elif options.orphan_dependents is not None:
        wanted = {ORPHAN_FINALIZER} if options.orphan_dependents else set()
    elif options.propagation_policy is not None:
        by_policy = {ORPHAN: {ORPHAN_FINALIZER}, FOREGROUND: {FOREGROUND_FINALIZER}}
        wanted = by_policy.get(options.propagation_policy, set())
    else:
        present = [one for one in finalizers if one in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
        wanted = set(present[:1])
        if not wanted and traits_of(kind).orphans:
            wanted = {ORPHAN_FINALIZER}
    others = [one for one in finalizers if one not in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER)]
    chosen = others + [one for one in (ORPHAN_FINALIZER, FOREGROUND_FINALIZER) if one in wanted]
    return finalizers if set(chosen) == set(finalizers) else chosen


def removed_by_update(new: Obj, old: Obj) -> bool:
    """Whether an update takes the object out: it was being deleted, and the last holder has let go.

    The deletion that follows shows watchers the old state; the client gets the new one.
    """
    if new.get("metadata", {}).get("finalizers") or not terminating(old):
        return False
    if _is_namespace(old) and dig(new, "spec", "finalizers"):
        return False
    return not dig(old, "metadata", "deletionGracePeriodSeconds")


def answers_with_object(kind: Kind, deletion: Deletion) -> bool:
    """Whether the client gets the object; otherwise a Status that names it."""
    stays_marked = deletion.write and not deletion.remove
    return stays_marked or traits_of(kind).returns_object


def deletion_code(deletion: Deletion, options: DeleteOptions) -> int:
    """200, or 202 where the object stays and the client spoke the old language for cascading."""
    return 202 if not deletion.remove and options.orphan_dependents is False else 200


def decide_namespace_deletion(obj: Obj, options: DeleteOptions, now: dt.datetime) -> Deletion | None:
    """The first steps of a namespace's deletion; None once it is empty and goes like anything else."""
    _check_namespace_preconditions(obj, options)
    name = name_of(obj)
    if name in traits_of(NAMESPACES).protected:
        raise status.forbidden(NAMESPACES, name, traits_of(NAMESPACES).protection)
    if terminating(obj):
        return Deletion(obj) if dig(obj, "spec", "finalizers") else None
    obj = _own(obj)
    obj["metadata"]["deletionTimestamp"] = format_time(now)
    obj["status"] = {**(obj.get("status") or {}), "phase": "Terminating"}
    _set_finalizers(obj, _namespace_finalizers(obj["metadata"].get("finalizers") or [], options))
    return Deletion(obj, write=True)


def _namespace_finalizers(finalizers: list[str], options: DeleteOptions) -> list[str]:
    """As for other objects, except that the old `orphanDependents: false` means foreground here."""
    if options.orphan_dependents is False:
        options = replace(options, orphan_dependents=None, propagation_policy=FOREGROUND)
    return deletion_finalizers(NAMESPACES, finalizers, options)


def _check_namespace_preconditions(obj: Obj, options: DeleteOptions) -> None:
    found = obj["metadata"]
    pairs = (
        ("UID", options.uid, found.get("uid", "")),
        ("ResourceVersion", options.resource_version, found.get("resourceVersion", "")),
    )
    for what, want, have in pairs:
        if want is not None and want != have:
            why = f"Precondition failed: {what} in precondition: {want}, {what} in object meta: {have}"
            raise status.conflict(NAMESPACES, name_of(obj), why)


def _again(kind: Kind, obj: Obj, options: DeleteOptions, left: int, now: dt.datetime) -> Deletion:
    """A second DELETE may shorten the grace that is left, and nothing else."""
    asked = options.grace_period_seconds
    if asked is None or _not_negative(asked) >= left:
        return Deletion(obj)
    period = _not_negative(asked)
    meta = obj["metadata"]
    until = parse_time(meta["deletionTimestamp"]) + duration_of(-left) + duration_of(period)
    if until < now:
        # The shorter grace is over already: still let the node notice, unless none was asked for.
        until, period = now, min(period, 1)
    meta["deletionTimestamp"] = format_time(until)
    meta["deletionGracePeriodSeconds"] = period
    return _with_grace(kind, obj, options, _not_negative(asked))


def _begin(obj: Obj, period: int, reason: str, now: dt.datetime) -> None:
    meta = obj["metadata"]
    if reason:
        meta["reason"] = reason
    meta["deletionTimestamp"] = format_time(now + duration_of(period))
    meta["deletionGracePeriodSeconds"] = period
    _bump_generation(meta)


def _with_grace(kind: Kind, obj: Obj, options: DeleteOptions, period: int) -> Deletion:
    held = _apply_finalizers(kind, obj, options)
    return Deletion(obj, write=True, remove=period == 0 and not held)


def _without_grace(kind: Kind, obj: Obj, options: DeleteOptions, now: dt.datetime) -> Deletion:
    last = obj
    obj = _own(obj)
    if not _apply_finalizers(kind, obj, options):
        return Deletion(last, remove=True)
    meta = obj["metadata"]
    if not terminating(obj):
        _bump_generation(meta)
        meta["deletionTimestamp"] = format_time(now)
    elif parse_time(meta["deletionTimestamp"]) > now:
        meta["deletionTimestamp"] = format_time(now)
    meta["deletionGracePeriodSeconds"] = 0
    return Deletion(obj, write=True)


def _apply_finalizers(kind: Kind, obj: Obj, options: DeleteOptions) -> bool:
    """Set the finalizers that the deletion leaves; whether any hold the object."""
    chosen = deletion_finalizers(kind, obj["metadata"].get("finalizers") or [], options)
    _set_finalizers(obj, chosen)
    return bool(chosen)


def _set_finalizers(obj: Obj, finalizers: list[str]) -> None:
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)


def _bump_generation(meta: Obj) -> None:
    if meta.get("generation"):
        meta["generation"] += 1


def _not_negative(seconds: int) -> int:
    """A negative grace counts as one second."""
    return 1 if seconds < 0 else seconds


def _is_namespace(obj: Obj) -> bool:
    return (obj.get("kind"), obj.get("apiVersion")) == (NAMESPACES.kind, NAMESPACES.api_version)


def _own(obj: Obj) -> Obj:
    """A copy whose metadata may be changed; the rest is shared with the original."""
    return {**obj, "metadata": dict(obj.get("metadata", {}))}


def _differ(what: str, wanted: str, found: str) -> str:
    return f"the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). "


def _mismatch(kind: Kind, obj: Obj, why: str) -> Conflict:
    """Preconditions speak of the kind, not of the resource."""
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    name = name_of(obj)
    details = {"name": name, "group": kind.group, "kind": kind.kind}
    return Conflict(
        f'Operation cannot be fulfilled on {qualified} "{name}": {why}',
        details={key: value for key, value in details.items() if value},
    )
