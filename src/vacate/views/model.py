"""What a story is made of, and what its parts are told from."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from vacate.api.types.core import Pod
from vacate.api.types.evictionrequest import EvictionRequest
from vacate.api.types.policy import PodDisruptionBudget
from vacate.eviction.dialects.evictionrequest.reader import process_of, target_of
from vacate.eviction.model import Process, Stage, Target
from vacate.views.phrases import command_line
from vacate.views.turns import TurnView


@dataclass(frozen=True, slots=True)
class Remedy:
    """Something that the reader can do, and the command that does it."""

    text: str
    command: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a pod's leave stands. Every text is a sentence of its own."""

    namespace: str
    pod: str
    headline: str
    stage: Stage | None = None
    request: str = ""  # its name
    asked: tuple[str, ...] = ()  # by whom, since when, why, and whether that can be taken back
    turns: tuple[TurnView, ...] = ()  # every interceptor, in the order of their turns
    happened: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    next_at: dt.datetime | None = None  # when `next` happens at the latest, where that can be told
    remedies: tuple[Remedy, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it in one go, remedies aside."""
        turns = map(str, self.turns)
        return (self.headline, *self.asked, *turns, *self.happened, *self.awaited, *self.next)


@dataclass(frozen=True, slots=True)
class Section:
    """The part of a story that depends on what comes next."""

    headline: str
    stage: Stage | None
    happened: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    next_at: dt.datetime | None = None
    remedies: tuple[Remedy, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplanationInput:
    """All that a story is told from."""

    request: EvictionRequest
    pod: Pod | None  # as the server has it under the name, whoever it is
    budgets: tuple[PodDisruptionBudget, ...]  # those that cover the pod
    refused_at: dt.datetime | None  # when an eviction was last refused, where that is known
    now: dt.datetime
    program: str  # how the reader calls the command line

    @property
    def process(self) -> Process:
        """The request as the engine sees it."""
        return process_of(self.request)

    @property
    def target(self) -> Target:
        """The pod as the engine sees it; what was read is what there is."""
        return target_of(self.request, self.pod, live=True)

    @property
    def name(self) -> str:
        """The pod's name."""
        ref = self.request.spec.target.pod_ref
        return ref.name if ref else ""

    @property
    def namespace(self) -> str:
        """The namespace of both."""
        return self.request.metadata.namespace

    @property
    def here(self) -> bool:
        """Whether the very pod that the request means is there."""
        ref = self.request.spec.target.pod_ref
        return self.pod is not None and ref is not None and self.pod.metadata.uid == ref.uid

    def command(self, verb: str, *options: str) -> str:
        """A command of ours about this pod."""
        return command_line(self.program, verb, self.name, "-n", self.namespace, *options)

    def kubectl(self, *words: str) -> str:
        """A command of kubectl in this namespace."""
        return command_line("kubectl", *words, "-n", self.namespace)
