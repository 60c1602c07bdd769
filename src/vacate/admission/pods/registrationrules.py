"""Rules by which new pods register interceptors although their authors have named none.

    rules:
      - name: shops
        namespaceSelector: {matchLabels: {team: shop}}
        podSelector: {matchLabels: {app: web}}
        ownerKinds: [ReplicaSet]
        interceptors:
          - name: cart-saver.example.com
            priority: 100

A part that is left out matches every pod. Of several rules the first that matches counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
import yaml

from vacate.api.selectors.labels import EVERYTHING, Selector, selector_of
from vacate.errors import BadRequest, ConfigError
from vacate.eviction.registration import PREFIXES, annotation_errors

_MAX_KEY = 54
_FIELDS = "name, namespaceSelector, podSelector, ownerKinds and interceptors"


class _Interceptor(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    priority: int
    role: str = ""


class _Expression(msgspec.Struct, forbid_unknown_fields=True):
    key: str
    operator: str
    values: list[str] = []


class _Selector(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    match_labels: dict[str, str] = {}
    match_expressions: list[_Expression] = []


class _Rule(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    interceptors: list[_Interceptor]
    name: str = ""
    namespace_selector: _Selector | None = None
    pod_selector: _Selector | None = None
    owner_kinds: list[str] = []


class _File(msgspec.Struct, forbid_unknown_fields=True):
    rules: list[_Rule] = []


@dataclass(frozen=True, slots=True)
class PodRule:
    """Which pods, and the annotations that they get."""

    name: str
    annotations: Mapping[str, str]
    namespaces: Selector = EVERYTHING
    pods: Selector = EVERYTHING
    owner_kinds: tuple[str, ...] = ()


def read_rules(text: str, source: str, allowed: tuple[str, ...] = ()) -> tuple[PodRule, ...]:
    """The rules of a file; a ConfigError names what is wrong with it."""
    try:
        found = msgspec.convert(yaml.safe_load(text) or {}, _File)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: is not YAML: {' '.join(str(error).split())}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"{source}: {error}; a rule has the fields {_FIELDS}") from None
    except RecursionError:
        raise ConfigError(f"{source}: is nested too deeply") from None
    return tuple(_rule(one, f"{source}: rules[{index}]", allowed) for index, one in enumerate(found.rules))


def _rule(one: _Rule, source: str, allowed: tuple[str, ...]) -> PodRule:
    annotations: dict[str, str] = {}
    for interceptor in one.interceptors:
        added = _annotations(interceptor)
        if added.keys() & annotations.keys():
            raise ConfigError(f"{source}: interceptor {interceptor.name!r} is named twice")
        annotations |= added
    if field_errors := annotation_errors(annotations, allowed):
        raise ConfigError(f"{source}: {field_errors[0]}")
    return PodRule(
        one.name or source,
        annotations,
        _selector(one.namespace_selector, f"{source}.namespaceSelector"),
        _selector(one.pod_selector, f"{source}.podSelector"),
        tuple(one.owner_kinds),
    )


def _annotations(one: _Interceptor) -> dict[str, str]:
    """A name that is too long for a key goes into a value, under a key of its own."""
    value = f"{one.priority}/{one.role}" if one.role else str(one.priority)
    if len(one.name) <= _MAX_KEY:
        return {f"{PREFIXES[0]}/priority_{one.name}": value}
    key = hashlib.sha256(one.name.encode()).hexdigest()[:_MAX_KEY]
    return {f"{PREFIXES[0]}/hash_{key}": one.name, f"{PREFIXES[0]}/priority_{key}": value}


def _selector(selector: _Selector | None, source: str) -> Selector:
    try:
        return EVERYTHING if selector is None else selector_of(msgspec.to_builtins(selector))
    except BadRequest as error:
        raise ConfigError(f"{source}: {error}") from None
