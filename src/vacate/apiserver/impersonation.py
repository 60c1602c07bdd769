"""Acting as somebody else, for those who may.

Two ways, as Kubernetes has them since 1.36. Constrained: the verb `impersonate:<mode>` on whom one acts as,
and `impersonate-on:<mode>:<verb>` on what one does meanwhile. Unconstrained, the older way: the verb
`impersonate` alone. The constrained modes are asked first, and the first refusal is the one that the caller
reads. The mode for a service account's own node needs tokens that name a node, which are not issued here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from vacate.api.identity import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, MASTERS, Access, User
from vacate.apiserver.authz import Authorizer
from vacate.apiserver.impersonation_headers import extra_fault, wanted_user
from vacate.decide.rbac_subjects import NODES, node_of, service_account_groups, split_service_account
from vacate.decide.rbac_text import forbidden
from vacate.errors import Forbidden
from vacate.wire.message import Headers

_AUTHENTICATION_GROUP = "authentication.k8s.io"
_MANY = 4  # from so many checks on, one check for all of them is tried first


@dataclass(frozen=True, slots=True)
class _Mode:
    name: str  # empty for the unconstrained way

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        return _AUTHENTICATION_GROUP if self.name else ""


_NODE = _Mode("arbitrary-node")
_SERVICE_ACCOUNT = _Mode("serviceaccount")
_USER_INFO = _Mode("user-info")
_UNCONSTRAINED = _Mode("")


class Impersonation:
    """Turns the user of a request into the one that its headers name."""

    def __init__(self, authorizer: Authorizer, *, max_remembered: int = 1024) -> None:
        self._authorizer = authorizer
        self._max_remembered = max_remembered
        self._last_mode: dict[str, _Mode] = {}

    def resolve(self, access: Access, headers: Headers) -> User:
        """Whose rights count for this access: its own user's where the headers name nobody else.

        BadRequest where the headers name groups without a user, Forbidden where nothing allows it.
        """
        wanted = wanted_user(headers)
        return access.user if wanted is None else self._first_allowed(wanted, access)

    def _first_allowed(self, wanted: User, access: Access) -> User:
        refusal: Forbidden | None = None
        for mode in self._modes(wanted, access.user.name):
            try:
                user = _Attempt(self._authorizer, access, mode).check(wanted)
            except Forbidden as error:
                refusal = refusal or error
                continue
            self._remember(access.user.name, mode)
            return user
        assert refusal is not None  # the unconstrained way is always tried
        raise refusal

    def _modes(self, wanted: User, asking: str) -> Iterator[_Mode]:
        """The mode that last worked for the caller, then the rest: so the old way costs what it did."""
        fitting = (*_constrained_modes(wanted), _UNCONSTRAINED)
        last = self._last_mode.get(asking)
        if last in fitting:
            yield last
        yield from (mode for mode in fitting if mode != last)

    def _remember(self, asking: str, mode: _Mode) -> None:
        if len(self._last_mode) >= self._max_remembered:
            self._last_mode.clear()
        self._last_mode[asking] = mode


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One mode tried for one request: each part of the wanted user is a question of its own."""

    authorizer: Authorizer
    access: Access
    mode: _Mode

    def check(self, wanted: User) -> User:
        if self.mode.name:
            verb = f"impersonate-on:{self.mode.name}:{self.access.verb}"
            self.authorizer.require(replace(self.access, verb=verb))
        user = self._check_name(wanted)
        if wanted.uid:
            self._require("uids", wanted.uid, group=_AUTHENTICATION_GROUP)
        self._check_groups(wanted.groups)
        self._check_extra(wanted.extra)
        return _with_general_group(user)

    def _check_name(self, wanted: User) -> User:
        node = node_of(wanted.name) if self.mode.name else None
        account = split_service_account(wanted.name)
        if node is not None:
            self._require("nodes", node)
            return replace(wanted, groups=(NODES,))
        if account is None:
            self._require("users", wanted.name)
            return wanted
        namespace, name = account
        self._require("serviceaccounts", name, namespace=namespace)
        return wanted if wanted.groups else replace(wanted, groups=service_account_groups(namespace))

    def _check_groups(self, groups: tuple[str, ...]) -> None:
        if self.mode.name:
            self._refuse_if("" in groups, "groups", "", "impersonating the empty string group is not allowed")
            self._refuse_if(
                MASTERS in groups, "groups", MASTERS, f"impersonating the {MASTERS} group is not allowed"
            )
            if len(groups) >= _MANY and self._allowed("groups", "*"):
                return
        for group in groups:
            self._require("groups", group)

    def _check_extra(self, extra: Mapping[str, tuple[str, ...]]) -> None:
        pairs = [(key, value) for key, values in extra.items() for value in values]
        if self.mode.name:
            fault = extra_fault(extra)
            self._refuse_if(bool(fault), "userextras", "", fault)
            if max(len(pairs), len(extra)) >= _MANY and self._allowed("userextras", "*", subresource="*"):
                return
        for key, value in pairs:
            self._require("userextras", value, group=_AUTHENTICATION_GROUP, subresource=key)

    def _require(self, resource: str, name: str, **more: str) -> None:
        self.authorizer.require(self._question(resource, name, **more))

    def _allowed(self, resource: str, name: str, **more: str) -> bool:
        return self.authorizer.authorize(self._question(resource, name, **more)).allowed

    def _refuse_if(self, wrong: bool, resource: str, name: str, why: str) -> None:
        if wrong:
            raise forbidden(self._question(resource, name), why)

    def _question(self, resource: str, name: str, **more: str) -> Access:
        group = more.pop("group", self.mode.group)
        return Access(self.access.user, self.mode.verb, group, resource=resource, name=name, **more)


def _constrained_modes(wanted: User) -> tuple[_Mode, ...]:
    only_name = not (wanted.uid or wanted.groups or wanted.extra)
    if node_of(wanted.name) is not None:
        return (_NODE,) if only_name else ()
    if split_service_account(wanted.name) is not None:
        return (_SERVICE_ACCOUNT,) if only_name else ()
    return (_USER_INFO,)


def _with_general_group(user: User) -> User:
    if user.name == ANONYMOUS:
        general = ALL_UNAUTHENTICATED
    elif ALL_UNAUTHENTICATED in user.groups:
        return user
    else:
        general = ALL_AUTHENTICATED
    return user if general in user.groups else replace(user, groups=(*user.groups, general))
