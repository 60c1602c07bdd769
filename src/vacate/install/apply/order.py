"""In which order objects go: first what could refuse a write, then the processes, last what others need."""

from __future__ import annotations

from collections.abc import Sequence

from vacate.api.kinds import (
    NAMESPACES,
    VALIDATINGADMISSIONPOLICIES,
    VALIDATINGADMISSIONPOLICYBINDINGS,
)
from vacate.api.objects import Obj
from vacate.install.objectkinds import (
    DEFINITIONS,
    kind_of,
)
from vacate.webhook.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS

_FIRST = (
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    VALIDATINGADMISSIONPOLICYBINDINGS,
    VALIDATINGADMISSIONPOLICIES,
)
_LAST = (DEFINITIONS, NAMESPACES)


def in_order_of_removal(objects: Sequence[Obj]) -> list[Obj]:
    """The same objects; those in the middle go in the reverse order of their coming."""
    middle = [obj for obj in objects if kind_of(obj) not in (*_FIRST, *_LAST)]
    first = [obj for kind in _FIRST for obj in objects if kind_of(obj) == kind]
    # The namespace that came first has the notes and the lock of the installation: it goes last.
    last = [obj for kind in _LAST for obj in reversed(objects) if kind_of(obj) == kind]
    return [*first, *reversed(middle), *last]
