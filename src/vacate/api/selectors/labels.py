"""Label selectors: as text (`app=web,tier in (a,b),!canary`) and as objects carry them.

Refusals are `BadRequest` in the words that the API server uses for a bad `labelSelector` parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vacate.api.objects import Obj
from vacate.api.selectors.parser import parse
from vacate.api.selectors.requirements import (
    DOES_NOT_EXIST,
    DOUBLE_EQUALS,
    EQUALS,
    EXISTS,
    GREATER,
    IN,
    LESS,
    NOT_EQUALS,
    NOT_IN,
    Requirement,
    requirement,
)
from vacate.api.types.meta import LabelSelector
from vacate.errors import BadRequest

_OPERATORS_OF_OBJECTS = {"In": IN, "NotIn": NOT_IN, "Exists": EXISTS, "DoesNotExist": DOES_NOT_EXIST}
_AS_OBJECTS_WRITE = {
    EQUALS: "In", DOUBLE_EQUALS: "In", IN: "In", NOT_EQUALS: "NotIn", NOT_IN: "NotIn",
    EXISTS: "Exists", DOES_NOT_EXIST: "DoesNotExist",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements together, in the order of their keys; or the selector that selects nothing."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @property
    def everything(self) -> bool:
        """Whether any labels match."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        if self.nothing:
            return False
        found: Mapping[str, str] = {} if labels is None else labels
        for one in self.requirements:  # noqa: SIM110  a generator takes twice as long, and this is asked most
            if not one.matches(found):
                return False
        return True

    def exact(self, key: str) -> str | None:
        """The one value that the label must have, where the selector says so."""
        first = next((one for one in self.requirements if one.key == key), None)
        if first is None or first.operator not in (EQUALS, DOUBLE_EQUALS, IN) or len(first.values) != 1:
            return None
        return first.values[0]

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def parse_selector(text: str) -> Selector:
    """Read a selector from text; an empty text selects everything."""
    if not text:
        return EVERYTHING
    return _sorted(parse(text))


def selector_of(source: LabelSelector | Mapping[str, Any] | None) -> Selector:
    """The selector that an object carries: none selects nothing, an empty one everything."""
    if source is None:
        return NOTHING
    if isinstance(source, LabelSelector):
        labels, expressions = source.match_labels, source.match_expressions
        if not expressions:
            return _of_labels(tuple(labels.items()))
    else:
        labels, expressions = source.get("matchLabels") or {}, source.get("matchExpressions") or []
    found = [requirement(key, EQUALS, (value,)) for key, value in labels.items()]
    found += map(_of_expression, expressions)
    return _sorted(found)


@lru_cache(maxsize=10_000)
def _of_labels(labels: tuple[tuple[str, str], ...]) -> Selector:
    """Read once: a drain asks of each pod that waits which budgets select it, again at every change."""
    return _sorted(requirement(key, EQUALS, (value,)) for key, value in labels)


def match_expressions(text: str) -> list[Obj]:
    """A selector's text as the `matchExpressions` of an object.

    BadRequest for comparisons of numbers too: the API has no operators for them in a LabelSelector.
    """
    return [_expression_of(one) for one in parse_selector(text).requirements]


def _expression_of(one: Requirement) -> Obj:
    if one.operator in (GREATER, LESS):
        raise BadRequest(
            f"{str(one)!r} compares numbers, which label selectors of objects cannot; use =, !=, in, "
            "notin and existence"
        )
    made: Obj = {"key": one.key, "operator": _AS_OBJECTS_WRITE[one.operator]}
    return {**made, "values": list(one.values)} if one.values else made


def _of_expression(expression: Mapping[str, Any]) -> Requirement:
    written = str(expression.get("operator") or "")
    operator = _OPERATORS_OF_OBJECTS.get(written)
    if operator is None:
        raise BadRequest(f'"{written}" is not a valid label selector operator')
    return requirement(str(expression.get("key") or ""), operator, expression.get("values") or ())


def _sorted(requirements: Iterable[Requirement]) -> Selector:
    return Selector(tuple(sorted(requirements, key=lambda one: one.key)))
