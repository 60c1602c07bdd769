"""An explanation, its sections and its input."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.nodemaintenance import NodeMaintenance
from vacate.api.types.policy import PodDisruptionBudget
from vacate.eviction.dialects.registry import dialect_of
from vacate.eviction.model import EvictionState, Stage, Target
from vacate.kube.workloads import Workload
from vacate.views.phrases import command_line, sentence
from vacate.views.turns import TurnView


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something that the reader can do, and the command that does it."""

    text: str
    command: str = ""

    @property
    def phrase(self) -> str:
        """Both, as part of a sentence."""
        return f"{self.text}: {self.command}" if self.command else self.text


@dataclass(frozen=True, slots=True)
class Refusals:
    """Evictions that were refused for one reason, as an Event keeps them: the first, the last, how many."""

    first: dt.datetime
    last: dt.datetime
    count: int
    message: str

    def __str__(self) -> str:
        first, last = _utc(self.first), _utc(self.last)
        return (
            f"Refused at {last}" if self.count == 1 else f"Refused {self.count} times from {first} to {last}"
        )


def _utc(moment: dt.datetime) -> str:
    return f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class Explanation:
    """The state of a pod's eviction. Every text is a sentence of its own."""

    namespace: str
    pod: str
    headline: str
    stage: Stage | None = None
    request: str = ""  # its name
    requested: tuple[str, ...] = ()  # by whom, since when, why, and whether it can be cancelled
    turns: tuple[TurnView, ...] = ()  # every interceptor, in the order of their turns
    turns_title: str = "Interceptors, in the order of turns:"
    happened: tuple[str, ...] = ()
    refusals: tuple[Refusals, ...] = ()  # as far as Events can be read and are kept, the oldest first
    awaited: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    next_at: dt.datetime | None = None  # when `next` happens at the latest, where that is known
    remedies: tuple[Remedy, ...] = ()

    def phrased(self, phrase: Callable[[str], str]) -> Explanation:
        """The same in other words; commands stay as they are."""

        def each(sentences: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(map(phrase, sentences))

        return replace(
            self,
            headline=phrase(self.headline),
            turns_title=phrase(self.turns_title),
            turns=tuple(replace(one, text=phrase(one.text)) for one in self.turns),
            requested=each(self.requested),
            happened=each(self.happened),
            awaited=each(self.awaited),
            next=each(self.next),
            remedies=tuple(replace(one, text=phrase(one.text)) for one in self.remedies),
        )

    @property
    def all_happened(self) -> tuple[str, ...]:
        """What has happened, with the refusals: their messages unless they are in it."""

        shown = [text.removeprefix("The eviction was refused: ").rstrip(".") for text in self.happened]

        def known(one: Refusals) -> bool:
            # An Event ends with the command that helps, which is among the remedies.
            message = one.message.rstrip(".")
            return not message or any(message in text or message.startswith(text) for text in shown)

        times = (f"{one}." if known(one) else f"{one}: {sentence(one.message)}" for one in self.refusals)
        return (*self.happened, *times)

    @property
    def sentences(self) -> tuple[str, ...]:
        """All sentences but the remedies."""
        turns = map(str, self.turns)
        return (self.headline, *self.requested, *turns, *self.happened, *self.awaited, *self.next)


@dataclass(frozen=True, slots=True)
class Section:
    """The part of an explanation that depends on what comes next."""

    headline: str
    stage: Stage | None
    happened: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    next_at: dt.datetime | None = None
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplanationInput:
    """All that an explanation is derived from."""

    request: EvictionRequest
    pod: Pod | None  # as the server has it under the name, whatever its UID
    budgets: tuple[PodDisruptionBudget, ...]  # those that cover the pod
    refused_at: dt.datetime | None  # when an eviction was last refused, where that is known
    now: dt.datetime
    program: str  # the name under which the reader runs the CLI
    maintenances: tuple[NodeMaintenance, ...] | None = None  # of the cluster; None where they are not known
    workload: Workload | None = None  # of the pod; None where it was not read

    @property
    def process(self) -> EvictionState:
        """The request as the engine reads it."""
        return dialect_of(self.request).process(self.request)

    @property
    def target(self) -> Target:
        """The pod as the engine reads it, from a live read.

        Where an eviction was tried, the controller has found that no DaemonSet or Node owns the pod.
        """
        found = dialect_of(self.request).target(self.request, self.pod, live=True)
        return replace(found, unevictable="") if self.request.status.pod_eviction_status else found

    @property
    def name(self) -> str:
        """The pod's name."""
        return self.request.pod_name

    @property
    def namespace(self) -> str:
        """The namespace of both."""
        return self.request.metadata.namespace

    @property
    def here(self) -> bool:
        """Whether the pod with the request's UID exists."""
        return self.pod is not None and self.pod.metadata.uid == self.request.pod_uid

    def command(self, verb: str, *options: str) -> str:
        """A command of `vacate` for this pod."""
        return command_line(self.program, verb, self.name, "-n", self.namespace, *options)

    def kubectl(self, *words: str) -> str:
        """A command of kubectl in this namespace."""
        return command_line("kubectl", *words, "-n", self.namespace)
