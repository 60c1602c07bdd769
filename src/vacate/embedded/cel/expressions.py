"""The evaluator of CEL: the library of the CEL project, with functions that Kubernetes adds to it.

Of those there are `find` and the ones that ask an authorizer. Those for quantities, URLs, IP addresses and
versions are missing, and selectors and `requestResource` of the authorizer. `matches` of the library compiles
its pattern at every evaluation, so expressions call a function of ours in its place, which compiles each
pattern once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache, partial
from typing import Any

from cel_expr_python import cel

from vacate.api.identity import SERVICE_ACCOUNT_PREFIX
from vacate.crds.schema.formats import matcher, matches

_CONFIG = """
name: kubernetes
extensions:
- name: optional
- name: strings
- name: lists
- name: sets
- name: math
- name: bindings
- name: two-var-comprehensions
"""
_TEXT, _BOOL, _DYN, _MAP = cel.Type.STRING, cel.Type.BOOL, cel.Type.DYN, cel.Type.MAP
# A text, or what is said of a variable of a policy.
_VARIABLE = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?<![\w.])variables\.(\w+)""")
_PARTS = ("path", "group", "resource", "subresource", "namespace", "name")

Asked = Mapping[str, str]
"""What an authorizer is asked: the verb, what is named of path, group, resource, subresource, namespace and
name, and the user where it is a service account instead of the requester."""
Authorize = Callable[[Asked], tuple[bool, str]]
"""Whether that is allowed, and why."""


def nothing_allowed(_: Asked) -> tuple[bool, str]:
    """The authorizer where there is none."""
    return False, ""


_AUTHORIZE: ContextVar[Authorize] = ContextVar("authorize", default=nothing_allowed)


class Expression:
    """One expression, compiled with the variables that it refers to; ValueError where that is impossible."""

    def __init__(self, source: str, variables: Mapping[str, str] | None = None) -> None:
        whole = _composed(source, variables or {}).replace(".matches(", ".matchesPattern(")
        try:
            self._compiled = _compiled(whole)
        except RuntimeError as error:
            found = str(error).removeprefix("INVALID_ARGUMENT: ").removesuffix(" [INVALID_ARGUMENT]")
            raise ValueError(f"compilation failed: {found}") from None

    @property
    def is_condition(self) -> bool:
        """Whether it says true or false."""
        return bool(self._compiled.return_type() == _BOOL)

    @property
    def is_text(self) -> bool:
        """Whether it makes a text."""
        return bool(self._compiled.return_type() == _TEXT)

    def verdict(self, variables: Variables) -> bool | str:
        """Whether it is true, or why that cannot be said."""
        found = self._eval(variables)
        if found.type() == _BOOL:
            return found.value() is True
        why = str(found.value()).partition(": ")[2]
        return why.replace("Key not found in map : ", "no such key: ").replace('"', "")

    def holds(self, variables: Variables) -> bool:
        """Whether it is true; what cannot be evaluated is not."""
        found = self._eval(variables)
        return found.type() == _BOOL and found.value() is True

    def text(self, variables: Variables) -> str | None:
        """The text that it makes; None where it makes none."""
        found = self._eval(variables)
        value = found.value()
        return value if found.type() == _TEXT and isinstance(value, str) else None

    def _eval(self, variables: Variables) -> Any:
        if variables.authorize is nothing_allowed:
            return self._compiled.eval(variables.activation)
        before = _AUTHORIZE.set(variables.authorize)
        try:
            return self._compiled.eval(variables.activation)
        finally:
            _AUTHORIZE.reset(before)


class Variables:
    """Values for the variables of expressions, converted once for all of them."""

    __slots__ = ("activation", "authorize")

    def __init__(self, values: Mapping[str, Any], authorize: Authorize = nothing_allowed) -> None:
        self.activation = _environment().Activation({**values, "authorizer": {}})
        self.authorize = authorize


def _composed(source: str, variables: Mapping[str, str]) -> str:
    """The expression within those that it refers to: each is evaluated when it is needed, and once."""
    needed: list[str] = []

    def name(match: re.Match[str]) -> str:
        if match[1]:
            return match[1]
        if match[2] not in variables:
            return match[0]
        needed.append(match[2])
        return f"variables_{match[2]}"

    whole = _VARIABLE.sub(name, source)
    for one, expression in reversed(list(variables.items())):
        if one in needed:
            whole = f"cel.bind(variables_{one}, {_VARIABLE.sub(name, expression)}, {whole})"
    return whole


@lru_cache(maxsize=1024)
def _compiled(source: str) -> Any:
    """Kept for policies, which are compiled when they are stored and again when any of them has changed."""
    return _environment().compile(source)


@cache
def _environment() -> Any:
    functions = [
        _member("matchesPattern", _BOOL, _matches_pattern, _TEXT, _TEXT),
        _member("find", _TEXT, _find, _TEXT, _TEXT),
        *(_member(one, _MAP, partial(_with, one), _MAP, _TEXT) for one in _PARTS),
        _member("serviceAccount", _MAP, _service_account, _MAP, _TEXT, _TEXT),
        _member("check", _MAP, _check, _MAP, _TEXT),
        *(_member(one, _BOOL, partial(_part, one), _MAP) for one in ("allowed", "errored")),
        *(_member(one, _TEXT, partial(_part, one), _MAP) for one in ("reason", "error")),
    ]
    # Of definitions, and of admission policies.
    names = ("self", "oldSelf", "object", "oldObject", "request", "namespaceObject", "params")
    variables = {**dict.fromkeys(names, _DYN), "authorizer": _MAP}
    config = cel.NewEnvConfigFromYaml(_CONFIG)
    return cel.NewEnv(config=config, variables=variables, functions=functions)


def _member(name: str, result: Any, implementation: Any, *types: Any) -> Any:
    """A function of a receiver and arguments of these types."""
    overload = cel.Overload(f"{name}_{len(types)}", result, list(types), is_member=True, impl=implementation)
    return cel.FunctionDecl(name, [overload])


def _matches_pattern(text: str, pattern: str) -> bool:
    return matches(pattern, text)


def _find(text: str, pattern: str) -> str:
    found = matcher(pattern).search(text)
    return found.group() if found else ""


def _with(part: str, asked: dict[str, str], value: str) -> dict[str, str]:
    return {**asked, part: value}


def _service_account(asked: dict[str, str], namespace: str, name: str) -> dict[str, str]:
    return {**asked, "user": f"{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}"}


def _check(asked: dict[str, str], verb: str) -> dict[str, Any]:
    allowed, reason = _AUTHORIZE.get()({**asked, "verb": verb})
    return {"allowed": allowed, "reason": reason, "errored": False, "error": ""}


def _part(part: str, decision: dict[str, Any]) -> Any:
    return decision[part]
