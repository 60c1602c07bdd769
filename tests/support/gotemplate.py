"""As much of Helm's templates as the chart uses: values, `if`, `range`, and four functions.

Anything else is an error, so that the chart cannot come to need more without notice.
"""

from __future__ import annotations

import json
import re
from typing import Any

Values = dict[str, Any]
_ACTION = re.compile(r"(\s*)\{\{(-?) (.*?) \}\}", re.DOTALL)


def render(text: str, values: Values, namespace: str) -> str:
    """The text that Helm would make of a template."""
    tokens = _tokens(text)
    root = {"Values": values, "Release": {"Namespace": namespace}}
    made, rest = _block(tokens, root, root)
    assert not rest, rest
    return made


def _tokens(text: str) -> list[tuple[str, str]]:
    found, end = [], 0
    for match in _ACTION.finditer(text):
        found.append(("text", text[end : match.start()] + ("" if match[2] else match[1])))
        found.append(("action", match[3]))
        end = match.end()
    return [*found, ("text", text[end:])]


def _block(tokens: list[tuple[str, str]], root: Values, dot: Any) -> tuple[str, list[tuple[str, str]]]:
    """The text up to the end of this block, and the tokens from there on."""
    made = ""
    while tokens and tokens[0] not in (("action", "end"), ("action", "else")):
        (sort, said), *tokens = tokens
        if sort == "text":
            made += said
        elif said.startswith("if "):
            then, tokens = _block(tokens, root, dot)
            otherwise = ""
            if tokens[0] == ("action", "else"):
                otherwise, tokens = _block(tokens[1:], root, dot)
            tokens = tokens[1:]
            made += then if _holds(said.removeprefix("if "), root) else otherwise
        elif said.startswith("range "):
            items, inside = _value(said.removeprefix("range "), root, dot), tokens
            _, after = _block(inside, root, dot)
            made += "".join(_block(inside, root, item)[0] for item in items)
            tokens = after[1:]
        else:
            made += _printed(said, root, dot)
    return made, tokens


def _holds(condition: str, root: Values) -> bool:
    if inner := re.fullmatch(r"not \((.*)\)", condition):
        return not _holds(inner[1], root)
    if pair := re.fullmatch(r'eq (\S+) "(.*)"', condition):
        return bool(_value(pair[1], root, None) == pair[2])
    return bool(_value(condition, root, None))


def _value(path: str, root: Values, dot: Any) -> Any:
    if path == ".":
        return dot
    found: Any = root
    assert path.startswith("."), path
    for key in path[1:].split("."):
        found = found[key]
    return found


def _printed(said: str, root: Values, dot: Any) -> str:
    first, *functions = said.split(" | ")
    value = json.loads(first) if first.startswith('"') else _value(first, root, dot)
    for function in functions:
        value = _applied(function, value)
    return str(value)


def _applied(function: str, value: Any) -> str:
    if function == "quote":
        return json.dumps(str(value))
    if function == 'trimSuffix "\\n"':
        return str(value).removesuffix("\n")
    spaces = re.fullmatch(r"indent (\d+)", function)
    assert spaces is not None, f"{function}: not in the subset"
    return "\n".join(" " * int(spaces[1]) + line for line in str(value).split("\n"))
