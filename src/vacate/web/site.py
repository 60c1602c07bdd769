"""The pages by address: what each reads beside the caches, and what is shown where it cannot be read."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from vacate.api.kinds import EVICTIONREQUESTS, FENCINGPOLICIES, NODEMAINTENANCES, NODES, PODS
from vacate.errors import ConfigError, NotFound, TransportError, VacateError
from vacate.eviction.model import Stage
from vacate.install.check.findings import Finding
from vacate.views.interceptors import Bindings
from vacate.views.model import Explanation
from vacate.web.actions import (
    CANCEL,
    CANCEL_DRAIN,
    DRAIN,
    EVICT,
    RETRY,
    RETRY_DRAIN,
    UNCORDON,
    Action,
    Outcome,
    Right,
)
from vacate.web.components import OVER, STUCK, WAIT, Page, crumb, page_of, segment, verdict
from vacate.web.feed import Feed
from vacate.web.markup import Element, el
from vacate.web.pages.act import Answer, action_button, done_page, preview_page
from vacate.web.pages.blockers import blockers_page
from vacate.web.pages.drains import drain_page, drains_page
from vacate.web.pages.fencing import fencing_page
from vacate.web.pages.health import health_page
from vacate.web.pages.interceptors import interceptors_page
from vacate.web.pages.node import node_page, nodes_page
from vacate.web.pages.plan import PlanRun, plan_command, plan_page, planned_nodes
from vacate.web.pages.pod import of_drains, pod_page
from vacate.web.pages.requests import requests_page
from vacate.web.rights import needs
from vacate.web.snapshot import Snapshot

log = logging.getLogger(__name__)

Query = Mapping[str, str]
T = TypeVar("T")
_NOT_NOW = "Not while the API server does not answer."
DEFECT = "The program has a defect; its terminal says more."
_STALE_SECONDS = 5.0
_CHECK_SECONDS = 30.0  # a check of the installation asks dozens of questions
_MAX_KEPT = 200
_STALL_LOOK_SECONDS = 0.5
_PLAN_SECONDS, _MAX_PLANS = 300.0, 2  # how long a plan is shown again, and how many are made at once


_SHOWN = {
    "drains": NODEMAINTENANCES.plural,
    "blockers": NODEMAINTENANCES.plural,
    "nodes": NODES.plural,
    "requests": EVICTIONREQUESTS.plural,
    "fencing": FENCINGPOLICIES.plural,
    "interceptors": PODS.plural,
}
"""What a page is about: where it may not be read, nothing can be said, not even that all is well."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What pages read from the API server beside the caches: the functions of the commands."""

    user: Callable[[], Awaitable[str]]  # by whom the API server takes one; Unauthorized where it does not
    explain: Callable[[str, str], Awaitable[Explanation]]  # namespace and name of a pod
    findings: Callable[[], Awaitable[Sequence[Finding]]]  # of a check of the installation
    bindings: Callable[[], Awaitable[Bindings | None]]
    may: Callable[[Right], Awaitable[str]]  # why the user may not; empty where the user may
    run: Callable[[Sequence[str]], Awaitable[Outcome]]  # a command of the program, by its words
    plans: bool = True  # whether that can be `vacate plan`


class Site:
    """Makes the page of an address."""

    def __init__(self, feed: Feed, reads: Reads) -> None:
        self.feed = feed
        self._reads = reads
        self._explained: dict[tuple[str, str], tuple[object, float, Explanation]] = {}
        self._plans: dict[tuple[str, ...], tuple[asyncio.Task[None], PlanRun, float]] = {}  # since when
        self._may: dict[Right, tuple[float, str]] = {}
        self._found: tuple[float, Sequence[Finding]] | None = None
        self._bound: tuple[float, Bindings | None] | None = None

    async def page(self, path: str, query: Query) -> tuple[Snapshot, Page]:
        """The page, and the state of the cluster that it shows."""
        snapshot = self.feed.snapshot()
        if snapshot.reading:
            return snapshot, _reading(snapshot)
        if hidden := snapshot.hidden(_SHOWN.get(path.strip("/").partition("/")[0], "")):
            return snapshot, trouble("What happens here is hidden from you", hidden)
        try:
            found = await self._find(snapshot, path, query)
        except VacateError as error:
            found = trouble("This page cannot be shown", str(error))
        except Exception:  # a page that cannot be made is no reason to lose the others
            log.exception("%s cannot be shown", path)
            found = trouble("This page cannot be shown", DEFECT)
        # It may have fallen silent while it was asked for what is on the page.
        if (stall := self.feed.stall()) != snapshot.stall:
            snapshot = replace(snapshot, stall=stall)
        return snapshot, found or _absent(path)

    async def still_accepted(self) -> None:
        """Unauthorized where the API server does not accept the user's credentials any more."""
        await self._reads.user()

    async def preview(
        self, action: Action, given: Query, offer: Callable[[Sequence[str]], str]
    ) -> tuple[Snapshot, Page]:
        """What an action would do: its dry run, where the user may do it; `offer` lets it be confirmed."""
        snapshot = self.feed.snapshot()
        try:
            refused = (await self._may_do(snapshot, action, action.names(given))).refused
            outcome = None
            if not refused:
                outcome = await self._reads.run(action.command(given, dry_run=True))
            token = offer(action.command(given))
            return snapshot, preview_page(snapshot, action, given, outcome, refused, token)
        except VacateError as error:
            return snapshot, trouble("This cannot be done", str(error), still=True)

    async def act(self, action: Action, given: Query) -> tuple[Snapshot, Page]:
        """Do it, as the user, and show what became of it."""
        try:
            outcome = await self._reads.run(action.command(given))
        except VacateError as error:
            return self.feed.snapshot(), trouble("This cannot be done", str(error), still=True)
        snapshot = self.feed.snapshot()
        return snapshot, done_page(snapshot, action, given, outcome)

    async def _may_do(self, snapshot: Snapshot, action: Action, names: Mapping[str, str]) -> Answer:
        """Whether the user may, as the API server decides it."""
        needed = needs(action, names, snapshot)
        for right in needed.rights:
            if why := await self._refusal(right):
                return Answer(why)
        return Answer(unknown=needed.unknown)

    async def _refusal(self, right: Right) -> str:
        """Why the user has the right not; asked again after some seconds."""
        if self.feed.stall() is not None:
            return _NOT_NOW
        now = self.feed.clock.monotonic()
        known = self._may.get(right)
        if known is None or now - known[0] > _CHECK_SECONDS:
            try:
                known = (now, await self._ask(self._reads.may(right)))
            except TransportError:
                return _NOT_NOW
            except VacateError as error:
                known = (now, str(error))
            while len(self._may) >= _MAX_KEPT:
                del self._may[next(iter(self._may))]
            self._may[right] = known
        return known[1]

    async def _ask(self, question: Awaitable[T]) -> T:
        """What the API server answers; TransportError as soon as it is known that it does not."""
        task = asyncio.ensure_future(question)
        try:
            while not task.done():
                if self.feed.stall() is not None:
                    raise TransportError("the API server does not answer")
                await asyncio.wait({task}, timeout=_STALL_LOOK_SECONDS)
            return task.result()
        finally:
            task.cancel()

    async def _find(self, snapshot: Snapshot, path: str, query: Query) -> Page | None:
        wanted = query.get("q", "")[:200]
        match path.strip("/").split("/"):
            case ["drains"] | [""]:
                may = await self._may_do(snapshot, CANCEL_DRAIN, {})
                cancel = partial(action_button, CANCEL_DRAIN, "Cancel drain", may)
                return drains_page(snapshot, lambda name: cancel(drain=name), wanted)
            case ["drains", name]:
                acts = await self._acts(
                    snapshot, (CANCEL_DRAIN, "Cancel drain"), (RETRY_DRAIN, "Try again"), drain=name
                )
                return drain_page(snapshot, name, acts)
            case ["blockers"]:
                return blockers_page(snapshot, wanted)
            case ["nodes"]:
                return nodes_page(snapshot, wanted)
            case ["nodes", name]:
                node = snapshot.node(name)
                closed = node is not None and node.spec.unschedulable
                acts = await self._acts(
                    snapshot, (UNCORDON, "Uncordon") if closed else (DRAIN, "Drain"), node=name
                )
                acts.append(el("a", "btn", "Plan", href=f"/plan?nodes={segment(name)}"))
                return node_page(snapshot, name, acts)
            case ["requests"]:
                return requests_page(snapshot, wanted)
            case ["pods", namespace, name]:
                return await self._pod(snapshot, namespace, name)
            case ["interceptors"]:
                return interceptors_page(snapshot, wanted, await self._bindings())
            case ["fencing"]:
                return fencing_page(snapshot, wanted)
            case ["plan"]:
                return self._plan(snapshot, planned_nodes(query))
            case ["health"]:
                return health_page(snapshot, await self._findings())
        return None

    async def _pod(self, snapshot: Snapshot, namespace: str, name: str) -> Page | None:
        try:
            explanation = await self._explain(snapshot, namespace, name)
        except NotFound:
            return None
        wanted = [(EVICT, "Evict")]
        if explanation.stage in (Stage.INTERCEPTING, Stage.EVICTING, Stage.BLOCKED):
            wanted = [(CANCEL, "Cancel request")]
            wanted = [(RETRY, "Try now"), *wanted] if explanation.stage is Stage.BLOCKED else wanted
        elif explanation.stage is Stage.TERMINATING:
            wanted = []
        acts = await self._acts(snapshot, *wanted, namespace=namespace, pod=name)
        if (CANCEL, "Cancel request") in wanted and (why := of_drains(snapshot, namespace, name)):
            acts = await self._acts(snapshot, *wanted[:-1], namespace=namespace, pod=name)
            acts += action_button(CANCEL, "Cancel request", Answer(why), namespace=namespace, pod=name)
        return pod_page(snapshot, namespace, name, explanation, acts)

    async def _acts(self, snapshot: Snapshot, *wanted: tuple[Action, str], **names: str) -> list[Element]:
        """Links to actions, greyed with the reason where the user may not."""
        made: list[Element] = []
        for action, word in wanted:
            may = await self._may_do(snapshot, action, names)
            made += action_button(action, word, may, **names)
        return made

    async def _explain(self, snapshot: Snapshot, namespace: str, name: str) -> Explanation:
        """As `vacate explain` says it; read again when its objects have changed, or after some seconds."""
        request, pod = snapshot.request_about(namespace, name), snapshot.pod(namespace, name)
        stamp = (
            request.metadata.resource_version if request else "",
            pod.metadata.resource_version if pod else "",
            [
                one.metadata.resource_version
                for one in snapshot.budgets
                if one.metadata.namespace == namespace
            ],
        )
        key, now = (namespace, name), self.feed.clock.monotonic()
        known = self._explained.get(key)
        if known is not None and known[0] == stamp and now - known[1] < _STALE_SECONDS:
            return known[2]
        try:
            found = await self._ask(self._reads.explain(namespace, name))
        except NotFound:
            self._explained.pop(key, None)
            raise
        except VacateError:
            if known is None:
                raise
            return known[2]  # the page says that it is old
        while len(self._explained) >= _MAX_KEPT:
            del self._explained[next(iter(self._explained))]
        self._explained[key] = (stamp, now, found)
        return found

    def _plan(self, snapshot: Snapshot, nodes: tuple[str, ...]) -> Page:
        made_here = self._reads.plans
        run = self._planned(nodes) if nodes and made_here else None
        return plan_page(snapshot, nodes, run, elsewhere=not made_here)

    def picture(self, query: Query) -> str:
        """The picture of a plan that was made; empty where there is none."""
        try:
            run = self._plans.get(planned_nodes(query))
        except ConfigError:
            return ""
        return run[1].picture if run else ""

    def close(self) -> None:
        """End what is under way."""
        for task, _, _ in self._plans.values():
            task.cancel()

    def _planned(self, nodes: tuple[str, ...]) -> PlanRun:
        """The plan of these nodes: made once, and again when it is asked for after some minutes."""
        now, known = self.feed.clock.monotonic(), self._plans.get(nodes)
        if known is not None and not (known[0].done() and now - known[2] > _PLAN_SECONDS):
            return known[1]
        if sum(not task.done() for task, _, _ in self._plans.values()) >= _MAX_PLANS:
            raise ConfigError("other plans are being made; wait until they are")
        while len(self._plans) >= 4 * _MAX_PLANS:
            del self._plans[next(one for one, (task, _, _) in self._plans.items() if task.done())]
        run = PlanRun()
        self._plans[nodes] = (asyncio.create_task(self._make_plan(nodes, run)), run, now)
        return run

    async def _make_plan(self, nodes: tuple[str, ...], run: PlanRun) -> None:
        run.text = await self._reads.run(plan_command(nodes))
        self.feed.touch()
        if run.text.code in (1, 2):
            return
        drawn = (await self._reads.run([*plan_command(nodes), "--output=svg"])).output
        run.picture = drawn[drawn.find("<svg") : drawn.rfind("</svg>") + len("</svg>")]
        self.feed.touch()

    async def _findings(self) -> Sequence[Finding]:
        now = self.feed.clock.monotonic()
        if self._found is None or now - self._found[0] > _CHECK_SECONDS:
            try:
                self._found = (now, await self._ask(self._reads.findings()))
            except TransportError:
                if self._found is None:
                    raise
        return self._found[1]

    async def _bindings(self) -> Bindings | None:
        now = self.feed.clock.monotonic()
        if self._bound is None or now - self._bound[0] > _STALE_SECONDS:
            with contextlib.suppress(TransportError):
                self._bound = (now, await self._ask(self._reads.bindings()))
        return self._bound[1] if self._bound is not None else None


def _absent(path: str) -> Page:
    home = crumb(el("a", "", "Drains", href="/drains"))
    text = "It may be gone by now, or its name is another one."
    return Page("Not found", "", (home, verdict(OVER, "There is nothing here", text)))


def _reading(snapshot: Snapshot) -> Page:
    """Until all of it is there: nothing can be said of the cluster, not even that all is well."""
    missing = f"Still to come: {', '.join(snapshot.reading)}. This page fills by itself."
    return Page("Reading", "", (verdict(WAIT, "Reading the cluster", missing),))


def trouble(headline: str, text: str, *, still: bool = False) -> Page:
    """In place of a page: why it is not there."""
    return page_of("Not shown", "", [verdict(STUCK, headline, text)], still=still)
