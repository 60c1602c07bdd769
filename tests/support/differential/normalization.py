"""Answers of two servers made comparable: what each server makes up by itself is replaced by a word."""

from __future__ import annotations

import re
from typing import Any

from support.arms.arm import Answer, Obj

_UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_DROPPED = ("managedFields", "selfLink")
_ACCOUNT = ("serviceAccountName", "serviceAccount")
_OURS = {"metadata": ("reason",)}
"""Fields that stock clusters do not have, by the field around them: the termination reason of a pod."""


def comparable(answer: Answer) -> Obj:
    """Status code and body, without what no two servers have in common.

    Of a refusal the reason and the causes with their types and fields count. Its wording does not, except
    where our own code reads it: the refusals of evictions.
    """
    body = _plain(answer.obj) if answer.obj else _text(answer.text)
    if answer.failed and isinstance(body, dict) and body.get("reason") != "TooManyRequests":
        body = _without_wording(body)
    return {"code": answer.code, "body": body}


def _without_wording(status: Obj) -> Obj:
    kept = {key: value for key, value in status.items() if key != "message"}
    causes = (status.get("details") or {}).get("causes")
    if causes:
        plain = [{key: value for key, value in cause.items() if key != "message"} for cause in causes]
        kept["details"] = {**status["details"], "causes": plain}
    return kept


def _plain(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        ours = _OURS.get(field, ())
        kept = {key: one for key, one in value.items() if key not in ours and not _left_out(key, one)}
        return {key: _plain(one, key) for key, one in kept.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if field in ("resourceVersion", "continue") and value:
        return f"<{field}>"
    return _text(value) if isinstance(value, str) else value


def _left_out(key: str, value: Any) -> bool:
    """The admission plugin that gives pods a service account is off: it would also mount tokens."""
    return key in _DROPPED or (key in _ACCOUNT and value == "default")


def _text(text: str) -> str:
    return _TIME.sub("<time>", _UID.sub("<uid>", text))


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two comparable values differ, one line each: ours, then that of the real server."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = sorted({*ours, *theirs})
        return [line for key in keys for line in _of_field(ours, theirs, key, path)]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        both = enumerate(zip(ours, theirs, strict=True))
        return [line for n, (one, two) in both for line in differences(one, two, f"{path}[{n}]")]
    if ours == theirs and type(ours) is type(theirs):
        return []
    return [f"{path}: {ours!r}, really {theirs!r}"]


def _of_field(ours: Obj, theirs: Obj, key: str, path: str) -> list[str]:
    place = f"{path}.{key}" if path else key
    if key not in ours:
        return [f"{place}: absent, really {theirs[key]!r}"]
    if key not in theirs:
        return [f"{place}: {ours[key]!r}, really absent"]
    return differences(ours[key], theirs[key], place)
