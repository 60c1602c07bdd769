"""The grammar of label selectors, read by recursive descent; its complaints name what was expected."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from vacate.api import fielderrors, names
from vacate.api.selectors import requirements as req
from vacate.errors import BadRequest

# A NUL byte ends the word before it; standing alone it ends the text.
_TOKEN = re.compile(r"[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^=!(),<> \t\r\n\0]+))\0?")
_OPERATORS = {
    "in": req.IN, "notin": req.NOT_IN, "=": req.EQUALS, "==": req.DOUBLE_EQUALS,
    "!=": req.NOT_EQUALS, ">": req.GREATER, "<": req.LESS,
}  # fmt: skip
_EXPECTED_OPERATORS = "in, notin, =, ==, !=, gt, lt"


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    word: bool = False  # a key or a value; `in` and `notin` too, where no operator can stand

    @property
    def end(self) -> bool:
        return not self.text


def parse(text: str) -> list[req.Requirement]:
    """The requirements in the order of the text."""
    return _Parser(list(_tokens(text))).parse()


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while found := _TOKEN.match(text, position):
        position = found.end()
        yield _Token(found[1] or found[2], word=bool(found[2]))
    yield _Token("")


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def parse(self) -> list[req.Requirement]:
        requirements = []
        while not (first := self._peek()).end:
            if not _starts_requirement(first):
                raise _found(first, "!, identifier, or 'end of string'")
            requirements.append(self._wrapped_requirement())
            separator = self._next()
            if separator.end:
                break
            if separator.text != ",":
                raise _found(separator, "',' or 'end of string'")
            if not _starts_requirement(self._peek()):
                raise _found(self._peek(), "identifier after ','")
        return requirements

    def _wrapped_requirement(self) -> req.Requirement:
        try:
            return self._requirement()
        except BadRequest as error:
            raise BadRequest(f"unable to parse requirement: {error.message}") from None

    def _requirement(self) -> req.Requirement:
        absent = self._peek().text == "!"
        if absent:
            self._next()
        key = self._key()
        if absent:
            return req.requirement(key, req.DOES_NOT_EXIST, ())
        if self._peek().end or self._peek().text == ",":
            return req.requirement(key, req.EXISTS, ())
        token = self._next()
        operator = _OPERATORS.get(token.text)
        if operator is None:
            raise _found(token, _EXPECTED_OPERATORS)
        values = self._values() if operator in (req.IN, req.NOT_IN) else [self._value()]
        return req.requirement(key, operator, sorted(set(values)))

    def _key(self) -> str:
        token = self._next()
        if not token.word:
            raise _found(token, "identifier")
        if field_errors := names.label_key(token.text):
            raise BadRequest(str(fielderrors.invalid("<nil>", token.text, "; ".join(field_errors))))
        return token.text

    def _value(self) -> str:
        if self._peek().end or self._peek().text == ",":
            return ""
        token = self._next()
        if not token.word:
            raise _found(token, "identifier")
        return token.text

    def _values(self) -> list[str]:
        opening = self._next()
        if opening.text != "(":
            raise BadRequest(f"found '{opening.text}' expected: '('")
        first = self._peek()
        if first.text == ")":
            self._next()
            return [""]
        if not first.word and first.text != ",":
            raise _found(first, "',', ')' or identifier")
        return self._listed()

    def _listed(self) -> list[str]:
        values: list[str] = []
        while True:
            token = self._next()
            if token.word:
                values.append(token.text)
                if self._peek().text not in (",", ")"):
                    raise _found(self._peek(), "',' or ')'")
            elif token.text == ",":
                if not values or self._peek().text in (",", ")"):
                    values.append("")
            elif token.text == ")":
                return values
            else:
                raise _found(token, "',', or identifier")

    def _peek(self) -> _Token:
        return self._tokens[self._position]

    def _next(self) -> _Token:
        token = self._tokens[self._position]
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token


def _starts_requirement(token: _Token) -> bool:
    return token.word or token.text == "!"


def _found(token: _Token, expected: str) -> BadRequest:
    return BadRequest(f"found '{token.text}', expected: {expected}")
