"""The headers that name another user: reading them, and what is wrong with what they say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from vacate.api.field import FieldError, invalid
from vacate.api.identity import User
from vacate.api.names import dns1123_subdomain
from vacate.decide.rbac_text import join_errors, quote
from vacate.errors import BadRequest
from vacate.wire.message import Headers

_USER = "Impersonate-User"
_UID = "Impersonate-Uid"
_GROUP = "Impersonate-Group"
_PREFIX = "impersonate-"
_EXTRA_PREFIX = f"{_PREFIX}extra-"
_BROKEN_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


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
        raise BadRequest(f"requested {_show(uid, groups, extra)} without impersonating a user name")
    return None


def _concerned(headers: Headers) -> bool:
    # Every request comes through here, and hardly one is concerned: most headers end at their first letter.
    return any(header[:1] in "iI" and header.lower().startswith(_PREFIX) for header in headers)


def extra_fault(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Why the extra fields may not be taken on in a constrained mode, or an empty text."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if faults := _key_faults(key):
            listed = join_errors(map(str, faults))
            return f"impersonating an invalid key in extra is not allowed: {listed}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quote(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _key_faults(key: str) -> list[FieldError]:
    host, _, path = key.partition("/")
    if not host or not path:
        return [invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    faults = [invalid("extra.key", host, text) for text in dns1123_subdomain(host)]
    if not re.fullmatch(_HTTP_PATH, path):
        why = f"Invalid path (regex used for validation is '{_HTTP_PATH}')"
        faults.append(invalid("extra.key", path, why))
    return faults


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


def _show(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    pairs = ", ".join(f"{quote(key)}:{_strings(extra[key])}" for key in sorted(extra))
    listed = f"{{{pairs}}}" if extra else "(nil)"
    return (
        f'&user.DefaultInfo{{Name:"", UID:{quote(uid)}, Groups:{_strings(groups)}, '
        f"Extra:map[string][]string{listed}}}"
    )


def _strings(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quote, texts))}}}" if texts else "[]string(nil)"
