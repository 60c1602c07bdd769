"""A fence agent that is a Job: one for each call, made from the administrator's PodTemplate.

A Job that switches has a name that follows from the record of the fence, so that the same step never makes
two, whatever was lost between request and answer. One that only reads is made anew for each call: an old
answer is no answer. What hangs is deleted, or it could switch a machine off when the node is back.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vacate.api.kinds import JOBS, PODS, Kind
from vacate.api.objects import Obj, dig, terminating
from vacate.api.options import DeleteOptions, ListOptions
from vacate.client.client import Client
from vacate.clock import Clock
from vacate.entropy import Entropy
from vacate.errors import AlreadyExists, ApiError, ConfigError, Forbidden, NotFound, TransportError
from vacate.fenceagents.objectwatch import ObjectWatch
from vacate.fencing.agentprotocol import OFF, ON, STATUS
from vacate.fencing.agents import Answer, unclear
from vacate.fencing.jobs import (
    CONTROLLER_UID,
    NODE_LABEL,
    JobCall,
    is_finished,
    is_of_call,
    is_overdue,
    make_job,
    read_end,
    waiting_for,
)

_DELETE_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class JobAgent:
    """The Jobs of one node, in one step of its fence."""

    client: Client
    clock: Clock
    entropy: Entropy
    namespace: str
    template: Obj
    node: str
    uid: str
    step: str
    timeout: int = 60

    async def off(self) -> Answer:
        """Run the Job that switches the machine off."""
        return await self._switch(OFF)

    async def on(self) -> Answer:
        """Run the Job that switches the machine on."""
        return await self._switch(ON)

    async def status(self) -> Answer:
        """Run a new Job that reads the state of the machine."""
        return await self._call(JobCall(STATUS, self.node, self.uid, self.entropy.uid()))

    async def _switch(self, action: str) -> Answer:
        return await self._call(JobCall(action, self.node, self.uid, self.step))

    async def _call(self, call: JobCall) -> Answer:
        seen: list[str] = []  # why it has not ended
        try:
            async with asyncio.timeout(self.timeout):
                if call.action != STATUS:
                    await self._end_others(call, seen)
                return await self._wait(await self._create(call), call, seen)
        except TimeoutError:
            return await self._give_up(call, seen)
        except (ApiError, TransportError, ConfigError) as error:
            return unclear(self._described(error))

    async def _create(self, call: JobCall) -> str:
        """The UID of the Job; it may be there already, from a request whose answer was lost."""
        job = make_job(self.template, call, self.timeout)
        try:
            made = await self.client.create(JOBS, job, self.namespace)
        except AlreadyExists:
            made = await self.client.get(JOBS, call.name, self.namespace)
            if not is_of_call(made, call):
                raise ConfigError(
                    f"Job {self.namespace}/{call.name} exists and is not one of this fence; delete it"
                ) from None
        return str(dig(made, "metadata", "uid"))

    async def _wait(self, uid: str, call: JobCall, seen: list[str]) -> Answer:
        """What the Job proves once it has ended, or is no longer the one that was made."""
        jobs = self._watch(JOBS, f"{NODE_LABEL}={call.label}")
        pods = self._watch(PODS, f"{CONTROLLER_UID}={uid}")
        pods.on_change(lambda found: seen.append(waiting_for(uid, found)) if found else None)

        def ended() -> tuple[Obj | None] | None:
            job = jobs.get(call.name)
            if job is None or dig(job, "metadata", "uid") != uid:
                return (job,)
            return (job,) if is_finished(job) or terminating(job) else None

        async with jobs, pods:
            with self._noting(seen, pods, jobs):
                (job,) = await jobs.until(ended)
        if job is None:
            return unclear(f"Job {call.name} was deleted before it ended")
        if dig(job, "metadata", "uid") != uid:
            return unclear(f"Job {call.name} was replaced by another of its name")
        answer = read_end(job, await self._pods(uid), call)
        if answer is None:
            return unclear(f"Job {call.name} has not ended")
        # Its deadline is the time that the agent has: which of the two is over first is open.
        return unclear(f"{answer.message}: {seen[-1]}") if is_overdue(job) and seen else answer

    @contextlib.contextmanager
    def _noting(self, seen: list[str], *watches: ObjectWatch) -> Iterator[None]:
        """Note in the end why a watch saw nothing, such as a right that is missing."""
        try:
            yield
        finally:
            seen += [self._described(one.trouble) for one in watches if one.trouble is not None]

    def _watch(self, kind: Kind, selector: str) -> ObjectWatch:
        return ObjectWatch(
            self.client, kind, self.namespace, selector, clock=self.clock, entropy=self.entropy
        )

    async def _pods(self, uid: str) -> Sequence[Obj]:
        found = await self.client.list(
            PODS, self.namespace, ListOptions(label_selector=f"{CONTROLLER_UID}={uid}")
        )
        return found.items

    async def _end_others(self, call: JobCall, seen: list[str]) -> None:
        """Earlier Jobs that switch this machine end first: two at once could switch it back."""
        selector = f"{NODE_LABEL}={call.label}"
        listed = (await self.client.list(JOBS, self.namespace, ListOptions(label_selector=selector))).items
        if not _others(listed, call):
            return
        async with self._watch(JOBS, selector) as watch:
            asked: set[str] = set()

            def due() -> list[Obj] | None:
                """Those to delete now, and none in the end; None while those that were deleted still end."""
                others = _others(watch.list(), call)
                fresh = [one for one in others if dig(one, "metadata", "uid") not in asked]
                return fresh or (None if others else [])

            with self._noting(seen, watch):
                while unfinished := await watch.until(due):
                    for job in unfinished:
                        asked.add(str(dig(job, "metadata", "uid")))
                        await self._delete(job)

    async def _give_up(self, call: JobCall, seen: Sequence[str]) -> Answer:
        """A Job that hangs must not act later; its deadline ends it too, where this does not reach it."""
        why = seen[-1] if seen else "it has no pod yet"
        try:
            async with asyncio.timeout(_DELETE_WITHIN):
                job = await self.client.get(JOBS, call.name, self.namespace)
                if is_of_call(job, call):
                    await self._delete(job)
        except NotFound:
            why = "it was not created" if not seen else why
        except (TimeoutError, ApiError, TransportError):
            pass  # it has ended, or its deadline ends it
        return unclear(f"no answer of Job {call.name} within {self.timeout} s: {why}")

    async def _delete(self, job: Obj) -> None:
        meta = job["metadata"]
        if meta.get("deletionTimestamp"):
            return
        with contextlib.suppress(NotFound):
            # In the foreground: the Job is gone when its pods are.
            await self.client.delete(
                JOBS,
                meta["name"],
                self.namespace,
                DeleteOptions(uid=meta["uid"], propagation_policy="Foreground"),
            )

    def _described(self, error: Exception) -> str:
        if isinstance(error, Forbidden):
            return f"install Vacate with --fencing-jobs: {error}"
        return str(error)


def _others(jobs: Iterable[Obj], call: JobCall) -> list[Obj]:
    """Jobs of other calls that may switch the machine of this one."""
    return [
        job
        for job in jobs
        if str(dig(job, "metadata", "name")).startswith((f"fence-{OFF}-", f"fence-{ON}-"))
        and dig(job, "metadata", "name") != call.name
        and not is_finished(job)
    ]
