"""JSON that others may have written: in annotations, in files, in answers."""

from __future__ import annotations

from typing import TypeVar

import msgspec

T = TypeVar("T")


def decode_json(text: str | bytes, type_: type[T]) -> T:
    """The value; ValueError, which says why, where the text is none of that type."""
    try:
        return msgspec.json.decode(text, type=type_)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    except RecursionError:
        # A few hundred KiB of brackets fit into an annotation.
        raise ValueError("it is nested too deeply") from None
