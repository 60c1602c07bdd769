"""Events of core/v1: little is checked, and least of all for those written in the old way."""

from __future__ import annotations

from vacate.admission.context import Context, Traits
from vacate.admission.nameformats import label_key
from vacate.admission.strategy import KindStrategy
from vacate.api.fielderrors import FieldError, complaints, invalid, required
from vacate.api.names import dns1123_subdomain
from vacate.api.objects import Obj, namespace_of
from vacate.api.untyped import mapping, text

_MISMATCH = "does not match event.namespace"
_LIMITS = {"reportingInstance": 128, "action": 128, "reason": 128, "message": 1024}


class EventStrategy(KindStrategy):
    """Answers for events. Nothing in them is immutable through this API version."""

    # Events may be created by PUT and have no dependants.
    traits = Traits(create_on_update=True, garbage_collected=False)
    checks_metadata = False
    checks_finalizers = False

    def field_errors(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Old events name their object's namespace; new ones, with an eventTime, say more."""
        namespace = namespace_of(obj)
        involved = text(mapping(obj.get("involvedObject")).get("namespace"))
        found: list[FieldError] = []
        if _mismatch(namespace, involved, new_style=bool(obj.get("eventTime"))):
            found.append(invalid("involvedObject.namespace", involved, _MISMATCH))
        if obj.get("eventTime"):
            found += _new_style_errors(obj)
        return found + complaints("namespace", namespace, dns1123_subdomain(namespace))

    def update_errors(self, new: Obj, old: Obj, step: list[FieldError], ctx: Context) -> list[FieldError]:
        """As on create."""
        return self.field_errors(new, ctx)


def _mismatch(namespace: str, involved: str, *, new_style: bool) -> bool:
    if new_style:
        return not involved and namespace not in ("default", "kube-system")
    return namespace != involved if involved else namespace not in ("", "default")


def _new_style_errors(event: Obj) -> list[FieldError]:
    reporter = text(event.get("reportingComponent"))
    found = [] if reporter else [required("reportingComponent")]
    found += complaints("reportingComponent", reporter, label_key(reporter))
    for key, limit in _LIMITS.items():
        value = text(event.get(key))
        if not value and key != "message":
            found.append(required(key))
        if len(value.encode(errors="surrogatepass")) > limit:
            found.append(invalid(key, "", f"can have at most {limit} characters"))
    return found
