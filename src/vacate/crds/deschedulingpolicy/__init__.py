"""PURE. DeschedulingPolicy: pods that stand where they should not are evicted, within limits."""

from __future__ import annotations

from vacate.api.kinds import DESCHEDULINGPOLICIES
from vacate.api.types.deschedulingpolicy import DeschedulingPolicy
from vacate.api.types.nodemaintenance import MAX_NAME
from vacate.crds.customresource import CelRule, CustomResource, PrinterColumn
from vacate.crds.labelselectors import keys_rule, values_rule
from vacate.crds.nodemaintenance.rules import deadline_rules, name_rule
from vacate.crds.strategy import DeclaredStrategy

_COLUMNS = (
    PrinterColumn("Mode", "Whether it evicts or only reports.", ".spec.mode"),
    PrinterColumn("Violations", "Number of pods that violate a rule.", ".status.violations", "integer"),
    PrinterColumn(
        "Requested", "Number of these pods whose eviction is requested.", ".status.requested", "integer"
    ),
    PrinterColumn(
        "Waiting", "Number of these pods that wait because of a limit.", ".status.waiting", "integer"
    ),
    PrinterColumn(
        "Nowhere", "Number of these pods that fit on no other node.", ".status.nowhereToGo", "integer"
    ),
    PrinterColumn("Message", "Summary for people, in one sentence.", ".status.message", priority=1),
    PrinterColumn("Age", "How long ago the object was created.", ".metadata.creationTimestamp", "date"),
)
_SELECTORS = ("spec.podSelector", "spec.nodeSelector")
RULES: tuple[CelRule, ...] = (
    name_rule(),
    *deadline_rules(),
    *(rule for selector in _SELECTORS for rule in (keys_rule(selector), values_rule(selector))),
)

DESCHEDULINGPOLICY = CustomResource(
    kind=DESCHEDULINGPOLICIES,
    struct=DeschedulingPolicy,
    columns=_COLUMNS,
    strategy=DeclaredStrategy,
    rules=RULES,
    name_schema={
        "type": "string",
        "description": "Part of the requester's name.",
        "maxLength": MAX_NAME,
    },
)
