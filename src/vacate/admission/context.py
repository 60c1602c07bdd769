"""The questions that every kind answers before one of its objects is written.

A strategy works on whole objects (dicts) in place, knows no store and no clock, and returns all errors at
once. `admission.pipeline` calls them in order: create: `default`, `prepare_create`, `validate`; update:
`default`, `prepare_update`, `validate_update`. Before a deletion there is only `validate_delete`. The
validation of an update speaks of the new object and of the step to it: kube-apiserver mixes the two in an
order of its own, and repeats the errors that it finds twice.

Refusals that are no field's error (an unknown PriorityClass, say) are raised by the prepare methods as the
ApiError that kube-apiserver's admission plugins answer with.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from vacate.api.fielderrors import FieldError
from vacate.api.identity import Access, StatusAuthority, User
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.features import FeatureGates

Lookup = Callable[[Kind, str, str], Obj | None]
"""Finds another object by kind, namespace and name; the one way for a strategy to see the world."""


def no_default_priority_class() -> Obj | None:
    """A cluster in which no PriorityClass is the global default."""
    return None


def nothing_allowed(_: Access) -> bool:
    """A context in which nobody may do anything: the default."""
    return False


@dataclass(frozen=True, slots=True)
class Context:
    """What a strategy may know beside the object."""

    user: User
    now: dt.datetime
    gates: FeatureGates
    lookup: Lookup
    subresource: str = ""  # "", "status", "scale", ...
    # The PriorityClass marked as global default, the one of the lowest value where there are several.
    default_priority_class: Callable[[], Obj | None] = no_default_priority_class
    # Names below k8s.io that interceptors may have beside those of Kubernetes itself.
    allowed_interceptors: tuple[str, ...] = ()
    # Whether an access would be allowed: rights that a strategy asks for beyond those of the request itself.
    may: Callable[[Access], bool] = nothing_allowed
    # Who writes which part of the status of eviction requests.
    authority: StatusAuthority = field(default_factory=StatusAuthority)


@dataclass(frozen=True, slots=True)
class Traits:
    """What the verbs of the server must know about a kind."""

    # PUT without a resourceVersion overwrites; where False it is refused.
    unconditional_update: bool = True
    # PUT of an object that does not exist creates it; where False it is 404.
    create_on_update: bool = False
    # Events take no part in garbage collection: owners and propagation policies mean nothing to them.
    garbage_collected: bool = True


class Strategy(Protocol):
    """The answers of one kind."""

    @property
    def kind(self) -> Kind:
        """The kind that it answers for."""
        ...

    @property
    def traits(self) -> Traits:
        """What the verbs of the server must know about the kind."""
        ...

    def default(self, obj: Obj, ctx: Context) -> None:
        """Fill in what the user left out. Doing it twice changes nothing."""
        ...

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        """Drop and set what a creator may not decide: status, generation, gated fields."""
        ...

    def prepare_update(self, new: Obj, old: Obj, ctx: Context) -> None:
        """Carry over what this (sub)resource may not change, and bump the generation where spec changed."""
        ...

    def validate(self, obj: Obj, ctx: Context) -> list[FieldError]:
        """Every rule that the object alone breaks."""
        ...

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        """Every rule that the new object, or the step from old to new, breaks."""
        ...

    def validate_delete(self, obj: Obj, ctx: Context) -> None:
        """Raise the ApiError with which the deletion is refused; return where nothing is in its way."""
        ...
