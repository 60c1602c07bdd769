"""`lifecycle.preStop.reasonDelivery`: by which variable or header a hook learns why its pod is terminated."""

from __future__ import annotations

from collections.abc import Iterator

from vacate.admission.context import Context
from vacate.api.fielderrors import FieldError, complaints, forbidden, invalid, required
from vacate.api.names import env_name
from vacate.api.objects import Obj
from vacate.api.terminationreason import GATE, header_complaints
from vacate.api.untyped import mapping, maps, text

FIELD = "reasonDelivery"
_ACTIONS = {"env": "exec", "header": "httpGet"}


def drop_where_gated(spec: Obj, before: Obj | None, ctx: Context) -> None:
    """Without the gate new objects lose the field; those that have it somewhere keep it."""
    if ctx.gates.enabled(GATE) or (before and any(FIELD in hook for hook in _hooks(before))):
        return
    for hook in _hooks(spec):
        hook.pop(FIELD, None)


def delivery_errors(hook: Obj, path: str) -> list[FieldError]:
    """What is wrong with the delivery of a preStop hook."""
    if type(delivery := hook.get(FIELD)) is not dict:
        return []
    where = f"{path}.{FIELD}"
    given = [key for key in _ACTIONS if delivery.get(key) is not None]
    if not given:
        return [required(where, "must specify `env` or `header`; leave it out for the default")]
    found: list[FieldError] = []
    if len(given) > 1:
        found.append(invalid(where, delivery, "may not specify both `env` and `header`"))
    for key in given:
        name = text(delivery[key])
        if hook.get(_ACTIONS[key]) is None:
            found.append(forbidden(f"{where}.{key}", f"may only be set for a hook with `{_ACTIONS[key]}`"))
        wrong = env_name(name) if key == "env" else header_complaints(name)
        found += complaints(f"{where}.{key}", name, wrong)
    return found


def _hooks(spec: Obj) -> Iterator[Obj]:
    for containers in ("containers", "initContainers"):
        for container in maps(spec.get(containers)):
            if type(hook := mapping(container.get("lifecycle")).get("preStop")) is dict:
                yield hook
