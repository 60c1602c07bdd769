"""The rules of a definition, `x-kubernetes-validations`, evaluated as kube-apiserver evaluates them.

A rule sees the value at its place, and the value that was there before where the two can be matched:
fields by their names, items of map lists by their keys, items of other lists never. A rule that speaks of the
old value is left out where there is none. One that does not is forgiven where nothing has changed.

All rules together are one program first, which says that none is broken, as is mostly so. Else they are
evaluated one by one, for what is reported.

Two things differ from kube-apiserver: it ignores the order of map lists where it compares whole objects, and
texts with U+0000 are whole texts to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from vacate.api.fielderrors import OMITTED, ErrorType, FieldError
from vacate.api.objects import Obj, metadata
from vacate.embedded.cel.expressions import Expression, Variables

_OLD = re.compile(r"\boldSelf\b")
_SHOWN = ("metadata", "spec", "status", "apiVersion", "kind")
_REASONS = {one.value[0]: one for one in ErrorType}
_ABSENT = object()


class RuleTree:
    """The rules of one kind; `count` is how many there are."""

    def __init__(self, schema: Obj) -> None:
        root = _Node.of(schema)
        if root is None:
            raise ValueError("the schema has no rules")
        self._root = root
        self.count = root.count
        self._new = Expression(root.source(old=False))
        self._step = Expression(root.source(old=True))

    def field_errors(self, new: Obj, old: Obj | None = None) -> list[FieldError]:
        """Every rule that the object breaks, or the step to it; its schema has found no errors."""
        shown = _shown(new)
        if old is None:
            if self._new.holds(Variables({"self": shown})):
                return []
            return list(self._root.field_errors(shown, _ABSENT, "", unchanged=False))
        before = _shown(old)
        if self._step.holds(Variables({"self": shown, "oldSelf": before})):
            return []
        return list(self._root.field_errors(shown, before, "", unchanged=False))


def _shown(obj: Obj) -> Obj:
    """The object as rules see it: of its metadata they know the name alone."""
    seen = {key: obj[key] for key in _SHOWN if key in obj}
    seen["metadata"] = {"name": metadata(obj).get("name", "")}
    return seen


@dataclass(frozen=True, slots=True)
class _Rule:
    source: str
    message: str
    made_message: Expression | None
    field: str
    reason: ErrorType
    optional: bool  # also evaluated where there is no old value
    of_step: bool  # it speaks of the old value

    @classmethod
    def of(cls, written: Obj) -> _Rule:
        made = written.get("messageExpression")
        return cls(
            written["rule"],
            written["message"],
            Expression(made) if made else None,
            written.get("fieldPath", ""),
            _REASONS[written.get("reason", "FieldValueInvalid")],
            bool(written.get("optionalOldSelf")),
            _OLD.search(written["rule"]) is not None,
        )

    def expression(self, *, old: bool) -> str | None:
        """The rule with or without an old value; None where it does not count."""
        if not self.of_step:
            return f"({self.source})"
        if self.optional:
            value = "optional.of(oldSelf)" if old else "optional.none()"
            return f"cel.bind(oldSelf, {value}, {self.source})"
        return f"({self.source})" if old else None

    def field_error(self, path: str, value: Any, variables: Variables) -> FieldError:
        made = self.made_message.text(variables) if self.made_message else None
        shown = OMITTED if isinstance(value, dict | list) else value
        return FieldError(f"{path}{self.field}".removeprefix("."), self.reason, made or self.message, shown)


class _Node:
    """One place of a schema at or below which there are rules."""

    def __init__(self, schema: Obj) -> None:
        self._schema = schema
        self._rules = [_Rule.of(one) for one in schema.get("x-kubernetes-validations", ())]
        inner = {key: _Node.of(one) for key, one in schema.get("properties", {}).items()}
        self._fields = {key: node for key, node in inner.items() if node is not None}
        items = schema.get("items")
        self._items = _Node.of(items) if items is not None else None
        below = [*self._fields.values(), *([self._items] if self._items else [])]
        self.count: int = len(self._rules) + sum(one.count for one in below)
        self.of_steps: bool = any(one.of_step for one in self._rules) or any(one.of_steps for one in below)
        self._single: dict[tuple[int, bool], Expression] = {}

    @classmethod
    def of(cls, schema: Obj) -> _Node | None:
        """The node, where there are rules at all."""
        node = cls(schema)
        return node if node.count else None

    def source(self, *, old: bool) -> str:
        """All rules from here on as one expression about `self` and perhaps `oldSelf`."""
        parts = [found for one in self._rules if (found := one.expression(old=old)) is not None]
        for key, node in self._fields.items():
            alone = f"cel.bind(self, self.{key}, {node.source(old=False)})"
            if old and node.of_steps:
                both = (
                    f"cel.bind(oldSelf, oldSelf.{key}, cel.bind(self, self.{key}, {node.source(old=True)}))"
                )
                alone = f"(has(oldSelf.{key}) ? {both} : {alone})"
            parts.append(f"(!has(self.{key}) || {alone})")
        if self._items is not None:
            if old and self._items.of_steps:
                parts.append("false")  # each item has an old one of its own: evaluated one by one
            else:
                parts.append(f"self.all(one, cel.bind(self, one, {self._items.source(old=False)}))")
        return " && ".join(parts) or "true"

    def field_errors(self, value: Any, old: Any, path: str, *, unchanged: bool) -> Iterator[FieldError]:
        """What is broken at a value and below; `unchanged` says it of what it is a part of."""
        has_old = old is not _ABSENT
        unchanged = _same(self._schema, value, old) if has_old else unchanged
        variables = Variables({"self": value, "oldSelf": old} if has_old else {"self": value})
        for index, rule in enumerate(self._rules):
            expression = self._expression(index, rule, old=has_old)
            if expression is None or expression.holds(variables) or (unchanged and not rule.of_step):
                continue
            yield rule.field_error(path, value, variables)
        for key, node in self._fields.items():
            if key in value:
                before = old.get(key, _ABSENT) if has_old else _ABSENT
                yield from node.field_errors(value[key], before, f"{path}.{key}", unchanged=unchanged)
        if self._items is not None:
            by_key = {_key(self._schema, one): one for one in old} if has_old and self._is_map else {}
            for index, one in enumerate(value):
                before = by_key.get(_key(self._schema, one), _ABSENT) if by_key else _ABSENT
                yield from self._items.field_errors(one, before, f"{path}[{index}]", unchanged=unchanged)

    @property
    def _is_map(self) -> bool:
        return self._schema.get("x-kubernetes-list-type") == "map"

    def _expression(self, index: int, rule: _Rule, *, old: bool) -> Expression | None:
        found = self._single.get((index, old))
        source = rule.expression(old=old) if found is None else None
        if source is not None:
            found = self._single[index, old] = Expression(source)
        return found


def _key(schema: Obj, item: Obj) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in schema["x-kubernetes-list-map-keys"])


def _same(schema: Obj, new: Any, old: Any) -> bool:
    """Whether nothing has changed; the order of map lists does not count."""
    if isinstance(new, dict) and isinstance(old, dict) and "properties" in schema:
        known = schema["properties"]
        return new.keys() == old.keys() and all(
            _same(known.get(key, {}), value, old[key]) for key, value in new.items()
        )
    if isinstance(new, list) and isinstance(old, list) and schema.get("x-kubernetes-list-type") == "map":
        before = {_key(schema, one): one for one in old}
        return len(new) == len(old) and all(
            (found := before.get(_key(schema, one))) is not None and _same(schema["items"], one, found)
            for one in new
        )
    return bool(new == old)
