"""JSON from others, within limits."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
import orjson

from vacate.errors import BadRequest

MAX_DEPTH = 100
"""How deeply an object may nest. Far beyond any API type, far below the interpreter's own limit."""


T = TypeVar("T")


def decode_json(text: str | bytes, type_: type[T]) -> T:
    """A value of that type, from an annotation, a file or an answer; ValueError says why the text is none."""
    try:
        return msgspec.json.decode(text, type=type_)
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from error
    except RecursionError:
        # A few hundred KiB of brackets fit into an annotation.
        raise ValueError("it is nested too deeply") from None


def parse_json(body: bytes) -> Any:
    """JSON with a limit on nesting; BadRequest for everything else."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if may_nest_deeply(body):
        check_depth(value)
    return value


def may_nest_deeply(body: bytes) -> bool:
    """Whether it is worth looking: what opens few brackets cannot nest too deeply, and most open few."""
    return body.count(b"{") + body.count(b"[") > MAX_DEPTH


def check_depth(value: Any) -> None:
    """Refuse what is nested too deeply, without recursion."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return
    raise BadRequest(f"the object is nested more than {MAX_DEPTH} levels deep")
