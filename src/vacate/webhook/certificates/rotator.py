"""Keeps the webhook's certificates: in a Secret that its pods mount, and their CA in both configurations.

It runs in a process of its own that listens nowhere, because its rights are dangerous: an account that may
patch the webhook configurations can route the admission of a whole cluster to itself. The webhook, which
anyone in the cluster can reach, has none of them. Of several rotators that write at once one succeeds, and
the others take what it made.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vacate.api.kinds import SECRETS, Kind
from vacate.api.objects import Obj
from vacate.api.untyped import mapping, maps
from vacate.cache.informer import Informer
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import AlreadyExists, ApiError, ConfigError, Conflict, TransportError
from vacate.kube.patches import guarded
from vacate.pki.rotation import CertificateBundle, Lifetimes, renewed
from vacate.webhook.certificates.secret import NAME, TYPE, bundle_from, bundle_to_data
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

CONFIGURATIONS: Sequence[tuple[Kind, str]] = (
    (MUTATING_WEBHOOKS, "vacate-mutating"),
    (VALIDATING_WEBHOOKS, "vacate-validating"),
)
POLL_SECONDS = 600.0
RETRY_SECONDS = 5.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServingIdentity:
    """Where the Secret is, and for which names and addresses the certificate must be."""

    namespace: str
    hosts: tuple[str, ...]


class CertificateRotator:
    """Makes, renews, follows and publishes the certificate; `deliver` gets each that is to be served."""

    def __init__(
        self,
        client: Client,
        place: ServingIdentity,
        *,
        clock: Clock,
        entropy: Entropy,
        lifetimes: Lifetimes | None = None,
        deliver: Callable[[CertificateBundle], None] | None = None,
    ) -> None:
        self._client = client
        self._place = place
        self._lifetimes = lifetimes or Lifetimes()
        self._clock = clock
        self._entropy = entropy
        self._changed = asyncio.Event()
        self._secrets = self._follow(SECRETS, NAME, place.namespace)
        self._configurations = [(kind, name, self._follow(kind, name)) for kind, name in CONFIGURATIONS]
        self._deliver = deliver
        self._delivered: CertificateBundle | None = None
        self.trouble = "nothing has been read yet"

    async def run(self) -> None:
        """Tend to everything until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._secrets.run())
            for _, _, informer in self._configurations:
                group.create_task(informer.run())
            group.create_task(self._tend())

    async def _tend(self) -> None:
        await self._secrets.wait_synced()
        while True:
            self._changed.clear()
            await self._wait(self._rest_seconds if await self._in_order() else RETRY_SECONDS)

    @property
    def _rest_seconds(self) -> float:
        """A look now and then: the clock of a machine may be set, and nothing announces that."""
        return min(POLL_SECONDS, self._lifetimes.settling.total_seconds() / 6)

    async def _in_order(self) -> bool:
        """Whether all is as it should be; what is not is tried again soon."""
        try:
            await self._keep()
            self.trouble = ""
        except (AlreadyExists, Conflict):
            return False  # another replica was quicker, and its change is on the way
        except (ApiError, TransportError, ConfigError) as error:
            if str(error) != self.trouble:
                _log.warning("certificates: %s", error)
            self.trouble = str(error)
            return False
        return True

    async def _keep(self) -> None:
        secret = self._secrets.reader.get(self._place.namespace, NAME)
        certificates = None if secret is None else bundle_from(secret)
        wanted = renewed(certificates, self._place.hosts, self._clock.now(), self._lifetimes)
        if wanted is not certificates:
            await self._store(secret, wanted)
            return  # and go on when the change comes back, as all replicas do
        self._hand_over(wanted)
        for kind, name, informer in self._configurations:
            found = informer.reader.get("", name)
            if found is not None:
                await self._publish(kind, found, wanted)

    async def _store(self, secret: Obj | None, certificates: CertificateBundle) -> None:
        data = bundle_to_data(certificates)
        if secret is None:
            made: Obj = {"metadata": {"name": NAME}, "type": TYPE, "data": data}
            await self._client.create(SECRETS, made, self._place.namespace)
            return
        change = guarded(secret["metadata"], {"data": data})
        await self._client.patch(SECRETS, NAME, change, self._place.namespace)

    def _hand_over(self, certificates: CertificateBundle) -> None:
        before = self._delivered
        if before is None or before.leaf.certificate != certificates.leaf.certificate:
            _log.info(
                "the certificate in use expires on %s", certificates.leaf.certificate.not_valid_after_utc
            )
            if self._deliver is not None:
                self._deliver(certificates)
            self._delivered = certificates

    async def _publish(self, kind: Kind, configuration: Obj, certificates: CertificateBundle) -> None:
        """Write the CA that API servers are to trust into a webhook configuration."""
        bundle = base64.b64encode(certificates.bundle).decode()
        hooks = maps(configuration.get("webhooks"))
        if all(mapping(hook.get("clientConfig")).get("caBundle") == bundle for hook in hooks):
            return
        updated = [{**hook, "clientConfig": {**hook["clientConfig"], "caBundle": bundle}} for hook in hooks]
        change = guarded(configuration["metadata"], {"webhooks": updated})
        await self._client.patch(kind, configuration["metadata"]["name"], change)

    async def _wait(self, seconds: float) -> None:
        """Until something changes, or for that long."""
        waiting = asyncio.ensure_future(self._changed.wait())
        resting = asyncio.ensure_future(self._clock.sleep(seconds))
        try:
            await asyncio.wait([waiting, resting], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            resting.cancel()

    def _follow(self, kind: Kind, name: str, namespace: str = "") -> Informer[Obj]:
        informer: Informer[Obj] = Informer(
            self._client,
            kind,
            dict,
            clock=self._clock,
            entropy=self._entropy,
            namespace=namespace,
            field_selector=f"metadata.name={name}",
        )
        informer.subscribe(lambda _old, _new: self._changed.set())
        return informer
