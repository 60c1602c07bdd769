"""The headers that name another user: reading them, and what is wrong with what they say."""

from __future__ import annotations

import re
from urllib.parse import unquote

from vacate.api.identity import User
from vacate.errors import BadRequest
from vacate.wire.message import Headers

_USER = "Impersonate-User"
_UID = "Impersonate-Uid"
_GROUP = "Impersonate-Group"
_PREFIX = "impersonate-"
_EXTRA_PREFIX = f"{_PREFIX}extra-"
_BROKEN_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")


def wanted_user(headers: Headers) -> User | None:
    """Whom the headers name, exactly as they stand; BadRequest for parts of a user without a name."""
    if not _concerned(headers):
        return None
    name = _clean(headers.get(_USER, ""))
    uid = _clean(headers.get(_UID, ""))
    groups = tuple(_clean(group) for group in headers.getall(_GROUP, ()))
    extra = _extra(headers)
    if name:
        return User(name, groups, uid, extra)
    if uid or groups or extra:
        raise BadRequest(f"a request to impersonate a user names it in the header {_USER}")
    return None


def _concerned(headers: Headers) -> bool:
    # Every request comes through here, and hardly one is concerned: most headers end at their first letter.
    return any(header[:1] in "iI" and header.lower().startswith(_PREFIX) for header in headers)


def _extra(headers: Headers) -> dict[str, tuple[str, ...]]:
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in headers.items():
        lowered = header.lower()
        if lowered.startswith(_EXTRA_PREFIX):
            key = _unescape(lowered.removeprefix(_EXTRA_PREFIX))
            extra[key] = (*extra.get(key, ()), _clean(value))
    return extra


def _unescape(key: str) -> str:
    """Percent escapes resolved; a key with a broken one is taken as it is."""
    return _clean(key if _BROKEN_ESCAPE.search(key) else unquote(key, errors="surrogateescape"))


def _clean(text: str) -> str:
    """Header bytes that are no UTF-8 become replacement characters, which every answer can carry."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
