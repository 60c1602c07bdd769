"""The evaluator of CEL: the library of the CEL project, with the functions that Kubernetes adds to it.

The library comes with the extra `embedded`. `matches` of the library compiles its pattern at every
evaluation, so expressions call a function of ours in its place, which compiles each pattern once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from vacate.crds.schema.formats import matcher, matches
from vacate.errors import ConfigError

try:
    from cel_expr_python import cel
except ImportError:
    raise ConfigError(
        "the embedded cluster needs cel-expr-python, which evaluates rules in CEL: "
        "pip install 'vacate[embedded]', or make setup in a checkout"
    ) from None

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
_TEXT, _BOOL, _DYN = cel.Type.STRING, cel.Type.BOOL, cel.Type.DYN


class Expression:
    """One expression, compiled."""

    def __init__(self, source: str) -> None:
        self._compiled = _environment().compile(source.replace(".matches(", ".matchesPattern("))

    def holds(self, variables: Variables) -> bool:
        """Whether it is true; what cannot be evaluated is not."""
        found = self._compiled.eval(variables.activation)
        return found.type() == _BOOL and found.value() is True

    def text(self, variables: Variables) -> str | None:
        """The text that it makes; None where it makes none."""
        found = self._compiled.eval(variables.activation)
        value = found.value()
        return value if found.type() == _TEXT and isinstance(value, str) else None


class Variables:
    """Values for the variables of expressions, converted once for all of them."""

    __slots__ = ("activation",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.activation = _environment().Activation(dict(values))


@cache
def _environment() -> Any:
    functions = [
        _member("matchesPattern", _BOOL, _matches_pattern),
        _member("find", _TEXT, _find),
    ]
    # Of definitions, and of admission policies.
    names = ("self", "oldSelf", "object", "oldObject", "request")
    variables = dict.fromkeys(names, _DYN)
    config = cel.NewEnvConfigFromYaml(_CONFIG)
    return cel.NewEnv(config=config, variables=variables, functions=functions)


def _member(name: str, result: Any, implementation: Any) -> Any:
    overload = cel.Overload(f"{name}_string", result, [_TEXT, _TEXT], is_member=True, impl=implementation)
    return cel.FunctionDecl(name, [overload])


def _matches_pattern(text: str, pattern: str) -> bool:
    return matches(pattern, text)


def _find(text: str, pattern: str) -> str:
    found = matcher(pattern).search(text)
    return found.group() if found else ""
