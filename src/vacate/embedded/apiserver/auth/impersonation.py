"""Acting as another user, for those who may: the verb `impersonate` on the user, groups and other parts.

The constrained modes of newer Kubernetes releases are not offered: their verbs grant nothing here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import unquote

from vacate.api.identity import (
    ALL_AUTHENTICATED,
    ALL_UNAUTHENTICATED,
    ANONYMOUS,
    Access,
    User,
    service_account_groups,
    split_service_account,
)
from vacate.embedded.apiserver.auth.authorization import Authorizer
from vacate.errors import BadRequest
from vacate.wire.message import Headers

_AUTHENTICATION_GROUP = "authentication.k8s.io"


class Impersonation:
    """Turns the user of a request into the one that its headers name."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def resolve(self, access: Access, headers: Headers) -> User:
        """Whose rights count for this access: its own user's where the headers name nobody else.

        BadRequest where the headers name groups without a user, Forbidden where nothing allows it.
        """
        wanted = wanted_user(headers)
        return access.user if wanted is None else self._checked(wanted, access.user)

    def _checked(self, wanted: User, requester: User) -> User:
        """Each part of the wanted user is a question of its own."""
        user = self._check_name(wanted, requester)
        if wanted.uid:
            self._require(requester, "uids", wanted.uid, group=_AUTHENTICATION_GROUP)
        for group in wanted.groups:
            self._require(requester, "groups", group)
        for key, values in wanted.extra.items():
            for value in values:
                self._require(requester, "userextras", value, group=_AUTHENTICATION_GROUP, subresource=key)
        return _with_general_group(user)

    def _check_name(self, wanted: User, requester: User) -> User:
        account = split_service_account(wanted.name)
        if account is None:
            self._require(requester, "users", wanted.name)
            return wanted
        namespace, name = account
        self._require(requester, "serviceaccounts", name, namespace=namespace)
        return wanted if wanted.groups else replace(wanted, groups=service_account_groups(namespace))

    def _require(self, requester: User, resource: str, name: str, *, group: str = "", **more: str) -> None:
        self._authorizer.require(
            Access(requester, "impersonate", group, resource=resource, name=name, **more)
        )


def _with_general_group(user: User) -> User:
    if user.name == ANONYMOUS:
        general = ALL_UNAUTHENTICATED
    elif ALL_UNAUTHENTICATED in user.groups:
        return user
    else:
        general = ALL_AUTHENTICATED
    return user if general in user.groups else replace(user, groups=(*user.groups, general))


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
