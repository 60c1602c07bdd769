"""Claims of devices that a pod brings along."""

from __future__ import annotations

from typing import Any

from vacate.admission.faults import complaints
from vacate.admission.formats import dns_label, name_is_subdomain
from vacate.admission.rules import table
from vacate.admission.shape import maps, text
from vacate.api.field import Fault, FieldError, duplicate, forbidden, invalid, required
from vacate.api.objects import Obj
from vacate.api.schema.internal import internal_form

_SOURCES = ("resourceClaimName", "resourceClaimTemplateName")

RULES = table(
    "Pod",
    ("spec.resourceClaims[].name", Fault.REQUIRED, "not empty"),
    ("spec.resourceClaims[].name", Fault.DUPLICATE, "unique"),
    ("spec.resourceClaims[].name", Fault.INVALID, "a DNS label"),
    ("spec.resourceClaims[]", Fault.INVALID, "one of resourceClaimName and resourceClaimTemplateName"),
    ("spec.resourceClaims[].resourceClaimName", Fault.INVALID, "a DNS subdomain"),
    ("spec.resourceClaims[].resourceClaimTemplateName", Fault.INVALID, "a DNS subdomain"),
    ("[]", Fault.FORBIDDEN, "no claims of mirror pods (the path is the real server's)"),
)


def claim_faults(claims: Any, path: str, *, mirror: bool) -> list[FieldError]:
    """Faults of the claims of a pod; mirror pods have none."""
    found: list[FieldError] = []
    names: set[str] = set()
    for index, claim in enumerate(maps(claims)):
        if mirror:
            found.append(forbidden("[]", "static pods do not support resource claims"))
        else:
            found += _one_claim_faults(claim, f"{path}[{index}]", names)
    return found


def _one_claim_faults(claim: Obj, path: str, names: set[str]) -> list[FieldError]:
    found: list[FieldError] = []
    where, name = f"{path}.name", text(claim.get("name"))
    if not name:
        found.append(required(where))
    elif name in names:
        found.append(duplicate(where, name))
    else:
        found += complaints(where, name, dns_label(name))
        names.add(name)
    given = [key for key in _SOURCES if claim.get(key) is not None]
    if len(given) != 1:
        one = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        both = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        found.append(invalid(path, internal_form("PodResourceClaim", claim), both if given else one))
    for key in given:
        found += complaints(f"{path}.{key}", claim[key], name_is_subdomain(text(claim[key]), False))
    return found
