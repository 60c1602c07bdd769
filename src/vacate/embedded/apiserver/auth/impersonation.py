"""Acting as another user, for those who may: the verb `impersonate` on the user, groups and other parts.

The constrained modes of newer Kubernetes releases are not offered: their verbs grant nothing here.
"""

from __future__ import annotations

from dataclasses import replace

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
from vacate.embedded.apiserver.auth.impersonationheaders import wanted_user
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
