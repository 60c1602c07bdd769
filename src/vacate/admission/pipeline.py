"""The admission pipeline: what happens to an object between its request and its write, in one order.

Create: default, prepare, validate, refuse. Update: settle the version, then the same. The embedded server's
verbs and the mutating webhook run all of it. The validating webhook sees objects that were prepared before,
and runs it without the preparation.

A refusal lists all errors at once. What is given is never changed: the admitted object is a new one. Callers
do what needs more than the object and the context: they decode requests, make up names and UIDs, check
permissions, write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vacate.admission.context import Context, Strategy
from vacate.admission.metadata import keep
from vacate.api import status
from vacate.api.fielderrors import FieldError, invalid
from vacate.api.integers import parse_version
from vacate.api.objects import Obj, copied, metadata, name_of
from vacate.api.untyped import text

Completion = Callable[[Obj], None]
"""Puts in, in place, what a server writes whether or not there is anything to say."""

FurtherCheck = Callable[[Obj], Sequence[FieldError]]
"""Errors that a caller finds beside those of the strategy."""

_MAX_GENERATED_BASE = 58  # of the 63 characters of a label, five are the suffix


def nothing_to_complete(_: Obj) -> None:
    """The completion where someone else does it: kube-apiserver, after its webhooks."""


def admit_create(
    strategy: Strategy, given: Obj, ctx: Context, complete: Completion = nothing_to_complete
) -> Obj:
    """The new object as it is written; Invalid with all its errors.

    A resourceVersion is forgotten: whether it is refused is decided where it is known who sent it.
    """
    obj = copied(given)
    metadata(obj).pop("resourceVersion", None)
    strategy.default(obj, ctx)
    complete(obj)
    strategy.prepare_create(obj, ctx)
    complete(obj)
    _refuse(strategy, name_of(obj), strategy.validate(obj, ctx))
    return obj


def admit_update(
    strategy: Strategy, given: Obj, old: Obj, ctx: Context, complete: Completion = nothing_to_complete
) -> Obj:
    """The changed object as it is written; Invalid with all errors of it and of the step from the old one."""
    new = copied(given)
    settle_version(strategy, new, old)
    strategy.default(new, ctx)
    complete(new)
    strategy.prepare_update(new, old, ctx)
    complete(new)
    _refuse(strategy, name_of(old), strategy.validate_update(new, old, ctx))
    return new


def recheck_create(strategy: Strategy, given: Obj, ctx: Context, further: FurtherCheck) -> None:
    """Check a new object that was admitted, and perhaps changed since; Invalid with all its errors."""
    obj = copied(given)
    strategy.default(obj, ctx)
    _refuse(strategy, name_of(obj), [*strategy.validate(obj, ctx), *further(obj)])


def recheck_update(strategy: Strategy, given: Obj, old: Obj, ctx: Context, further: FurtherCheck) -> None:
    """Check an update that was admitted, and perhaps changed since; Invalid with all its errors."""
    new = copied(given)
    strategy.default(new, ctx)
    _refuse(strategy, name_of(old), [*strategy.validate_update(new, old, ctx), *further(new)])


def settle_version(strategy: Strategy, new: Obj, old: Obj) -> None:
    """An update that names no version is of the newest one, or refused where the kind demands a version."""
    version = metadata(new).get("resourceVersion")
    if version and parse_version(version) != 0:
        return
    if not strategy.traits.unconditional_update:
        field_error = invalid("metadata.resourceVersion", 0, "must be specified for an update")
        raise status.invalid_resource(strategy.kind, name_of(old), [field_error])
    keep(metadata(new), metadata(old), "resourceVersion")


def generated_base(obj: Obj) -> str:
    """What the object's name is to be generated from; empty where it has a name, or neither."""
    meta = metadata(obj)
    return "" if meta.get("name") else text(meta.get("generateName"))


def generated_name(base: str, suffix: str) -> str:
    """The base, cut so that a suffix of five characters fits, and the suffix."""
    return base[:_MAX_GENERATED_BASE] + suffix


def _refuse(strategy: Strategy, name: str, field_errors: Sequence[FieldError]) -> None:
    if field_errors:
        # What two checks find is named once, as Kubernetes does from 1.37 on.
        once = {str(one): one for one in field_errors}
        raise status.invalid(strategy.kind, name, list(once.values()))
