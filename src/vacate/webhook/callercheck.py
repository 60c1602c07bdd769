"""Whether the API server lets a caller evict a pod, before anything is written in that caller's name.

Validating webhooks are called side by side: that a review has come says nothing about what others answer to
the same eviction. So it is sent again as a dry run, as the caller, and goes through all of admission once
more but for ourselves, who are not called for dry runs. The rights for that allow nothing else as another
user: constrained impersonation, which Kubernetes 1.36 has.

    system:masters             may do everything, and cannot be impersonated: no question
    201, or held by a budget   admission lets the eviction pass
    other 4xx                  the caller's answer, and nothing is written
    no impersonation           an older API server: only callers who could request the eviction by themselves
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from multidict import CIMultiDict

from vacate.admission.pods.bridge import EvictionReview
from vacate.api.identity import (
    MASTERS,
    NODES,
    SERVICE_ACCOUNT_PREFIX,
    Access,
    User,
    node_user,
    split_service_account,
)
from vacate.api.identity import quote as quoted
from vacate.api.kinds import PODS, Kind
from vacate.client import requests
from vacate.client.client import Client
from vacate.clock import Clock, PassiveClock
from vacate.errors import ApiError, Forbidden
from vacate.eviction.attempts import is_by_budget
from vacate.eviction.callers import UnverifiedCallers
from vacate.webhook.accessreviews import AccessReviews

UNSUPPORTED_SECONDS = 300.0
"""For so long an API server that refused to let us act as another user is not asked again."""

# The words of the API server; quotes within names are escaped, and a webhook's denial begins otherwise.
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_NO_IMPERSONATION = re.compile(
    rf"[a-z.0-9/]+(?: {_QUOTED})? is forbidden: User {_QUOTED} cannot impersonate(?:-on)?[: ]"
)


CHECK_SECONDS = 15.0
"""How long it is tried to learn whether a caller may evict; webhooks of others may take their time for it."""

_AT_ONCE = 16
_MAX_KEPT, _KEPT_SECONDS = 1_000, 60.0  # results that no attempt has asked for

_Key = tuple[str, str]


class PendingChecks:
    """Starts checks and keeps their results until they are asked for, once."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: dict[_Key, tuple[float, asyncio.Task[None]]] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def result(self, key: _Key, check: Callable[[], Awaitable[None]], seconds: float) -> bool:
        """Whether the check passed in time; raises what it raised. A later result waits to be asked for."""
        task = self._task(key, check)
        await asyncio.wait({task}, timeout=max(0.0, seconds))
        if not task.done():
            return False
        self._begun.pop(key, None)  # another attempt of the caller may have heard it first
        await task
        return True

    async def aclose(self) -> None:
        """Drop what is under way."""
        tasks = [task for _, task in self._begun.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, key: _Key, check: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        now = self._clock.monotonic()
        since, task = self._begun.get(key, (now, None))
        if task is not None and not (task.done() and now - since > _KEPT_SECONDS):
            return task
        if len(self._begun) >= _MAX_KEPT:
            self._begun = {one: kept for one, kept in self._begun.items() if not kept[1].done()}
        task = asyncio.create_task(self._limited(check))
        task.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may never be awaited
        self._begun[key] = now, task
        return task

    async def _limited(self, check: Callable[[], Awaitable[None]]) -> None:
        async with self._room, asyncio.timeout(CHECK_SECONDS):  # waiting for room is no failure
            await check()


class CallerCheck:
    """Asks the API server about callers of the eviction API."""

    def __init__(self, client: Client, access: AccessReviews, clock: PassiveClock) -> None:
        self._client = client
        self._access = access
        self._clock = clock
        self._refused: dict[str, float] = {}  # when acting as one of this sort was refused
        self._worked: set[str] = set()  # sorts of whom one was acted as

    async def check(self, review: EvictionReview, kind: Kind, unverified: UnverifiedCallers) -> None:
        """Return where the caller may have the pod evicted; the ApiError that it is answered where not.

        A 5xx or a TransportError says nothing about the caller.
        """
        user = review.user
        if MASTERS in user.groups:
            return
        sort = _sort(user)
        headers = impersonation_headers(user)
        refused = self._refused.get(sort)
        if headers is not None and (
            refused is None or self._clock.monotonic() - refused > UNSUPPORTED_SECONDS
        ):
            try:
                await self._dry_run(review, headers)
            except ApiError as error:
                if not is_refused_impersonation(error):
                    if error.code < 500:
                        self._worked.add(sort)
                    raise
                # Where others of the sort were acted as, only this caller may not be impersonated.
                if sort not in self._worked:
                    self._refused[sort] = self._clock.monotonic()
            else:
                self._worked.add(sort)
                self._refused.pop(sort, None)
                return
        await self._check_rights(review, kind, unverified)

    async def _dry_run(self, review: EvictionReview, headers: CIMultiDict[str]) -> None:
        request = requests.evict_again(review.name, review.namespace, review.body)
        request.headers = CIMultiDict([*request.headers.items(), *headers.items()])
        try:
            await self._client.send(request)
        except ApiError as error:
            if not is_by_budget(error):
                raise

    async def _check_rights(self, review: EvictionReview, kind: Kind, unverified: UnverifiedCallers) -> None:
        """Whether the caller could have the same done without us."""
        user, namespace = review.user, review.namespace
        wanted = (
            Access(user, "create", kind.group, kind.version, kind.plural, namespace=namespace),
            Access(user, "delete", "", "v1", PODS.plural, namespace=namespace, name=review.name),
        )
        if unverified is UnverifiedCallers.REQUEST:
            return
        for one in wanted:
            if not await self._access.allowed(one):
                raise _unverified(review, kind)


def _unverified(review: EvictionReview, kind: Kind) -> Forbidden:
    who = quoted(review.user.name)
    return Forbidden(
        f"pod/{review.name} has interceptors, and it cannot be learnt whether User {who} may evict it: "
        "this API server has no constrained impersonation, or the webhook has no right to it. Grant the user "
        f"the rights to create {kind.plural}.{kind.group} and to delete pods in the namespace "
        f"{review.namespace}, or install with --bridge-unverified-callers={UnverifiedCallers.REQUEST}",
        details={"name": review.name, "kind": PODS.plural},
    )


def is_refused_impersonation(error: ApiError) -> bool:
    """Whether it was refused to act as the caller, rather than the caller."""
    return isinstance(error, Forbidden) and _NO_IMPERSONATION.match(error.message) is not None


def impersonation_headers(user: User) -> CIMultiDict[str] | None:
    """The headers by which a request is that of the user; None where headers cannot say who it is.

    Of service accounts and nodes the API server itself knows the groups, and takes the name only.
    """
    headers = CIMultiDict([("Impersonate-User", user.name)])
    if _sort(user) == "user":
        if user.name.startswith((node_user(""), SERVICE_ACCOUNT_PREFIX)):
            return None  # named like a node or an account, and neither: cannot be impersonated
        if user.uid:
            headers.add("Impersonate-Uid", user.uid)
        for group in user.groups:
            headers.add("Impersonate-Group", group)
        for key, values in user.extra.items():
            if key != key.lower():
                return None
            for value in values:
                headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
    # A header loses spaces at its ends, and whatever follows a line break is another one.
    clear = all(one and one == one.strip() and one.isprintable() for one in headers.values())
    return headers if clear else None


def _sort(user: User) -> str:
    if split_service_account(user.name) is not None:
        return "serviceaccount"
    return "node" if user.name.startswith(node_user("")) and NODES in user.groups else "user"
