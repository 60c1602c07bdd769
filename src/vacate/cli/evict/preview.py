"""What `vacate evict --dry-run` shows: the requests that would be made, and what would block evictions."""

from __future__ import annotations

import datetime as dt

import msgspec

from vacate.api.kinds import PODS
from vacate.api.types import Pod, PodDisruptionBudget
from vacate.cli.common import terminal
from vacate.cli.common.connection import Cluster
from vacate.cli.common.exitcodes import complain, each
from vacate.cli.common.queries import list_budgets
from vacate.cli.common.remedies import not_found_in
from vacate.cli.evict.selection import Selection
from vacate.cli.forecasts import forecast
from vacate.errors import AlreadyExists, NotFound, VacateError
from vacate.sdk import Requester
from vacate.sdk.requesters.requests import Step, new_request, next_step
from vacate.views.budgets import covering, would_refuse

_STEP_TEXTS = {
    Step.CREATE: "eviction would be requested",
    Step.REPLACE: "has an eviction request that is over; it would be replaced by a new one",
    Step.JOIN: "has an eviction request, which would be joined",
    Step.KEEP: "has an eviction request by this requester; nothing would change",
    Step.KEEP_COMPLETE: "has a complete eviction request; nothing would change",
    Step.KEEP_FIXED: "has an eviction request, which can no longer be joined; nothing would change",
}


class Preview:
    """One dry run: the server checks every request as if it were made, and keeps none."""

    def __init__(
        self, cluster: Cluster, requester: Requester, reason: str, deadline: dt.timedelta | None
    ) -> None:
        self._cluster = cluster
        self._requester = requester
        self._reason = reason
        self._seconds = None if deadline is None else int(deadline.total_seconds())
        self._found: dict[str, Pod] = {}
        self._budgets: list[PodDisruptionBudget] = []

    async def run(self, names: tuple[str, ...], found: Selection) -> list[int]:
        """Print a line for each pod, and one below it for what would block its eviction; the exit codes."""
        own = self._cluster.namespace
        for pod in found.pods:
            meta = pod.metadata
            self._found[meta.name if meta.namespace == own else f"{meta.namespace}/{meta.name}"] = pod
        for namespace in sorted({own, *found.namespaces}):
            self._budgets += await list_budgets(self._cluster, namespace) or []
        codes: list[int] = []
        for name, seen in await each(tuple(dict.fromkeys((*names, *self._found))), self._preview):
            if isinstance(seen, VacateError):
                codes.append(complain(name, seen))
                continue
            terminal.echo(f"pod/{name} {seen[0]}")
            for line in seen[1:]:
                terminal.echo(f"  {line}")
        return codes

    async def _preview(self, name: str) -> tuple[str, ...]:
        pod = self._found.get(name) or await self._named(name)
        meta, dialect = pod.metadata, self._requester.dialect
        made = new_request(pod, self._requester.name, self._reason, self._seconds, dialect)
        sentence = _STEP_TEXTS[Step.CREATE]
        try:
            kind = dialect.for_requester(self._requester.name).kind
            await self._cluster.client.create(kind, made, meta.namespace, dry_run=True)
        except AlreadyExists:
            step = next_step(await self._requester.find(pod), self._requester.name)
            sentence = dialect.phrase(_STEP_TEXTS[step])
        registered = dialect.registration(msgspec.to_builtins(pod))
        interceptors = tuple(reversed(registered.interceptors))
        after = f"; {dialect.terms.interceptor}s: {', then '.join(interceptors)}" if interceptors else ""
        held = covering(self._budgets, meta.namespace, meta.labels)
        first = f"{sentence} (dry run){after}"
        if not (why := would_refuse(pod, held) if held else ""):
            return (first,)
        foreseen = (await forecast(self._cluster, pod, interceptors, held)).sentence
        return (first, f"would be refused now: {why}", *filter(None, [foreseen]))

    async def _named(self, name: str) -> Pod:
        namespace = self._cluster.namespace
        try:
            return await self._cluster.client.get(PODS, name, namespace, into=Pod)
        except NotFound as error:
            raise not_found_in(error, namespace) from None
