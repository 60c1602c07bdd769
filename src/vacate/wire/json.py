"""JSON from others, within limits."""

from __future__ import annotations

from typing import Any

import orjson

from vacate.errors import BadRequest

MAX_DEPTH = 100
"""How deeply an object may nest. Far beyond any API type, far below the interpreter's own limit."""


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
    """Refuse what nests too deeply, without recursion."""
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
    raise BadRequest(f"the object nests more than {MAX_DEPTH} levels deep")
