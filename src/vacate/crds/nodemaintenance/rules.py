"""What the schema of NodeMaintenance cannot say."""

from __future__ import annotations

from vacate.api.kinds import EVACUATIONS
from vacate.api.types.evacuation import MAX_DEADLINE_SECONDS
from vacate.api.types.evictionrequest import DEFAULT_DEADLINE_SECONDS
from vacate.api.types.lifecycle import HEARTBEAT_DEADLINE
from vacate.api.types.lifecycle import REQUEST_KIND as LIFECYCLE
from vacate.api.types.nodemaintenance import DELETE, MAX_NAME
from vacate.crds.customresource import CelRule
from vacate.crds.labelselectors import keys_rule, not_empty_rule, values_rule

_SELECTORS = ("spec.nodeSelector", "spec.pods.selector")


def name_rule() -> CelRule:
    """The name leaves room for the suffix of a requester's name."""
    return CelRule(
        "",
        f"size(self.metadata.name) <= {MAX_NAME}",
        f"must be no more than {MAX_NAME} characters: it is part of the requester's name",
        field="metadata.name",
    )


def deadline_rules() -> tuple[CelRule, ...]:
    """The deadline of interceptors is one that the API of the requests can hold."""
    unless = "!has(self.requestKind) || !has(self.heartbeatDeadlineSeconds) || self.requestKind != "
    # The default, which stands in every object, is not meant for an API that has a deadline of its own.
    own = [int(HEARTBEAT_DEADLINE.total_seconds()), DEFAULT_DEADLINE_SECONDS]
    return (
        CelRule(
            "spec",
            f"{unless}'{EVACUATIONS.kind}' || self.heartbeatDeadlineSeconds <= {MAX_DEADLINE_SECONDS}",
            f"must be at most {MAX_DEADLINE_SECONDS} where requestKind is {EVACUATIONS.kind}",
            field="heartbeatDeadlineSeconds",
        ),
        CelRule(
            "spec",
            f"{unless}'{LIFECYCLE}' || self.heartbeatDeadlineSeconds in {own}",
            f"must be left out where requestKind is {LIFECYCLE}: that API has {own[0]} for all",
            field="heartbeatDeadlineSeconds",
        ),
    )


RULES = (
    name_rule(),
    CelRule(
        "spec",
        "has(self.nodes) != has(self.nodeSelector)",
        "name the nodes in nodes or select them with nodeSelector, and not both",
        field="nodes",
    ),
    CelRule(
        "spec",
        "!has(self.nodes) || size(self.nodes) > 0",
        "must name at least one node",
        field="nodes",
        reason="FieldValueRequired",
    ),
    CelRule(
        "spec",
        f"!has(self.onDeadline) || self.onDeadline != '{DELETE}' || has(self.deadlineSeconds)",
        "is needed to delete pods when it has passed",
        field="deadlineSeconds",
        reason="FieldValueRequired",
    ),
    *deadline_rules(),
    not_empty_rule("spec.nodeSelector", "an empty selector would drain every node: name at least one label"),
    *(rule for selector in _SELECTORS for rule in (keys_rule(selector), values_rule(selector))),
)
