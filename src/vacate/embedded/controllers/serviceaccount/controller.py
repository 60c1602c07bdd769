"""The service account controller: each namespace has a service account named `default`."""

from __future__ import annotations

from collections.abc import Iterable

from vacate.api.kinds import NAMESPACES, SERVICEACCOUNTS
from vacate.api.types import Namespace, ServiceAccount
from vacate.embedded.controllers.backoff import retry_backoff
from vacate.errors import AlreadyExists, Forbidden, NotFound
from vacate.runtime.controller import Controller, Source
from vacate.runtime.dependencies import Dependencies
from vacate.runtime.reconcile import Done, Key, Outcome

DEFAULT = "default"
_NAMESPACE_TERMINATING = "NamespaceTerminating"


def build(deps: Dependencies) -> Controller:
    """The controller, woken by namespaces and by service accounts that go."""
    namespaces = deps.informers.informer(NAMESPACES, Namespace)
    accounts = deps.informers.informer(SERVICEACCOUNTS, ServiceAccount)
    sources = (Source(namespaces), Source(accounts, keys=_namespace_of, when=_default_went))
    return Controller(
        "serviceaccount", ServiceAccountController(deps), sources, deps, backoff=retry_backoff()
    )


def _namespace_of(account: ServiceAccount) -> Iterable[Key]:
    return (Key("", account.metadata.namespace),)


def _default_went(old: ServiceAccount | None, new: ServiceAccount | None) -> bool:
    return new is None and old is not None and old.metadata.name == DEFAULT


class ServiceAccountController:
    """Makes the default account where it is missing."""

    def __init__(self, deps: Dependencies) -> None:
        self._client = deps.client
        self._namespaces = deps.informers.informer(NAMESPACES, Namespace).reader
        self._accounts = deps.informers.informer(SERVICEACCOUNTS, ServiceAccount).reader

    async def reconcile(self, key: Key) -> Outcome:
        """Look at one namespace."""
        namespace = self._namespaces.get("", key.name)
        if namespace is None or namespace.metadata.deletion_timestamp is not None:
            return Done()
        if self._accounts.get(key.name, DEFAULT) is not None:
            return Done()
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": DEFAULT}}
        try:
            await self._client.create(SERVICEACCOUNTS, account, key.name)
        except (AlreadyExists, NotFound):
            return Done()
        except Forbidden as error:
            if not error.has_cause(_NAMESPACE_TERMINATING):
                raise
        return Done()
