"""The questions that every kind answers before one of its objects is written.

A strategy works on whole objects (dicts) in place, knows no store and no clock, and returns all faults at
once. The embedded server asks them in this order: create: `default`, `prepare_create`, `validate`; update:
`default`, `prepare_update`, `validate`, `validate_update`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from vacate.api.field import FieldError
from vacate.api.identity import User
from vacate.api.kinds import Kind
from vacate.api.objects import Obj
from vacate.features import FeatureGates

Lookup = Callable[[Kind, str, str], Obj | None]
"""Finds another object by kind, namespace and name; the one way for a strategy to see the world."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a strategy may know beside the object."""

    user: User
    now: dt.datetime
    gates: FeatureGates
    lookup: Lookup
    subresource: str = ""  # "", "status", "scale", ...


class Strategy(Protocol):
    """The answers of one kind."""

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
        """Every rule that the step from old to new breaks."""
        ...
