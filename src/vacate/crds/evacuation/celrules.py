"""What the definition of Evacuations holds, whether the webhook is there or not.

The steps of the status are those of an EvictionRequest, under the names of this API. Instigators are
finalizers, which a definition does not see: what is held about them without the webhook, admission policies
hold.
"""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.objects import Obj
from vacate.api.types.evacuation import MAX_NAME_PREFIX
from vacate.crds.cel import rule
from vacate.crds.celfields import EVACUATION_FIELDS as FIELDS
from vacate.crds.evictionrequest.celrules import (
    CONDITION_FIELDS,
    FIXED,
    IS_SUBDOMAIN,
    KEPT,
    ONLY_GROWS,
    condition_rules,
    place_rules,
    reserved_rule,
    status_rules,
)
from vacate.crds.evictionrequest.celturns import turn_rules, turn_status_rules
from vacate.eviction.dialects.evacuation.dialect import COMPLETION_REASONS


def add_rules(schema: Obj, allowed_interceptors: Sequence[str] = ()) -> None:
    """Write the rules into a schema of Evacuations."""
    place_rules(
        schema,
        {
            "": [
                _name(),
                reserved_rule(FIELDS, allowed_interceptors),
                _same_evacuators(),
                *turn_rules(FIELDS),
            ],
            "status": [*status_rules(FIELDS, (FIELDS.heartbeat,)), *turn_status_rules(FIELDS)],
            "spec.podRef": [FIXED],
            "spec.progressDeadlineSeconds": [FIXED],
            "spec.evacuators[].evacuatorClass": [IS_SUBDOMAIN],
            "status.failedEvictionCounter": [ONLY_GROWS],
            "status.conditions[]": condition_rules(COMPLETION_REASONS),
            **{place: [one] for place, one in CONDITION_FIELDS.items()},
        },
    )


def _name() -> Obj:
    pod = "self.spec.podRef.name"
    # No object's name ends with a hyphen or a dot, so neither does one that was cut there.
    cut = f"{pod}.substring(0, {MAX_NAME_PREFIX}).find('^.*[^-.]')"
    prefix = f"(size({pod}) <= {MAX_NAME_PREFIX} ? {pod} : {cut})"
    return rule(
        f"self.metadata.name == self.spec.podRef.uid + '-' + {prefix}",
        f"must be spec.podRef.uid, a hyphen, and the first {MAX_NAME_PREFIX} characters of spec.podRef.name",
        path=".metadata.name",
    )


def _same_evacuators() -> Obj:
    """In their order, too, by which turns are given: comparing the lists would not see it."""
    before, after = (
        f"(has({one}.spec.evacuators) ? {one}.spec.evacuators.map(e, [e.evacuatorClass, string(e.priority),"
        " has(e.role) ? e.role : '']) : [])"
        for one in ("oldSelf", "self")
    )
    return rule(f"{after} == {before}", KEPT, path=".spec.evacuators")
