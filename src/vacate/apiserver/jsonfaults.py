"""What is wrong with bytes that are no JSON, in the words of Go's scanner, and what it would let pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

_MAX_DEPTH = 10_000
_EXPLAINED_BYTES = 64 * 1024  # reading token by token is slow: for longer bodies a shorter word must do
_BLANKS = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_NUMBER = re.compile(rb"(?:0|[1-9][0-9]*+)")
_DIGITS = re.compile(rb"[0-9]*+")
_HEX = re.compile(rb"[0-9a-fA-F]*+")
_LITERALS = {b"t": b"true", b"f": b"false", b"n": b"null"}
_ESCAPES = {0x07: "\\a", 0x08: "\\b", 0x0C: "\\f", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t", 0x0B: "\\v"}
_SURROGATES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def syntax_fault(body: bytes) -> str:
    """The first syntax error, or nothing where Go finds none or the body is too long to be explained."""
    if len(body) > _EXPLAINED_BYTES:
        return ""
    scanner = _Scanner(body)
    try:
        scanner.run()
    except SyntaxError as error:
        found = scanner.char
        return f"invalid character {_quoted(found[0])} {error}" if found else "unexpected end of JSON input"
    return ""


def mended(body: bytes) -> Any:
    """The value as Go reads it: bytes that are no UTF-8 and halves of pairs become replacement characters."""
    text = body.decode("utf-8", "replace")
    return orjson.loads(_SURROGATES.sub(_whole_or_replaced, text))


def _whole_or_replaced(match: re.Match[str]) -> str:
    found = match.group()
    return "\\ufffd" if len(found) == len("\\ud800") else found


def _quoted(byte: int) -> str:
    """A byte between single quotes; bytes beyond ASCII are shown as the characters of that number."""
    if byte in b"'\\":
        return f"'\\{chr(byte)}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'{_ESCAPES[byte]}'" if byte in _ESCAPES else f"'\\x{byte:02x}'"
    return f"'\\u{byte:04x}'" if 0x80 <= byte <= 0xA0 or byte == 0xAD else f"'{chr(byte)}'"


_Step = Callable[[], Any]  # gives the next step, or None at the end


class _Scanner:
    """Reads token by token, without recursion; a SyntaxError leaves the position at what is wrong."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0
        self._open: list[bytes] = []

    @property
    def char(self) -> bytes:
        """What stands at the position: one byte, or none at the end."""
        return self._body[self._at : self._at + 1]

    def run(self) -> None:
        """Read everything."""
        step: _Step | None = self._value
        while step is not None:
            self._take(_BLANKS)
            step = step()

    def _value(self) -> _Step:
        match self.char:
            case b"{":
                return self._opened(self._first_key)
            case b"[":
                return self._opened(self._first_element)
            case b'"':
                self._string()
            case b"t" | b"f" | b"n":
                self._literal()
            case char if char and char in b"-0123456789":
                self._number()
            case _:
                raise SyntaxError("looking for beginning of value")
        return self._after

    def _opened(self, step: _Step) -> _Step:
        self._open.append(self.char)
        if len(self._open) > _MAX_DEPTH:
            raise SyntaxError("exceeded max depth")
        self._at += 1
        return step

    def _closed(self) -> _Step:
        self._open.pop()
        self._at += 1
        return self._after

    def _first_element(self) -> _Step:
        return self._closed() if self.char == b"]" else self._value()

    def _first_key(self) -> _Step:
        return self._closed() if self.char == b"}" else self._key()

    def _key(self) -> _Step:
        if self.char != b'"':
            raise SyntaxError("looking for beginning of object key string")
        self._string()
        self._take(_BLANKS)
        if self.char != b":":
            raise SyntaxError("after object key")
        self._at += 1
        return self._value

    def _after(self) -> _Step | None:
        if not self._open:
            if self.char:
                raise SyntaxError("after top-level value")
            return None
        in_object = self._open[-1] == b"{"
        if self.char == (b"}" if in_object else b"]"):
            return self._closed()
        if self.char != b",":
            raise SyntaxError("after object key:value pair" if in_object else "after array element")
        self._at += 1
        return self._key if in_object else self._value

    def _string(self) -> None:
        self._take(_STRING)
        if self.char == b'"':
            self._at += 1
        elif self.char == b"\\":
            self._escape()
        else:
            raise SyntaxError("in string literal")

    def _escape(self) -> None:
        self._at += 1
        if self.char != b"u":
            raise SyntaxError("in string escape code")
        self._at += 1
        self._take(_HEX)
        raise SyntaxError("in \\u hexadecimal character escape")

    def _number(self) -> None:
        self._at += self.char == b"-"
        if not self._take(_NUMBER):
            raise SyntaxError("in numeric literal")
        if self.char == b".":
            self._at += 1
            if not self._take(_DIGITS):
                raise SyntaxError("after decimal point in numeric literal")
        if self.char in (b"e", b"E"):
            self._at += 1
            self._at += self.char in (b"+", b"-")
            if not self._take(_DIGITS):
                raise SyntaxError("in exponent of numeric literal")

    def _literal(self) -> None:
        word = _LITERALS[self.char]
        for byte in word:
            if self.char != bytes([byte]):
                raise SyntaxError(f"in literal {word.decode()} (expecting {_quoted(byte)})")
            self._at += 1

    def _take(self, pattern: re.Pattern[bytes]) -> bool:
        """Go past what the pattern matches here; whether that is anything."""
        found = pattern.match(self._body, self._at)
        if found is None or found.end() == self._at:
            return False
        self._at = found.end()
        return True
