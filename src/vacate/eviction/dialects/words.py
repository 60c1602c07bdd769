"""Sentences about a record in the words of an API."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

_QUOTED = re.compile('("[^"]*")')


def phrasing(terms: Mapping[str, str], names: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """What replaces terms, also where a sentence begins with them, and names; what is in quotes stays."""
    first = {_capital(ours): _capital(theirs) for ours, theirs in terms.items()}
    words = {**(names or {}), **terms, **first}
    # Whole words only, and no parts of names such as interceptor.example.com.
    word = re.compile(rf"(?<![\w./-])({'|'.join(sorted(words, key=len, reverse=True))})(?!\w|[-./]\w)")

    def phrase(text: str) -> str:
        parts = _QUOTED.split(text)
        return "".join(
            part if place % 2 else word.sub(lambda found: words[found[1]], part)
            for place, part in enumerate(parts)
        )

    return phrase


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
