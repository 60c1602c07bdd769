"""The Evacuation itself: its pod, its evacuators and its instigators."""

from __future__ import annotations

from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, not_found
from vacate.api.kinds import PODS
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, dig, metadata, namespace_of
from vacate.api.types.evacuation import INSTIGATOR, MAX_INSTIGATOR
from vacate.api.types.readable import is_complete
from vacate.api.untyped import mapping, maps, text
from vacate.eviction.dialects.evacuation.translation import instigators
from vacate.eviction.registration import Registration


def creation_errors(obj: Obj, ctx: Context) -> list[FieldError]:
    """What only a new Evacuation must say."""
    return [*_generated_name_errors(obj), *_pod_errors(obj, ctx), *_instigator_errors(obj)]


def change_errors(new: Obj, old: Obj) -> list[FieldError]:
    """Whom an update may not add."""
    found = _instigator_errors(new)
    joined = set(instigators(_finalizers(new))) - set(instigators(_finalizers(old)))
    if joined and is_complete(old):
        detail = "no instigator may be added once the evacuation is complete"
        found.append(forbidden("metadata.finalizers", detail))
    return found


def merged_evacuators(obj: Obj, registration: Registration) -> list[Obj]:
    """Those that the pod registers and those that the creator names; the pod's word counts."""
    made: dict[str, Obj] = {}
    for one in registration.entries:
        made[one.name] = {"evacuatorClass": one.name, "priority": one.priority or 0}
        if one.role:
            made[one.name]["role"] = one.role
    given = mapping(obj.get("spec")).get("evacuators")
    others = [one for one in maps(given) if text(one.get("evacuatorClass")) not in made]
    return sorted([*made.values(), *others], key=_turn, reverse=True)


def _turn(one: Obj) -> tuple[int, str]:
    """The first of the list has the first turn, as the dialect reads it."""
    priority = one.get("priority")
    return priority if type(priority) is int else 0, text(one.get("evacuatorClass"))


def _generated_name_errors(obj: Obj) -> list[FieldError]:
    if not text(metadata(obj).get("generateName")):
        return []
    detail = "not supported, the name must be the UID of the pod, a hyphen and the pod's name"
    return [forbidden("metadata.generateName", detail)]


def _pod_errors(obj: Obj, ctx: Context) -> list[FieldError]:
    ref = mapping(dig(obj, "spec", "podRef"))
    name, uid = text(ref.get("name")), text(ref.get("uid"))
    if not name or not uid:
        return []
    found = ctx.lookup(PODS, namespace_of(obj), name)
    if found is None:
        return [not_found("spec.podRef.name", name)]
    if dig(found, "metadata", "uid") != uid:
        return [invalid("spec.podRef.uid", uid, f'must be the UID of pod "{name}"')]
    return []


def _instigator_errors(obj: Obj) -> list[FieldError]:
    found: list[FieldError] = []
    for index, one in enumerate(_finalizers(obj)):
        if not one.startswith(INSTIGATOR):
            continue
        path, name = f"metadata.finalizers[{index}]", one.removeprefix(INSTIGATOR)
        found += complaints(path, one, dns1123_subdomain(name))
        if len(name) > MAX_INSTIGATOR:
            detail = f"an instigator's name has at most {MAX_INSTIGATOR} characters: use a shorter name"
            found.append(invalid(path, one, detail))
    return found


def _finalizers(obj: Obj) -> list[str]:
    found = metadata(obj).get("finalizers")
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
