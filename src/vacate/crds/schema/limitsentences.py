"""Defaults and limits of fields in words: `kubectl explain` shows descriptions, and neither of the two.

The reference pages have a column for them, so the descriptions beside the fields leave them out.
"""

from __future__ import annotations

from collections.abc import Iterator

from vacate.api.integers import LIMITS
from vacate.api.objects import Obj


def describe_limits(schema: Obj) -> None:
    """Add the default and the limits of every field below to its description."""
    for field in schema.get("properties", {}).values():
        if "description" in field:
            field["description"] = " ".join([field["description"], *limit_sentences(field)])
        describe_limits(field.get("items", field))


def limit_sentences(field: Obj) -> Iterator[str]:
    """What a field is when it is not set, and what it may be."""
    if default := field.get("default"):  # zero and empty are what a reader expects of a field that is not set
        yield f"Defaults to {default}."
    least, most = number_limits(field)
    also_text = field.get("x-kubernetes-int-or-string")  # a percentage, whose length limits nothing more
    if text := _range(least, most):
        yield f"A number must be {text}." if also_text else f"Must be {text}."
    if not also_text and (text := _range(_shortest(field), field.get("maxLength"))):
        yield f"Must have {text} characters."
    for key, noun in (("Items", "items"), ("Properties", "entries")):
        if text := _range(field.get(f"min{key}"), field.get(f"max{key}")):
            yield f"Must have {text} {noun}."


def number_limits(field: Obj) -> tuple[int | None, int | None]:
    """The least and the largest number, where they are narrower than the type of the field."""
    least, most = field.get("minimum"), field.get("maximum")
    widest = LIMITS.get(field.get("format", ""), (None, None))
    return (None if least == widest[0] else least, None if most == widest[1] else most)


def _shortest(field: Obj) -> int | None:
    return field.get("minLength") or None


def _range(least: int | None, most: int | None) -> str:
    if least is not None and most is not None:
        return f"{least} to {most}"
    if least is not None:
        return f"at least {least}"
    return f"at most {most}" if most is not None else ""
