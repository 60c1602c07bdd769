"""PURE. How a preStop hook learns why its pod is ended: by a variable, an argument, or a header.

The reason was written by someone who may delete the pod, the hook by the pod's author. So the reason is only
ever a value: it names no variable or header, and reaches a command line only as one whole argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vacate.api.objects import Obj
from vacate.api.terminationreason import (
    ANNOTATION,
    DELIVERY_ANNOTATION,
    annotated_delivery,
    clean_reason,
    delivery_name,
)
from vacate.nodeagent.environment import expand
from vacate.nodeagent.view import AgentContainer, AgentPod

# What may stand before the reason in its argument: nothing, or a flag or name with an equals sign.
_FLAG = re.compile(r"(?:-{0,2}[A-Za-z0-9_./-]+=)?")
# Options whose argument is a program: sh -c, bash -ec, python -c, perl -e, node --eval.
_PROGRAM = re.compile(r"-[A-Za-z]*[cCeE]|--(?:command|eval|exec|print|run)")


@dataclass(frozen=True, slots=True)
class HookExtras:
    """What a hook is given beyond what its container has."""

    env: Mapping[str, str] = field(default_factory=dict)
    headers: Sequence[tuple[str, str]] = ()
    # `$(NAME)` in its command, empty without a reason
    arguments: Mapping[str, str] = field(default_factory=dict)
    # What is wrong with the handler, where the default had to stand in for what it says.
    problem: str = ""


def reason_of(pod: AgentPod) -> str:
    """Why the pod is being deleted: the field, or the annotation where the API server has no such field."""
    if not pod.deleting:
        return ""
    return clean_reason(pod.metadata.reason or pod.metadata.annotations.get(ANNOTATION, ""))


def deliver(pod: AgentPod, container: AgentContainer, handler: Obj, reason: str) -> HookExtras:
    """What the handler is given; a sleep takes nothing."""
    if isinstance(handler.get("exec"), dict):
        name, problem = _name(pod, container, handler, "env")
        env = {name: reason} if reason else {}
        return HookExtras(env=env, arguments={name: reason}, problem=problem)
    if isinstance(handler.get("httpGet"), dict):
        name, problem = _name(pod, container, handler, "header")
        return HookExtras(headers=((name, reason),) if reason else (), problem=problem)
    return HookExtras()


def hook_command(command: Sequence[str], env: Mapping[str, str], arguments: Mapping[str, str]) -> list[str]:
    """The command line of a hook, with variables in their places.

    A reason stands in for `$(NAME)` only where it is a whole argument or the value of a flag, and not where
    the argument is a program for an interpreter, which could run it. Elsewhere the reference stays.
    """
    others = {name: value for name, value in env.items() if name not in arguments}
    found: list[str] = []
    for index, one in enumerate(command):
        value = _with_reason(one, arguments)
        program = index == 0 or _PROGRAM.fullmatch(command[index - 1])
        found.append(expand(one, others) if value is None or program else value)
    return found


def _with_reason(argument: str, arguments: Mapping[str, str]) -> str | None:
    for name, reason in arguments.items():
        reference = f"$({name})"
        if argument.endswith(reference) and _FLAG.fullmatch(argument.removesuffix(reference)):
            return argument.removesuffix(reference) + reason
    return None


def _name(pod: AgentPod, container: AgentContainer, handler: Obj, key: str) -> tuple[str, str]:
    """The name of the variable or header, and why it is the default although another was asked for."""
    given = handler.get("reasonDelivery")
    if given is None:
        annotation = pod.metadata.annotations.get(DELIVERY_ANNOTATION + container.name)
        return annotated_delivery(container.name, annotation, key)
    return delivery_name(given, key, "lifecycle.preStop.reasonDelivery")
