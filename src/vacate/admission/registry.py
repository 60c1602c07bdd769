"""Which strategy answers for which kind."""

from __future__ import annotations

from vacate.admission import metadata, owners
from vacate.admission.base import KindStrategy
from vacate.admission.rules import Rule
from vacate.admission.types import Strategy
from vacate.api import kinds
from vacate.api.kinds import Kind

_STRATEGIES: dict[Kind, KindStrategy] = {
    kind: KindStrategy(kind) for kind in kinds.SERVED_KINDS if kind.stored
}


def strategy_for(kind: Kind) -> Strategy:
    """The strategy of a stored kind; reviews have none."""
    return _STRATEGIES[kind]


def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the kinds."""
    found = dict.fromkeys((*metadata.RULES, *owners.RULES))
    for strategy in _STRATEGIES.values():
        found.update(dict.fromkeys(strategy.rules))
    return tuple(found)
