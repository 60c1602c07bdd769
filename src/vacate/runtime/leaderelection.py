"""Leader election by Lease: of several processes that hold copies of the controllers, one works.

Nobody trusts a remote clock. A candidate takes over when the lease's record has not changed for the lease's
duration as measured here. A leader counts from the moment when it sent its last successful renewal, and stops
at the renew deadline: before anyone can have taken over. The times in the record are for its readers, who see
from it whether a process works; an annotation tells them what holds the process up.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import logging
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vacate.api.installednames import TROUBLE
from vacate.api.kinds import LEASES
from vacate.api.objects import Obj
from vacate.api.times import format_micro_time, format_time
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import ApiError, ConfigError, Conflict, NotFound, TransportError, VacateError

if TYPE_CHECKING:
    from vacate.metrics import Metrics  # its library takes a fifth of the start of a command

log = logging.getLogger(__name__)

NOT_READY_SECONDS = 60.0
"""A candidate that could neither read nor write the lease for so long is not ready."""

_RETRY_JITTER = 1.2  # candidates wait up to so much more of a retry period, as client-go's do


class LeadershipLost(VacateError):
    """The lease could not be renewed in time, or someone else has it."""


@dataclass(frozen=True, slots=True)
class LeaseTimings:
    """Seconds; each must be shorter than the one before it."""

    duration: float = 15.0  # others wait so long before they take over
    renew_deadline: float = 10.0  # the leader stops if it could not renew for so long
    retry: float = 2.0  # between attempts, for leader and candidates

    def __post_init__(self) -> None:
        if not self.duration > self.renew_deadline > self.retry > 0:
            raise ConfigError("leader election: needs duration > renew deadline > retry > 0")


class LeaderElector:
    """One candidate for one lease. The identity must be unique to this process.

    `contested` is false for a process that works without holding the lease, and only reports that it does.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        entropy: Entropy,
        metrics: Metrics,
        *,
        name: str,
        namespace: str,
        identity: str,
        timings: LeaseTimings | None = None,
        trouble: Callable[[], str] = lambda: "",
        contested: bool = True,
    ) -> None:
        self._client = client
        self._clock = clock
        self._entropy = entropy
        self._gauge = metrics.leader.labels(name)
        self._name = name
        self._namespace = namespace
        self._identity = identity
        self._timings = timings or LeaseTimings()
        self._trouble = trouble  # what holds this process up, for the readers of the lease
        # Annotations that the lease gets with each renewal, for its readers.
        self.notes: Callable[[], Mapping[str, str]] = dict
        self.annotations: Mapping[str, str] = {}  # of the lease as last seen, by any writer
        self._contested = contested
        self._failing: tuple[float, str] | None = None  # since when the lease is out of reach, and why
        self._logged = ""
        self._noted = ""  # the trouble that the lease shows
        self._spec: Obj = {}  # the lease's spec as last seen or written
        self._version = ""  # its resourceVersion; empty where nothing was seen
        self._seen_at = -math.inf  # when _spec was first seen, here
        self._valid_until = -math.inf  # this process leads before that moment and not after

    @property
    def leading(self) -> bool:
        """Whether this process may write now: the lease is held and the renew deadline has not passed."""
        return self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """How long this process leads without another renewal; not positive where it does not."""
        return self._valid_until - self._clock.monotonic()

    @property
    def leader(self) -> str:
        """Who was last seen to hold the lease."""
        return str(self._spec.get("holderIdentity") or "")

    def not_ready(self) -> str:
        """Why this candidate could not lead if it had to, and that for a while; else nothing."""
        if not self._contested or self._failing is None:
            return ""
        since, why = self._failing
        seconds = self._clock.monotonic() - since
        return f"{why}; for {seconds:.0f} s" if seconds >= NOT_READY_SECONDS else ""

    async def acquire(self) -> None:
        """Return when this candidate leads; at once where there is no contest."""
        waits_for = ""
        while self._contested and not await self._attempt(self._write_if_free):
            if self.leader not in ("", self._identity, waits_for):
                waits_for = self.leader
                self._log_holder()
            jitter = self._entropy.uniform(0.0, _RETRY_JITTER)
            await self._clock.sleep(self._timings.retry * (1.0 + jitter))
        self._gauge.set(1)
        log.info("%s: leads as %s", self._name, self._identity)

    def _log_holder(self) -> None:
        """A process that starts and does nothing says for whom it waits, once for each holder."""
        duration = float(self._spec.get("leaseDurationSeconds") or 0)
        left = dt.timedelta(seconds=self._seen_at + duration - self._clock.monotonic())
        log.info(
            "Lease %s/%s is held by %s, renewed at %s: this process waits, and works from %s on if it is not "
            "renewed again",
            self._namespace,
            self._name,
            self.leader,
            self._spec.get("renewTime"),
            format_time(self._clock.now() + left),
        )

    async def hold(self) -> None:
        """Renew until cancelled, then give the lease back.

        Raises LeadershipLost as soon as someone else is seen to have the lease, and at the renew deadline
        at the latest, also where a renewal hangs.
        """
        try:
            while not self._contested:
                await self._attempt(self._take)
                await self._clock.sleep(self._timings.retry)
            while True:
                left = self._valid_until - self._clock.monotonic()
                try:
                    async with asyncio.timeout(max(left, 0.0)):
                        await self._renew()
                except TimeoutError:
                    why = f": {self._failing[1]}" if self._failing else ""
                    text = f"{self._name}: the lease could not be renewed in time{why}"
                    raise LeadershipLost(text) from None
        finally:
            await self.release()

    async def report(self) -> None:
        """Write into the lease what holds this candidate up before it can lead, unless another one leads."""
        await self._attempt(self._write_trouble)

    async def regain(self) -> bool:
        """Lead again after the renew deadline; False where another process has held the lease meanwhile.

        Nobody else writes the identity of this process: while the record has it, no one else has led.
        """
        while not await self._attempt(self._look_and_renew):
            if self.leader != self._identity:
                return False
            await self._clock.sleep(self._timings.retry)
        self._gauge.set(1)
        return True

    async def release(self) -> None:
        """Give the lease back if it is held, so that the next leader need not wait."""
        held = self.leading
        self._valid_until = -math.inf
        self._gauge.set(0)
        if not held:
            return
        try:
            async with asyncio.timeout(self._timings.renew_deadline):
                await self._give_back()
        except (ApiError, TransportError, TimeoutError) as error:
            log.warning("%s: the lease could not be given back and will run out: %s", self._name, error)

    async def _give_back(self) -> None:
        """Look first, and again after a conflict: a renewal that was cancelled may still come through."""
        await self._look()
        while self.leader == self._identity:
            spec = self._record(transitions=self._transitions)
            with contextlib.suppress(Conflict):
                await self._write({**spec, "holderIdentity": "", "leaseDurationSeconds": 1})
                return
            await self._look()

    async def _renew(self) -> None:
        """Wait for the next turn and try until it works; stop at once where another holder is found."""
        await self._clock.sleep(self._timings.retry)
        while not await self._attempt(self._write_if_free):
            if self.leader != self._identity:
                self._valid_until = -math.inf
                raise LeadershipLost(f"{self._name}: {self.leader or 'no process'} holds the lease now")
            await self._clock.sleep(self._timings.retry)

    async def _attempt(self, write: Callable[[], Awaitable[bool]]) -> bool:
        """Try once to get or renew the lease; trouble of any sort is a no.

        An attempt that hangs leaves time for another: a connection may be dead while the server is well.
        """
        began = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._timings.renew_deadline / 2):
                written = await write()
        except (ApiError, TransportError, TimeoutError) as error:
            self._note_failure(error)
            # Whether the write came through is not known: look before the next one.
            self._version = ""
            return False
        self._note_success()
        if written:
            self._valid_until = began + self._timings.renew_deadline
        return written

    def _note_failure(self, error: Exception) -> None:
        """A single failure, or losing a race, is not worth a line in the log."""
        if isinstance(error, Conflict):
            return
        why = str(error) or "there was no answer in time"
        text = f"Lease {self._namespace}/{self._name} can be neither taken nor renewed: {why}"
        if self._failing is not None and text != self._logged:
            self._logged = text
            log.warning("%s", text)
        self._failing = (self._failing[0] if self._failing else self._clock.monotonic(), text)

    def _note_success(self) -> None:
        if self._logged:
            log.warning("Lease %s/%s can be written again", self._namespace, self._name)
        self._failing, self._logged = None, ""

    async def _take(self) -> bool:
        await self._look()
        if not await self._write_if_mine():
            await self._write(self._record(transitions=self._transitions + 1 if self._version else 0))
        return True

    async def _write_trouble(self) -> bool:
        await self._look()
        is_led = self.leader not in ("", self._identity) and not self._expired()
        if not is_led and self._noted != self._trouble():
            await self._write(self._spec)
        return False

    async def _write_if_free(self) -> bool:
        if not self.leading or not self._version:
            await self._look()
        if await self._write_if_mine():
            return True
        if self.leader and not self._expired():
            return False
        await self._write(self._record(transitions=self._transitions + 1 if self._version else 0))
        return True

    async def _look_and_renew(self) -> bool:
        await self._look()
        return await self._write_if_mine()

    async def _write_if_mine(self) -> bool:
        if self.leader != self._identity:
            return False
        acquired = self._spec.get("acquireTime")
        await self._write(self._record(acquired=acquired, transitions=self._transitions))
        return True

    @property
    def _transitions(self) -> int:
        return int(self._spec.get("leaseTransitions") or 0)

    def _expired(self) -> bool:
        duration = float(self._spec.get("leaseDurationSeconds") or 0)
        return self._clock.monotonic() > self._seen_at + duration

    async def _look(self) -> None:
        """Read the lease; a record that differs from the last one starts its time anew."""
        try:
            lease = await self._client.get(LEASES, self._name, self._namespace)
        except NotFound:
            self._spec, self._version, self._noted, self.annotations = {}, "", "", {}
            return
        self._remember(lease)

    def _remember(self, lease: Obj) -> None:
        spec = lease.get("spec") or {}
        if spec != self._spec:
            self._spec, self._seen_at = spec, self._clock.monotonic()
        self._version = lease["metadata"]["resourceVersion"]
        self.annotations = lease["metadata"].get("annotations") or {}
        self._noted = str(self.annotations.get(TROUBLE, ""))

    async def _write(self, spec: Obj) -> None:
        """Create the lease or change exactly the version that was seen; anything else is a conflict."""
        meta: Obj = {}
        if (trouble := self._trouble()) != self._noted:
            meta["annotations"] = {TROUBLE: trouble or None}
        if spec.get("holderIdentity") == self._identity:
            meta["annotations"] = {**self.notes(), **meta.get("annotations", {})}
        if self._version:
            change: Obj = {"metadata": {"resourceVersion": self._version, **meta}, "spec": spec}
            lease = await self._client.patch(LEASES, self._name, change, self._namespace)
        else:
            meta |= {"name": self._name, "namespace": self._namespace}
            lease = await self._client.create(LEASES, {"metadata": meta, "spec": spec})
        self._remember(lease)

    def _record(self, *, acquired: Any = None, transitions: int = 0) -> Obj:
        now = format_micro_time(self._clock.now())
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._timings.duration),  # whole, and never too short
            "acquireTime": acquired or now,
            "renewTime": now,
            "leaseTransitions": transitions,
        }
